//! Pacing: when the next segments may leave (draft-ietf-ccwg-bbr, sections 5.6.2 and 5.6.3).

use hopflow_units::{Duration, Instant};

/// The longest that the bytes which leave at once would take at the pacing rate.
const QUANTUM: f64 = 0.001;
/// The most bytes that leave at once.
const LARGEST: f64 = 65_536.0;

/// Spaces transmissions: a few segments leave at once, then none until these would have been sent at
/// the pacing rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    mss: u64,
    /// Bytes per second.
    rate: f64,
    /// What may still leave without a pause.
    left: u64,
    next: Instant,
    /// When what was kept back may leave.
    held_until: Option<Instant>,
}

impl Pacer {
    pub(super) const fn new(mss: u64, rate: f64) -> Self {
        Self {
            mss,
            rate,
            left: 0,
            next: Instant::ZERO,
            held_until: None,
        }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) const fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// What leaves at once.
    pub(super) fn quantum(&self) -> u64 {
        ((self.rate * QUANTUM).min(LARGEST) as u64).max(2 * self.mss)
    }

    /// Whether nothing may leave yet.
    pub(super) fn is_early(&self, now: Instant) -> bool {
        self.left == 0 && !self.is_through(now)
    }

    /// Whether all that left would have been sent by now at the pacing rate.
    pub(super) fn is_through(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// Notes that something is kept back.
    pub(super) const fn hold(&mut self) {
        self.held_until = Some(self.next);
    }

    /// When what was kept back may leave.
    pub(super) const fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    /// Lets go what was kept back until now.
    pub(super) fn release(&mut self, now: Instant) {
        self.held_until.take_if(|until| *until <= now);
    }

    /// Notes that `len` bytes leave.
    pub(super) fn on_sent(&mut self, now: Instant, len: u64) {
        if self.left == 0 || self.next < now {
            self.left = self.quantum();
            self.next = self.next.max(now);
        }
        self.held_until = None;
        self.left = self.left.saturating_sub(len);
        self.next += Duration::from_secs_f64(len as f64 / self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_keep_to_the_rate() {
        let mut pacer = Pacer::new(1000, 1e6);
        let (mut now, mut sent) = (Instant::ZERO, 0);
        while now < Instant::ZERO + Duration::from_secs(1) {
            pacer.on_sent(now, 1000);
            sent += 1000;
            if pacer.is_early(now) {
                pacer.hold();
                now = pacer.held_until().unwrap();
            }
        }
        assert!((1_000_000..=1_002_000).contains(&sent), "{sent}");
    }

    #[test]
    fn what_was_kept_back_waits_once() {
        let mut pacer = Pacer::new(1000, 1e6);
        for _ in 0..2 {
            pacer.on_sent(Instant::ZERO, 1000);
        }
        assert!(pacer.is_early(Instant::ZERO));
        assert_eq!(pacer.held_until(), None);
        pacer.hold();
        let until = pacer.held_until().unwrap();
        pacer.release(until);
        assert!(pacer.held_until().is_none() && !pacer.is_early(until));
    }

    #[test]
    fn an_idle_time_saves_up_no_more_than_what_leaves_at_once() {
        let mut pacer = Pacer::new(1000, 1e6);
        pacer.on_sent(Instant::ZERO, 1000);
        let later = Instant::ZERO + Duration::from_secs(9);
        let mut burst = 0;
        while !pacer.is_early(later) {
            pacer.on_sent(later, 1000);
            burst += 1;
        }
        assert!(burst <= 4, "{burst}");
    }
}
