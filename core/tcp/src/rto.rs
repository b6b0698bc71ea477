//! Round-trip time and the retransmission timeout (RFC 6298).

use hopflow_units::{Duration, Instant};

use crate::Config;

/// The timeout before any measurement (RFC 6298, rule 2.1).
const INITIAL_RTO: Duration = Duration::from_secs(1);

/// Estimates the round-trip time and derives the timeout.
///
/// Every acknowledgement of new data gives a sample by its timestamp. As Linux does, the variation
/// that counts is the largest mean deviation within a round trip: with many samples per round
/// trip the plain filter of RFC 6298 would forget too fast (RFC 7323, appendix G).
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Duration,
    /// Smoothed mean deviation, times four.
    deviation: Duration,
    /// Largest of [`deviation`](Self::deviation) in this round trip.
    largest: Duration,
    variation: Duration,
    min_rtt: Duration,
    latest: Duration,
    round_ends: u64,
    backoff: u32,
    min_rto: Duration,
    max_rto: Duration,
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: Duration::ZERO,
            deviation: Duration::ZERO,
            largest: Duration::ZERO,
            variation: Duration::ZERO,
            min_rtt: Duration::MAX,
            latest: Duration::ZERO,
            round_ends: 0,
            backoff: 0,
            min_rto: config.min_rto,
            max_rto: config.max_rto,
        }
    }

    /// The smoothed round-trip time, once there was a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        (!self.srtt.is_zero()).then_some(self.srtt)
    }

    /// The smallest sample so far; [`Duration::MAX`] before the first.
    pub(crate) const fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// The latest sample.
    pub(crate) const fn latest(&self) -> Duration {
        self.latest
    }

    /// Takes a sample; `una` and `nxt` tell when a round trip has passed.
    pub(crate) fn sample(&mut self, now: Instant, echo: Instant, una: u64, nxt: u64) {
        let rtt = now.saturating_since(echo).max(Duration::from_nanos(1));
        self.latest = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
        self.backoff = 0;
        if self.srtt.is_zero() {
            self.srtt = rtt;
            self.deviation = rtt * 2;
            self.largest = self.deviation.max(self.min_rto);
            self.variation = self.largest;
            self.round_ends = nxt;
            return;
        }
        let error = self.srtt.abs_diff(rtt);
        self.deviation = self.deviation - self.deviation / 4 + error;
        self.srtt = Duration::from_nanos((7 * self.srtt.as_nanos() + rtt.as_nanos()) / 8);
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.variation = self.variation.max(self.largest);
        }
        if una >= self.round_ends {
            if self.largest < self.variation {
                self.variation = self.variation - (self.variation - self.largest) / 4;
            }
            self.round_ends = nxt;
            self.largest = self.min_rto;
        }
    }

    /// The timeout, with all its backing off.
    pub(crate) fn rto(&self) -> Duration {
        let base = match self.srtt() {
            Some(srtt) => srtt + self.variation,
            None => INITIAL_RTO,
        };
        (base * (1 << self.backoff)).min(self.max_rto)
    }

    /// Doubles the timeout after it has expired (RFC 6298, rule 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    /// Forgets all doubling.
    pub(crate) const fn forget_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn measured(samples: &[u64]) -> RttEstimator {
        let mut rtt = RttEstimator::new(&Config::default());
        for (round, n) in samples.iter().enumerate() {
            let round = round as u64;
            rtt.sample(Instant::ZERO + ms(*n), Instant::ZERO, round, round + 1);
        }
        rtt
    }

    #[test]
    fn the_first_sample_sets_everything() {
        let rtt = measured(&[300]);
        assert_eq!(rtt.srtt(), Some(ms(300)));
        assert_eq!(rtt.rto(), ms(900));
    }

    #[test]
    fn a_steady_path_waits_the_floor_above_the_round_trip() {
        let rtt = measured(&[50; 200]);
        assert_eq!(rtt.srtt(), Some(ms(50)));
        assert!(rtt.rto().abs_diff(ms(250)) < ms(1), "{}", rtt.rto());
    }

    #[test]
    fn the_timeout_doubles_until_an_answer() {
        let mut rtt = measured(&[50; 200]);
        let base = rtt.rto();
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), base * 4);
        for _ in 0..30 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(120));
        rtt.sample(Instant::ZERO + ms(50), Instant::ZERO, 200, 201);
        assert_eq!(rtt.rto(), base);
    }

    #[test]
    fn before_any_sample_it_is_a_second() {
        assert_eq!(measured(&[]).rto(), Duration::from_secs(1));
    }
}
