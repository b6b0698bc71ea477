//! A one-way link.

use hopflow_random::Stream;
use hopflow_units::{Bytes, Duration, Instant, Rate};

use crate::backlog::Backlog;
use crate::codel::{CoDel, Waiting};
use crate::config::LinkConfig;
use crate::flight::{Airborne, Flight};

/// What became of a packet handed to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the caller frees dropped packets and provides copies"]
pub enum Verdict {
    /// It is on its way.
    Queued,
    /// It is on its way, and the link asks for a copy behind it: the caller duplicates what the
    /// packet stands for and hands the copy to [`Link::send_copy`].
    Duplicate,
    /// It will not arrive; the caller frees what it stands for.
    Dropped(DropReason),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue had no room.
    QueueFull,
    /// It was serialised and lost on the way.
    Loss,
}

/// What a link has done so far.
///
/// `sent + duplicated` equals `delivered + dropped()` plus the packets that the link holds, as long as
/// none was taken by [`Link::take_departed`] that arrives after the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets handed to [`Link::send`], whatever became of them.
    pub sent: u64,
    /// Packets handed to [`Link::send_copy`], whatever became of them.
    pub duplicated: u64,
    /// Packets taken from the link.
    pub delivered: u64,
    /// Packets dropped because the queue had no room.
    pub dropped_queue: u64,
    /// Packets dropped by `CoDel`.
    pub dropped_codel: u64,
    /// Packets lost on the way.
    pub dropped_loss: u64,
    /// Bytes of the delivered packets.
    pub bytes: Bytes,
    /// Most packets that waited at a time.
    pub max_queue: u32,
}

impl LinkCounters {
    /// Packets dropped for any reason.
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue + self.dropped_codel + self.dropped_loss
    }
}

/// A one-way link that carries handles `P` of packets.
///
/// A packet waits in the queue, is serialised, and arrives a propagation delay after its last bit
/// was sent. Loss strikes behind the transmitter: a lost packet has taken its place in the queue
/// and its time on the link. The random stream is drawn from only where a probability or the
/// jitter is not zero.
///
/// # Contract
/// Time never goes back from call to call; a driver that serves the queue itself has a clock for it that
/// may run ahead of that for arrivals ([`serve`](Self::serve), [`take_arrived`](Self::take_arrived)).
/// After each call that changes the link, its [`next_event`](Self::next_event) is the time at which the
/// driver takes everything that [`receive`](Self::receive) and [`take_dropped`](Self::take_dropped)
/// yield.
#[derive(Clone, Debug)]
pub struct Link<P> {
    config: LinkConfig,
    /// Whether the random stream is needed at all.
    impaired: bool,
    /// Whether every packet is lost.
    cut: bool,
    queue: Queue<P>,
    flight: Flight<P>,
    /// When the transmitter has sent all that was handed to it.
    free_at: Instant,
    /// Serialisation time of all packets handed to the transmitter.
    busy: Duration,
    /// Size of the largest packet that was ever offered, taken or not.
    largest: u32,
    counters: LinkCounters,
}

/// The packets whose serialisation has not begun.
#[derive(Clone, Debug)]
enum Queue<P> {
    /// Their departure is computed when they are sent, so they count as under way.
    DropTail(Backlog),
    /// Which of them departs is known only then.
    CoDel(Box<CoDel<P>>),
}

/// What chance has in store for a packet.
#[derive(Clone, Copy, Default)]
struct Fate {
    lost: bool,
    duplicate: bool,
    extra: Duration,
}

impl<P: Copy> Link<P> {
    /// An idle link.
    ///
    /// # Panics
    /// If a probability is not from 0 to 1.
    pub fn new(config: LinkConfig) -> Self {
        for probability in [config.loss, config.duplicate] {
            assert!(
                (0.0..=1.0).contains(&probability),
                "a probability is from 0 to 1, not {probability}"
            );
        }
        Self {
            impaired: config.loss > 0.0 || config.duplicate > 0.0 || !config.jitter.is_zero(),
            queue: match config.queue.codel {
                None => Queue::DropTail(Backlog::default()),
                Some(codel) => Queue::CoDel(Box::new(CoDel::new(codel))),
            },
            cut: false,
            flight: Flight::new(config.reorder),
            free_at: Instant::ZERO,
            busy: Duration::ZERO,
            largest: 0,
            counters: LinkCounters::default(),
            config,
        }
    }

