//! The retransmission timer (RFC 6298).

use hopflow_units::{Duration, Instant};

use crate::Config;
use crate::rto::RttEstimator;

/// The retransmission timer or, with nothing outstanding, the persist timer; and the estimate that
/// both wait by.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    rtt: RttEstimator,
    at: Instant,
}

impl RetransmissionTimer {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            rtt: RttEstimator::new(config),
            at: Instant::FAR_FUTURE,
        }
    }

    pub(super) const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(super) const fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// When it expires; [`Instant::FAR_FUTURE`] if it does not run.
    pub(super) const fn at(&self) -> Instant {
        self.at
    }

    pub(super) fn is_running(&self) -> bool {
        self.at != Instant::FAR_FUTURE
    }

    /// Starts, or starts over.
    pub(super) fn start(&mut self, now: Instant) {
        self.at = now + self.rtt.rto();
    }

    pub(super) const fn stop(&mut self) {
        self.at = Instant::FAR_FUTURE;
    }

    /// Whether the timer expires now; if so, it stops and the timeout doubles.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        if now < self.at {
            return false;
        }
        self.rtt.back_off();
        self.stop();
        true
    }

    /// The timeout, with all its backing off.
    pub(super) fn rto(&self) -> Duration {
        self.rtt.rto()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_timer_stops_and_waits_twice_as_long_next_time() {
        let mut timer = RetransmissionTimer::new(&Config::default());
        let second = Duration::from_secs(1);
        timer.start(Instant::ZERO);
        assert!(!timer.expire(Instant::ZERO));
        assert!(timer.expire(Instant::ZERO + second));
        assert!(!timer.is_running());
        timer.start(Instant::ZERO);
        assert_eq!(timer.at(), Instant::ZERO + second * 2);
    }
}
