//! When acknowledgements are sent (RFC 5681, section 4.2; RFC 9293, section 3.8.6.3).

use hopflow_units::Instant;

use crate::{Config, DelayedAck};

/// Whether an acknowledgement is due, and the timer of a delayed one.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSchedule {
    options: DelayedAck,
    mss: u64,
    /// Largest payload seen: what a full segment is (RFC 5681, section 4.2).
    full: u64,
    due: bool,
    /// When a delayed acknowledgement is due.
    at: Instant,
    /// Whether what waits for its acknowledgement was pushed, or was a part of a segment.
    pushed: bool,
    /// Whether data lately went the other way soon after data came (Linux's "ping-pong mode").
    answering: bool,
    last_data: Instant,
    /// How many segments are still acknowledged at once.
    quick: u32,
}

impl AckSchedule {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            options: config.delayed_ack,
            mss: config.mss.get(),
            full: 1,
            due: false,
            at: Instant::FAR_FUTURE,
            pushed: false,
            answering: false,
            last_data: Instant::ZERO,
            quick: config.delayed_ack.quick_segments,
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.at
    }

    /// Makes an acknowledgement due at once.
    pub(super) const fn demand(&mut self) {
        self.due = true;
    }

    /// Notes a segment of `len` bytes that arrived in order.
    pub(super) fn on_segment(&mut self, now: Instant, len: u64, pushed: bool) {
        self.full = self.full.max(len.min(self.mss));
        self.pushed |= pushed || len < self.full;
        self.last_data = now;
    }

    /// Decides when `waiting` bytes, the last of which just arrived, are acknowledged.
    pub(super) fn schedule(&mut self, now: Instant, waiting: u64, finished: bool) {
        let quick = self.quick > 0 && !self.answering;
        self.quick = self.quick.saturating_sub(1);
        let many = waiting > u64::from(self.options.segments - 1) * self.full;
        if quick || many || finished {
            self.due = true;
        } else if self.at == Instant::FAR_FUTURE {
            self.at = now + self.options.timeout;
        }
    }

    /// Notes that the application has read everything.
    pub(super) const fn on_all_read(&mut self) {
        if self.options.once_read && self.pushed && !self.answering {
            self.due = true;
        }
    }

    /// Notes that data goes the other way: if it answers data, acknowledgements can wait for it.
    pub(super) fn on_answer(&mut self, now: Instant) {
        if now.saturating_since(self.last_data) < self.options.timeout {
            self.answering = true;
        }
    }

    /// Notes that an acknowledgement of everything that waited is on its way.
    pub(super) const fn on_sent(&mut self) {
        self.due = false;
        self.pushed = false;
        self.at = Instant::FAR_FUTURE;
    }

    /// Makes a delayed acknowledgement due if its time has come.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.at <= now {
            self.at = Instant::FAR_FUTURE;
            self.due = true;
            self.answering = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Duration;

    use super::*;

    fn schedule() -> AckSchedule {
        let mut config = Config::default();
        config.delayed_ack.quick_segments = 0;
        AckSchedule::new(&config)
    }

    #[test]
    fn a_lone_segment_waits_for_the_timer() {
        let mut acks = schedule();
        acks.on_segment(Instant::ZERO, 1448, false);
        acks.schedule(Instant::ZERO, 1448, false);
        assert!(!acks.is_due());
        let at = Instant::ZERO + Duration::from_millis(40);
        assert_eq!(acks.deadline(), at);
        acks.handle_timeout(at);
        assert!(acks.is_due());
        assert_eq!(acks.deadline(), Instant::FAR_FUTURE);
    }

    #[test]
    fn the_end_of_the_stream_is_acknowledged_at_once() {
        let mut acks = schedule();
        acks.schedule(Instant::ZERO, 1, true);
        assert!(acks.is_due());
    }

    #[test]
    fn reading_what_was_pushed_makes_it_due_unless_an_answer_may_carry_it() {
        let mut acks = schedule();
        acks.on_segment(Instant::ZERO, 1448, true);
        let mut answering = acks;
        answering.on_answer(Instant::ZERO);
        for (mut acks, due) in [(acks, true), (answering, false)] {
            acks.on_all_read();
            assert_eq!(acks.is_due(), due);
        }
    }
}
