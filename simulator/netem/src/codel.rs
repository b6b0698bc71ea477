//! A queue with controlled delay (RFC 8289).
//!
//! Follows the pseudocode of section 5. `MAXPACKET` is the largest packet that was ever queued, as
//! a link knows no MTU.

use std::collections::VecDeque;

use hopflow_units::{Duration, Instant};

use crate::config::CoDelConfig;

/// A packet whose serialisation has not begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<P> {
    /// When it entered the queue.
    pub(crate) since: Instant,
    /// Delay on top of serialisation and propagation.
    pub(crate) extra: Duration,
    /// Bytes.
    pub(crate) size: u32,
    /// `None` for a packet that will be lost on the way: it takes its place and its time.
    pub(crate) packet: Option<P>,
}

/// The queue and its drop state.
#[derive(Clone, Debug)]
pub(crate) struct CoDel<P> {
    config: CoDelConfig,
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
    largest: u32,
    /// Dropped packets that the caller has not taken yet.
    dropped: VecDeque<P>,
    drops: u64,
    /// When the sojourn time will have been above the target for an interval.
    first_above: Option<Instant>,
    /// Whether packets are being dropped.
    dropping: bool,
    /// When the next packet is dropped while dropping.
    drop_next: Instant,
    /// Packets dropped since dropping began.
    count: u32,
    /// `count` at the beginning of the latest spell of dropping.
    last_count: u32,
}

impl<P: Copy> CoDel<P> {
    /// An empty queue.
    pub(crate) const fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            bytes: 0,
            largest: 0,
            dropped: VecDeque::new(),
            drops: 0,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Adds a packet at the tail.
    pub(crate) fn push(&mut self, packet: Waiting<P>) {
        self.bytes += u64::from(packet.size);
        self.largest = self.largest.max(packet.size);
        self.waiting.push_back(packet);
    }

    /// Takes the packet that is sent at `now`, dropping others before it as the control law asks
    /// (section 5.5, `dequeue`).
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting<P>> {
        let (mut head, mut above) = self.take(now);
        if self.dropping {
            self.dropping = above;
            while self.dropping && now >= self.drop_next {
                self.discard(head);
                self.count += 1;
                (head, above) = self.take(now);
                self.dropping = above;
                if above {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if above {
            self.discard(head);
            (head, _) = self.take(now);
            self.begin_dropping(now);
        }
        head
    }

    /// Calls `change` for every packet, waiting or dropped and not yet taken.
    pub(crate) fn for_each_packet(&mut self, change: &mut impl FnMut(&mut P)) {
        let waiting = self.waiting.iter_mut();
        let waiting = waiting.filter_map(|waiting| waiting.packet.as_mut());
        waiting.chain(&mut self.dropped).for_each(change);
    }

    /// When the packet at the head entered the queue.
    pub(crate) fn head_since(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.since)
    }

    /// Packets and bytes that wait.
    pub(crate) fn load(&self) -> (usize, u64) {
        (self.waiting.len(), self.bytes)
    }

    /// Packets that wait and are not lost on the way.
    pub(crate) fn deliverable(&self) -> usize {
        self.waiting.iter().filter(|w| w.packet.is_some()).count()
    }

    /// Packets dropped so far, without those that were to be lost anyway.
    pub(crate) const fn drops(&self) -> u64 {
        self.drops
    }

    /// The oldest packet that was dropped and not yet taken.
    pub(crate) fn take_dropped(&mut self) -> Option<P> {
        self.dropped.pop_front()
    }

    /// The head of the queue, and whether the sojourn time has been above the target for an
    /// interval (section 5.6, `dodequeue`).
    fn take(&mut self, now: Instant) -> (Option<Waiting<P>>, bool) {
        let Some(head) = self.waiting.pop_front() else {
            self.first_above = None;
            return (None, false);
        };
        self.bytes -= u64::from(head.size);
        let sojourn = now.saturating_since(head.since);
        if sojourn < self.config.target || self.bytes <= u64::from(self.largest) {
            self.first_above = None;
            return (Some(head), false);
        }
        let deadline = *self
            .first_above
            .get_or_insert_with(|| now + self.config.interval);
        (Some(head), now >= deadline)
    }

    /// Begins a spell of dropping, at the former pace if the last spell was recent.
    fn begin_dropping(&mut self, now: Instant) {
        let recent = now.saturating_since(self.drop_next) < self.config.interval * 16;
        let more = self.count.saturating_sub(self.last_count);
        self.count = if recent && more > 1 { more } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = self.control_law(now);
    }

    /// The time of the drop after one at `from` (section 5.4).
    fn control_law(&self, from: Instant) -> Instant {
        let nanos = self.config.interval.as_nanos() as f64 / f64::from(self.count).sqrt();
        from + Duration::from_nanos(nanos as u64)
    }

    fn discard(&mut self, packet: Option<Waiting<P>>) {
        if let Some(packet) = packet.and_then(|waiting| waiting.packet) {
            self.dropped.push_back(packet);
            self.drops += 1;
        }
    }
}
