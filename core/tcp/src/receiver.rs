//! The receiving half: order, acknowledgements, and the advertised window.

use hopflow_units::{Duration, Instant};

use crate::Config;
use crate::ranges::{Range, RangeSet};
use crate::segment::{Flags, MAX_SACK_BLOCKS, SackBlocks, Segment};

/// The acknowledgement fields of an outgoing segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) next: u64,
    pub(crate) window: u32,
    pub(crate) echo: Instant,
    pub(crate) sack: SackBlocks,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the conditions are independent"
)]
pub(crate) struct Receiver {
    buffer: u64,
    mss: u64,
    sack: bool,
    /// Everything below has arrived.
    nxt: u64,
    read: u64,
    /// Upper edge of the advertised window; it never moves down.
    right: u64,
    early: RangeSet,
    /// Ranges of `early` as they are reported, newest first (RFC 2018, section 4).
    recent: Vec<Range>,
    fin: Option<u64>,
    /// Timestamp of the segment that the next acknowledgement is for (RFC 7323, section 4.3).
    echo: Instant,
    acked: u64,
    /// Largest payload seen: what a full segment is (RFC 5681, section 4.2).
    full: u64,
    ack_due: bool,
    ack_at: Instant,
    /// Whether what waits for its acknowledgement was pushed, or was a part of a segment.
    pushed: bool,
    /// Whether data lately went the other way soon after data came (Linux's "ping-pong mode").
    answering: bool,
    /// Whether reading what was pushed makes its acknowledgement due.
    once_read: bool,
    last_data: Instant,
    quick: u32,
    segments: u32,
    timeout: Duration,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            buffer: config.receive_buffer.get(),
            mss: config.mss.get(),
            sack: config.sack,
            nxt: 0,
            read: 0,
            right: config.receive_buffer.get(),
            early: RangeSet::default(),
            recent: Vec::with_capacity(MAX_SACK_BLOCKS + 1),
            fin: None,
            echo: Instant::ZERO,
            acked: 0,
            full: 1,
            ack_due: false,
            ack_at: Instant::FAR_FUTURE,
            pushed: false,
            answering: false,
            once_read: config.delayed_ack.once_read,
            last_data: Instant::ZERO,
            quick: config.delayed_ack.quick_segments,
            segments: config.delayed_ack.segments,
            timeout: config.delayed_ack.timeout,
        }
    }

    /// Bytes that have arrived in order and were not read.
    pub(crate) fn readable(&self) -> u64 {
        self.fin.map_or(self.nxt, |fin| fin.min(self.nxt)) - self.read
    }

    /// Whether the other side's stream has ended and all of it has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Takes `len` bytes out of the buffer, at most what is readable.
    pub(crate) fn read(&mut self, len: u64) {
        self.read += len.min(self.readable());
        let grown = self.grown_right();
        let window = self.right.saturating_sub(self.nxt);
        // Like Linux, tells of more room only once the window has doubled.
        if grown > self.right && grown - self.nxt >= 2 * window {
            self.ack_due = true;
        }
        if self.once_read && self.pushed && !self.answering && self.readable() == 0 {
            self.ack_due = true;
        }
    }

    /// Notes that data goes the other way: if it answers data, acknowledgements can wait for it.
    pub(crate) fn answered(&mut self, now: Instant) {
        if now.saturating_since(self.last_data) < self.timeout {
            self.answering = true;
        }
    }

    /// Notes the timestamp of a segment that opens the connection, and that it wants an answer.
    pub(crate) fn opened(&mut self, timestamp: Instant) {
        self.echo = self.echo.max(timestamp);
        self.ack_due = true;
    }

    /// Takes in the data of a segment.
    pub(crate) fn receive(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.has(Flags::PROBE) {
            self.ack_due = true;
        }
        if segment.seq <= self.acked {
            self.echo = self.echo.max(segment.timestamp);
        }
        let range = segment.range();
        if range.start == range.end {
            return;
        }
        if segment.is_fin() {
            self.fin = Some(range.end - 1);
        }
        // FIN needs no room in the buffer.
        let fits = range.end <= self.right + u64::from(segment.is_fin());
        let end = if fits { range.end } else { self.right };
        let range = Range::new(range.start.max(self.nxt), end);
        if range.start >= range.end {
            self.ack_due = true;
        } else if range.start > self.nxt {
            self.store_early(range);
        } else {
            self.full = self.full.max(u64::from(segment.len).min(self.mss));
            self.pushed |= segment.flags.has(Flags::PUSH) || u64::from(segment.len) < self.full;
            self.last_data = now;
            self.advance(now, range);
        }
    }

    /// Keeps data above a hole; the duplicate acknowledgement goes at once (RFC 5681, 4.2).
    fn store_early(&mut self, range: Range) {
        let merged = self.early.insert(range);
        self.recent.retain(|r| !merged.contains(*r));
        self.recent.insert(0, merged);
        self.recent.truncate(MAX_SACK_BLOCKS);
        self.ack_due = true;
    }

    fn advance(&mut self, now: Instant, range: Range) {
        self.nxt = range.end;
        if !self.early.is_empty() {
            // Filling a hole, wholly or in part, is told at once.
            self.ack_due = true;
            self.early.remove_below(self.nxt);
            if let Some(next) = self.early.first().filter(|r| r.start == self.nxt) {
                self.nxt = next.end;
                self.early.remove_below(self.nxt);
            }
            let nxt = self.nxt;
            self.recent.retain(|r| r.start > nxt);
        }
        self.schedule_ack(now);
    }

    fn schedule_ack(&mut self, now: Instant) {
        let waiting = self.nxt - self.acked;
        let quick = self.quick > 0 && !self.answering;
        self.quick = self.quick.saturating_sub(1);
        let many = waiting > u64::from(self.segments - 1) * self.full;
        if quick || many || self.is_finished() {
            self.ack_due = true;
        } else if self.ack_at == Instant::FAR_FUTURE {
            self.ack_at = now + self.timeout;
        }
    }

    /// Whether an acknowledgement is due even without data to carry it.
    pub(crate) const fn ack_due(&self) -> bool {
        self.ack_due
    }

    /// When a delayed acknowledgement is due.
    pub(crate) const fn deadline(&self) -> Instant {
        self.ack_at
    }

    /// Makes a delayed acknowledgement due if its time has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.ack_at <= now {
            self.ack_at = Instant::FAR_FUTURE;
            self.ack_due = true;
            self.answering = false;
        }
    }

    /// The acknowledgement that the next segment carries.
    pub(crate) fn acknowledge(&mut self) -> Ack {
        self.ack_due = false;
        self.pushed = false;
        self.ack_at = Instant::FAR_FUTURE;
        self.acked = self.nxt;
        self.right = self.grown_right();
        let mut sack = SackBlocks::default();
        if self.sack {
            for range in &self.recent {
                sack.push(self.nxt, *range);
            }
        }
        Ack {
            next: self.nxt,
            window: self.right.saturating_sub(self.nxt) as u32,
            echo: self.echo,
            sack,
        }
    }

    /// The upper edge that may be advertised: it moves in steps that are worth a segment
    /// (RFC 9293, section 3.8.6.2.2).
    fn grown_right(&self) -> u64 {
        let right = self.read + self.buffer;
        let step = self.mss.min(self.buffer / 2);
        if right >= self.right + step {
            right
        } else {
            // Behind a FIN the window would end below what has arrived.
            self.right.max(self.nxt)
        }
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn receiver(quick: u32, buffer: u64) -> Receiver {
        let mut config = Config::default();
        config.delayed_ack.quick_segments = quick;
        config.receive_buffer = Bytes::new(buffer);
        config.mss = Bytes::new(100);
        Receiver::new(&config)
    }

    fn data(seq: u64, len: u32) -> Segment {
        Segment {
            seq,
            ack: 0,
            timestamp: Instant::from_nanos(seq),
            echo: Instant::ZERO,
            len,
            window: 0,
            sack: SackBlocks::default(),
            flags: Flags::ACK,
        }
    }

    proptest! {
        #[test]
        fn only_what_has_arrived_is_acknowledged(
            segments in prop::collection::vec((0..40u64, 1..6u32, 0..4u8), 1..80),
        ) {
            let mut receiver = receiver(2, 3000);
            let mut arrived = std::collections::BTreeSet::new();
            let (mut read, mut right) = (0, 3000);
            for (at, tens, what) in segments {
                let segment = data(at * 100, tens * 50);
                receiver.receive(Instant::ZERO, &segment);
                arrived.extend((at * 100..at * 100 + u64::from(tens) * 50).filter(|n| *n < right));
                if what == 0 {
                    read += receiver.readable();
                    receiver.read(u64::MAX);
                }
                let ack = receiver.acknowledge();
                prop_assert!((0..ack.next).all(|n| arrived.contains(&n)));
                prop_assert!(!arrived.contains(&ack.next));
                for block in ack.sack.ranges(ack.next) {
                    prop_assert!((block.start..block.end).all(|n| arrived.contains(&n)));
                    prop_assert!(!arrived.contains(&(block.start - 1)) && !arrived.contains(&block.end));
                }
                let edge = ack.next + u64::from(ack.window);
                prop_assert!(edge >= right && edge <= read + 3000);
                right = edge;
            }
        }
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut receiver = receiver(0, 10_000);
        receiver.receive(Instant::ZERO, &data(0, 100));
        assert!(!receiver.ack_due());
        assert_eq!(
            receiver.deadline(),
            Instant::ZERO + Duration::from_millis(40)
        );
        receiver.receive(Instant::ZERO, &data(100, 100));
        assert!(receiver.ack_due());
        assert_eq!(receiver.acknowledge().next, 200);
        assert_eq!(receiver.deadline(), Instant::FAR_FUTURE);
    }

    #[test]
    fn a_small_segment_that_was_read_is_acknowledged_at_once() {
        let mut receiver = receiver(0, 10_000);
        receiver.receive(Instant::ZERO, &data(0, 100));
        receiver.acknowledge();
        receiver.receive(Instant::ZERO, &data(100, 20));
        assert!(!receiver.ack_due());
        receiver.read(120);
        assert!(receiver.ack_due());
    }

    #[test]
    fn reading_leaves_an_acknowledgement_waiting_where_the_option_is_off() {
        let mut config = Config::default();
        config.delayed_ack.quick_segments = 0;
        config.delayed_ack.once_read = false;
        let mut receiver = Receiver::new(&config);
        receiver.receive(Instant::ZERO, &data(0, 20));
        receiver.read(20);
        assert!(!receiver.ack_due());
        assert!(receiver.deadline() < Instant::FAR_FUTURE);
    }

    #[test]
    fn an_acknowledgement_waits_for_the_answer_that_may_carry_it() {
        let mut receiver = receiver(9, 10_000);
        receiver.receive(Instant::ZERO, &data(0, 20));
        receiver.answered(Instant::ZERO);
        receiver.acknowledge();
        receiver.receive(Instant::ZERO, &data(20, 20));
        receiver.read(40);
        assert!(!receiver.ack_due());
    }

    #[test]
    fn the_first_segments_are_acknowledged_quickly() {
        let mut receiver = receiver(1, 10_000);
        receiver.receive(Instant::ZERO, &data(0, 100));
        assert!(receiver.ack_due());
    }

    #[test]
    fn the_newest_block_comes_first() {
        let mut receiver = receiver(0, 10_000);
        for seq in [200, 400, 600, 800, 300] {
            receiver.receive(Instant::ZERO, &data(seq, 100));
        }
        let ack = receiver.acknowledge();
        let blocks: Vec<_> = ack
            .sack
            .ranges(ack.next)
            .map(|r| (r.start, r.end))
            .collect();
        assert_eq!(blocks, [(200, 500), (800, 900), (600, 700)]);
    }

    #[test]
    fn filling_the_hole_frees_everything() {
        let mut receiver = receiver(0, 10_000);
        receiver.receive(Instant::ZERO, &data(100, 100));
        receiver.receive(Instant::ZERO, &data(0, 100));
        assert_eq!(receiver.readable(), 200);
        let ack = receiver.acknowledge();
        assert_eq!((ack.next, ack.sack.len()), (200, 0));
    }

    #[test]
    fn the_echo_is_of_the_earliest_segment_that_waits() {
        let mut receiver = receiver(0, 10_000);
        receiver.receive(Instant::ZERO, &data(0, 100));
        receiver.acknowledge();
        receiver.receive(Instant::ZERO, &data(100, 50));
        receiver.receive(Instant::ZERO, &data(150, 50));
        assert_eq!(receiver.acknowledge().echo, Instant::from_nanos(100));
    }

    #[test]
    fn a_full_buffer_closes_the_window_and_reading_opens_it() {
        let mut receiver = receiver(0, 1000);
        for n in 0..10 {
            receiver.receive(Instant::ZERO, &data(n * 100, 100));
        }
        assert_eq!(receiver.acknowledge().window, 0);
        receiver.read(50);
        assert!(!receiver.ack_due());
        receiver.read(50);
        assert!(receiver.ack_due());
        assert_eq!(receiver.acknowledge().window, 100);
    }

    #[test]
    fn what_does_not_fit_is_not_acknowledged() {
        let mut receiver = receiver(0, 150);
        receiver.receive(Instant::ZERO, &data(0, 100));
        receiver.receive(Instant::ZERO, &data(100, 100));
        assert_eq!(receiver.acknowledge().next, 150);
    }
}
