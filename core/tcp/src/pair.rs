//! Two endpoints and a path between them: the smallest network to try a connection in.
//!
//! A bulk source at one end, a reader at the other, a link each way with rate, drop-tail queue and
//! delay, and misfortunes drawn from a seed.

use std::collections::VecDeque;

use hopflow_units::{Bytes, Duration, Instant, Rate};

use crate::mix::{STEP, mix};
use crate::{Config, Connection, Segment};

/// One direction of the path.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// Serialisation rate; `None`: at once.
    pub rate: Option<Rate>,
    /// Bytes that may wait, besides the segment that is being sent.
    pub queue: Bytes,
    /// Bytes that framing adds to each segment, as far as rate and queue are concerned.
    pub framing: Bytes,
    /// Propagation delay.
    pub delay: Duration,
    /// Probability that a segment is lost.
    pub loss: f64,
    /// Probability that a segment arrives twice.
    pub duplicate: f64,
    /// Extra delay, uniform from zero to this; it reorders.
    pub jitter: Duration,
    /// Seeds the misfortunes.
    pub seed: u64,
}

impl LinkSpec {
    /// A link that only delays.
    pub fn delay(delay: Duration) -> Self {
        Self {
            rate: None,
            queue: Bytes::MAX,
            framing: Bytes::ZERO,
            delay,
            loss: 0.0,
            duplicate: 0.0,
            jitter: Duration::ZERO,
            seed: 0,
        }
    }

    /// A link with a rate and a queue.
    pub fn bottleneck(rate: Rate, queue: Bytes, delay: Duration) -> Self {
        Self {
            rate: Some(rate),
            queue,
            ..Self::delay(delay)
        }
    }
}

/// A link at work.
#[derive(Clone, Debug)]
struct Link {
    spec: LinkSpec,
    free_at: Instant,
    /// Segments that wait: when their sending starts, and their size.
    waiting: VecDeque<(Instant, u64)>,
    backlog: u64,
    flying: VecDeque<(Instant, Segment)>,
    random: u64,
    dropped: u64,
    forwarded: u64,
    queueing: Duration,
}

impl Link {
    fn new(spec: LinkSpec) -> Self {
        Self {
            spec,
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            backlog: 0,
            flying: VecDeque::new(),
            random: spec.seed,
            dropped: 0,
            forwarded: 0,
            queueing: Duration::ZERO,
        }
    }

    fn send(&mut self, now: Instant, segment: Segment) {
        let Some(departure) = self.departure(now, &segment) else {
            self.dropped += 1;
            return;
        };
        if self.happens(self.spec.loss) {
            self.dropped += 1;
            return;
        }
        self.fly(departure, segment);
        if self.happens(self.spec.duplicate) {
            self.fly(departure, segment);
        }
    }

    /// When the segment has been sent, unless the queue is full.
    fn departure(&mut self, now: Instant, segment: &Segment) -> Option<Instant> {
        let Some(rate) = self.spec.rate else {
            return Some(now);
        };
        while let Some(size) = pop_due(&mut self.waiting, now) {
            self.backlog -= size;
        }
        let size = segment.wire_len() + self.spec.framing;
        if self.free_at > now {
            if self.backlog + size.get() > self.spec.queue.get() {
                return None;
            }
            self.waiting.push_back((self.free_at, size.get()));
            self.backlog += size.get();
        }
        self.forwarded += 1;
        self.queueing += self.free_at.saturating_since(now);
        self.free_at = self.free_at.max(now) + rate.time_for(size);
        Some(self.free_at)
    }

    fn fly(&mut self, departure: Instant, segment: Segment) {
        let jitter = match self.spec.jitter.as_nanos() {
            0 => 0,
            most => self.draw() % most,
        };
        let arrival = departure + self.spec.delay + Duration::from_nanos(jitter);
        let at = match self.flying.back() {
            Some((last, _)) if *last > arrival => {
                self.flying.partition_point(|(at, _)| *at <= arrival)
            }
            _ => self.flying.len(),
        };
        self.flying.insert(at, (arrival, segment));
    }