    /// Hands a packet of `size` to the link.
    ///
    /// # Panics
    /// If `size` is 4 GiB or more.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: P, size: Bytes, rng: &mut Stream) -> Verdict {
        self.counters.sent += 1;
        self.offer(now, packet, size, rng)
    }

    /// Hands the copy of a packet to the link that answered [`Verdict::Duplicate`].
    ///
    /// The copy fares like any packet, except that it is not copied again.
    ///
    /// # Panics
    /// If `size` is 4 GiB or more.
    pub fn send_copy(&mut self, now: Instant, copy: P, size: Bytes, rng: &mut Stream) -> Verdict {
        self.counters.duplicated += 1;
        match self.offer(now, copy, size, rng) {
            Verdict::Duplicate => Verdict::Queued,
            verdict => verdict,
        }
    }

    /// When the link needs to be asked for packets again.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        let times = [self.next_arrival(), self.next_service()];
        times.into_iter().flatten().min()
    }

    /// When the next of the packets arrives that have left the queue.
    #[inline]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.flight.next_arrival()
    }

    /// When the next packet leaves the queue, if that is decided only then (`CoDel`).
    #[inline]
    pub fn next_service(&self) -> Option<Instant> {
        match &self.queue {
            Queue::CoDel(codel) if codel.load().0 > 0 => Some(self.free_at),
            _ => None,
        }
    }

    /// Lets all packets leave the queue whose time has come.
    #[inline]
    pub fn serve(&mut self, now: Instant) {
        // What a drop-tail queue holds does not matter to what has left it.
        if let Queue::CoDel(_) = self.queue {
            self.serve_codel(now);
        }
    }

    /// Takes the next packet that has arrived by `now`; ask until there is none.
    #[inline]
    pub fn receive(&mut self, now: Instant) -> Option<P> {
        self.serve(now);
        self.take_arrived(now)
    }

    /// Takes the next packet that has arrived by `now`, and leaves the queue as it is; for drivers
    /// that [`serve`](Self::serve) the queue themselves.
    #[inline]
    pub fn take_arrived(&mut self, now: Instant) -> Option<P> {
        let Airborne { packet, size, .. } = self.flight.pop_arrived(now)?;
        self.count_delivered(size);
        Some(packet)
    }

    /// Takes the next packet that has left the queue, and when it arrives; ask until there is none
    /// after each call that changes the link. For drivers that keep what is under way themselves.
    /// Counts what arrives by `end` as delivered.
    #[inline]
    pub fn take_departed(&mut self, end: Instant) -> Option<(Instant, P)> {
        let Airborne {
            arrives,
            packet,
            size,
        } = self.flight.pop()?;
        if arrives <= end {
            self.count_delivered(size);
        }
        Some((arrives, packet))
    }

    /// Calls `change` for every packet that the link holds, so that the caller can name what it
    /// stands for anew.
    pub fn for_each_packet(&mut self, mut change: impl FnMut(&mut P)) {
        if let Queue::CoDel(codel) = &mut self.queue {
            codel.for_each_packet(&mut change);
        }
        self.flight.for_each_packet(&mut change);
    }

    /// Calls `visit` with every packet whose arrival is decided, and when that is.
    pub fn visit_packets(&self, mut visit: impl FnMut(Instant, &P)) {
        self.flight.visit(&mut visit);
    }

    #[inline]
    fn count_delivered(&mut self, size: u32) {
        self.counters.delivered += 1;
        self.counters.bytes += Bytes::new(u64::from(size));
    }

    /// Takes a packet that `CoDel` dropped, for the caller to free; ask until there is none.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<P> {
        match &mut self.queue {
            Queue::DropTail(_) => None,
            Queue::CoDel(codel) => codel.take_dropped(),
        }
    }

    /// When a sender that is stopped by a full queue should ask again, later than `now`: the next
    /// packet leaves the queue. `None` if a packet as large as any offered so far has room at once.
    pub fn room_at(&self, now: Instant) -> Option<Instant> {
        let fits = |load| self.fits(load, self.largest);
        // What has begun to leave since the last change makes room, and is counted only if that
        // matters.
        if self.free_at <= now || fits(self.load()) || fits(self.load_at(now)) {
            return None;
        }
        let next_start = match &self.queue {
            Queue::DropTail(backlog) => backlog.next_start(now),
            Queue::CoDel(_) => None,
        };
        Some(next_start.unwrap_or(self.free_at))
    }

    /// Packets that wait at `now` for their serialisation to begin.
    ///
    /// With `CoDel` as of the last call that changed the link.
    pub fn queue_len(&self, now: Instant) -> usize {
        self.load_at(now).0
    }

    /// Bytes that wait at `now` for their serialisation to begin.
    ///
    /// With `CoDel` as of the last call that changed the link.
    pub fn queue_bytes(&self, now: Instant) -> Bytes {
        Bytes::new(self.load_at(now).1)
    }

    /// Packets that the link holds, waiting or under way, without those that will be lost.
    pub fn in_flight(&self) -> usize {
        let waiting = match &self.queue {
            Queue::DropTail(_) => 0,
            Queue::CoDel(codel) => codel.deliverable(),
        };
        waiting + self.flight.len()
    }

    /// Time up to `now` in which the transmitter was busy.
    pub fn busy_time(&self, now: Instant) -> Duration {
        // Whatever the transmitter still has to send it sends without a pause.
        self.busy - self.free_at.saturating_since(now)
    }

    /// What the link has done so far.
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// What the link is like.
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Changes the serialisation rate of packets whose serialisation has not been planned: with
    /// drop-tail of those sent from now on, with `CoDel` of those that wait, too.
    pub const fn set_rate(&mut self, rate: Option<Rate>) {
        self.config.rate = rate;
    }

    /// Changes the propagation delay, of the same packets. Without reordering nothing overtakes what
    /// is under way.
    pub const fn set_delay(&mut self, delay: Duration) {
        self.config.delay = delay;
    }

    /// Makes the link lose every packet that it is handed from now on, or ends that. Lost packets take
    /// their place in the queue and their time on the link, as with loss.
    pub const fn set_cut(&mut self, cut: bool) {
        self.cut = cut;
    }

    #[inline]
    fn offer(&mut self, now: Instant, packet: P, size: Bytes, rng: &mut Stream) -> Verdict {
        let size = u32::try_from(size.get()).expect("a packet is smaller than 4 GiB");
        self.largest = self.largest.max(size);
        self.catch_up(now);
        if self.free_at > now && !self.fits(self.load(), size) {
            self.counters.dropped_queue += 1;
            return Verdict::Dropped(DropReason::QueueFull);
        }
        let fate = if self.cut {
            Fate {
                lost: true,
                ..Fate::default()
            }
        } else if self.impaired {
            self.draw(rng)
        } else {
            Fate::default()
        };
        self.enqueue(now, size, (!fate.lost).then_some(packet), fate.extra);
        if fate.lost {
            self.counters.dropped_loss += 1;
            Verdict::Dropped(DropReason::Loss)
        } else if fate.duplicate {
            Verdict::Duplicate
        } else {
            Verdict::Queued
        }
    }

    /// Draws a packet's fate, for a given configuration always in the same order.
    fn draw(&self, rng: &mut Stream) -> Fate {
        let config = &self.config;
        let lost = rng.bernoulli(config.loss);
        let duplicate = !lost && rng.bernoulli(config.duplicate);
        let extra = if lost || config.jitter.is_zero() {
            Duration::ZERO
        } else {
            rng.uniform(Duration::ZERO, config.jitter)
        };
        Fate {
            lost,
            duplicate,
            extra,
        }
    }

    /// Takes a packet, or the place and time of a lost one, into the queue or the transmitter.
    #[inline]
    fn enqueue(&mut self, now: Instant, size: u32, packet: Option<P>, extra: Duration) {
        match &mut self.queue {
            Queue::DropTail(backlog) => {
                if self.free_at > now {
                    backlog.push(self.free_at, size);
                }
                self.transmit(now.max(self.free_at), size, packet, extra);
            }
            Queue::CoDel(codel) => {
                codel.push(Waiting {
                    since: now,
                    extra,
                    size,
                    packet,
                });
                self.catch_up(now);
            }
        }
        self.counters.max_queue = self.counters.max_queue.max(self.load().0 as u32);
    }

    /// Serialises a packet from `start` on and sends it off.
    #[inline]
    fn transmit(&mut self, start: Instant, size: u32, packet: Option<P>, extra: Duration) {
        if let Some(rate) = self.config.rate {
            let time = rate.time_for(Bytes::new(u64::from(size)));
            self.free_at = start + time;
            self.busy += time;
        } else {
            self.free_at = start;
        }
        if let Some(packet) = packet {
            self.flight.push(Airborne {
                arrives: self.free_at + self.config.delay + extra,
                size,
                packet,
            });
        }
    }

    /// Lets all packets leave the queue whose serialisation begins by `now`.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        match &mut self.queue {
            Queue::DropTail(backlog) => backlog.settle(now),
            Queue::CoDel(_) => self.serve_codel(now),
        }
    }

    fn serve_codel(&mut self, now: Instant) {
        while let Queue::CoDel(codel) = &mut self.queue
            && let Some(since) = codel.head_since()
        {
            let start = since.max(self.free_at);
            if start > now {
                return;
            }
            let next = codel.pop(start);
            self.counters.dropped_codel = codel.drops();
            if let Some(next) = next {
                self.transmit(start, next.size, next.packet, next.extra);
            }
        }
    }

    /// Packets and bytes in the queue, after [`catch_up`](Self::catch_up).
    #[inline]
    fn load(&self) -> (usize, u64) {
        match &self.queue {
            Queue::DropTail(backlog) => backlog.load(),
            Queue::CoDel(codel) => codel.load(),
        }
    }

    fn load_at(&self, now: Instant) -> (usize, u64) {
        match &self.queue {
            Queue::DropTail(backlog) => backlog.load_at(now),
            Queue::CoDel(codel) => codel.load(),
        }
    }

    /// Whether the limits leave room for `size` bytes next to what waits.
    #[inline]
    fn fits(&self, (packets, bytes): (usize, u64), size: u32) -> bool {
        let limit = &self.config.queue;
        packets < limit.packets as usize && bytes + u64::from(size) <= limit.bytes.get()
    }
}
