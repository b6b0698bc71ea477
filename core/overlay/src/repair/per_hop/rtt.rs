//! Round-trip time estimation and the retransmission time-out (RFC 6298).

use hopflow_units::Duration;

/// Bounds of the retransmission time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RttConfig {
    /// The time-out before the first sample (RFC 6298, 2.1: 1 s).
    pub initial: Duration,
    /// The smallest time-out (RFC 6298, 2.4: 1 s).
    pub min: Duration,
    /// The largest time-out, backed off (RFC 6298, 2.5: at least 60 s).
    pub max: Duration,
}

impl Default for RttConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        }
    }
}

/// Smoothed round-trip time, its variation, and the time-out that follows from them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimator {
    srtt: u64,
    rttvar: u64,
    sampled: bool,
    backoff: u32,
}

impl RttEstimator {
    /// Takes a sample; by Karn's rule never of a retransmitted cell.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos();
        if self.sampled {
            // RFC 6298, 2.3 with alpha = 1/8, beta = 1/4.
            self.rttvar = self.rttvar - self.rttvar / 4 + self.srtt.abs_diff(rtt) / 4;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        } else {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            self.sampled = true;
        }
    }

    /// Ends any backoff, for the peer has made progress.
    #[inline]
    pub fn progress(&mut self) {
        self.backoff = 0;
    }

    /// Doubles the time-out (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// The retransmission time-out.
    #[inline]
    pub fn rto(&self, config: &RttConfig) -> Duration {
        let base = if self.sampled {
            let nanos = self.srtt + 4 * self.rttvar;
            Duration::from_nanos(nanos.max(config.min.as_nanos()))
        } else {
            config.initial
        };
        base.saturating_mul(1 << self.backoff).min(config.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_rfc_6298() {
        let config = RttConfig {
            min: Duration::ZERO,
            ..RttConfig::default()
        };
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.rto(&config), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(80));
        assert_eq!(rtt.rto(&config), Duration::from_millis(80 + 4 * 40));
        rtt.sample(Duration::from_millis(160));
        // rttvar = 40 * 3/4 + 80/4 = 50; srtt = 80 * 7/8 + 20 = 90.
        assert_eq!(rtt.srtt, Duration::from_millis(90).as_nanos());
        assert_eq!(rtt.rto(&config), Duration::from_millis(90 + 4 * 50));
    }

    #[test]
    fn backs_off_up_to_the_maximum_until_progress() {
        let config = RttConfig::default();
        let mut rtt = RttEstimator::default();
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(&config), Duration::from_secs(60));
        rtt.progress();
        assert_eq!(rtt.rto(&config), Duration::from_secs(1));
    }
}