    fn next_arrival(&self) -> Instant {
        self.flying
            .front()
            .map_or(Instant::FAR_FUTURE, |(at, _)| *at)
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.draw() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// `SplitMix64`.
    fn draw(&mut self) -> u64 {
        let drawn = mix(self.random);
        self.random = self.random.wrapping_add(STEP);
        drawn
    }
}

/// The first entry of a queue ordered by time, if its time has come.
fn pop_due<T>(queue: &mut VecDeque<(Instant, T)>, now: Instant) -> Option<T> {
    let (at, _) = queue.front()?;
    if *at > now {
        return None;
    }
    queue.pop_front().map(|(_, entry)| entry)
}

/// Two endpoints, a path, and a clock.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The active side, which sends.
    pub sender: Connection,
    /// The passive side, which reads.
    pub receiver: Connection,
    now: Instant,
    forward: Link,
    backward: Link,
    to_write: u64,
    delivered: u64,
    reading: bool,
    closing: bool,
    segments: u64,
}

impl Pair {
    /// A pair with a path of two links, about to shake hands.
    pub fn new(config: &Config, forward: LinkSpec, backward: LinkSpec) -> Self {
        let mut pair = Self {
            sender: Connection::connect(config),
            receiver: Connection::listen(config),
            now: Instant::ZERO,
            forward: Link::new(forward),
            backward: Link::new(backward),
            to_write: 0,
            delivered: 0,
            reading: true,
            closing: false,
            segments: 0,
        };
        pair.flush();
        pair
    }

    /// Gives the source `len` more bytes to send.
    pub fn offer(&mut self, len: Bytes) {
        self.to_write = self.to_write.saturating_add(len.get());
        self.flush();
    }

    /// Ends the source's stream behind what was offered, and the reader's when it has seen that.
    pub fn close(&mut self) {
        self.closing = true;
        self.flush();
    }

    /// Makes the reader stop or go on.
    pub fn set_reading(&mut self, reading: bool) {
        self.reading = reading;
        self.flush();
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Bytes that the reader has read.
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.delivered)
    }

    /// Segments that either endpoint has transmitted.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Segments that the link from sender to receiver has dropped.
    pub fn dropped(&self) -> u64 {
        self.forward.dropped
    }

    /// Mean time that a segment waited in the queue from sender to receiver.
    pub fn mean_queueing(&self) -> Duration {
        self.forward.queueing / self.forward.forwarded.max(1)
    }

    /// When something happens next, if ever.
    pub fn next_event(&self) -> Option<Instant> {
        let timers = [&self.sender, &self.receiver].map(Connection::poll_timeout);
        let timers = timers.into_iter().flatten();
        let links = [&self.forward, &self.backward].map(Link::next_arrival);
        let next = timers.chain(links).min()?;
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Goes on to the next event and handles it; `false` if there is none.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next_event() else {
            return false;
        };
        self.now = self.now.max(next);
        let now = self.now;
        if let Some(segment) = pop_due(&mut self.forward.flying, now) {
            self.receiver.receive(now, &segment);
        } else if let Some(segment) = pop_due(&mut self.backward.flying, now) {
            self.sender.receive(now, &segment);
        } else {
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
        }
        self.flush();
        true
    }

    /// Goes on until `end`.
    pub fn run_until(&mut self, end: Instant) {
        while self.next_event().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Goes on for `span`.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Lets both ends read, write and transmit.
    fn flush(&mut self) {
        if self.reading {
            let readable = self.receiver.readable();
            self.receiver.read(readable);
            self.delivered += readable.get();
        }
        let accepted = self.sender.write(Bytes::new(self.to_write));
        self.to_write -= accepted.get();
        if self.closing && self.to_write == 0 {
            self.sender.close();
        }
        if self.receiver.is_peer_finished() {
            self.receiver.close();
        }
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.segments += 1;
            self.forward.send(self.now, segment);
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            self.segments += 1;
            self.backward.send(self.now, segment);
        }
    }
}
