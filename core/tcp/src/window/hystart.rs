//! `HyStart` (Ha and Rhee, 2011) with Linux's parameters: ends slow start before the queue
//! overflows, when a round's acknowledgements arrive in a train as long as half a round trip, or
//! when the round-trip time rises.

use hopflow_units::{Duration, Instant};

use super::ack::AckSample;

/// Acknowledgements further apart do not belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Samples of a round before its round-trip time counts.
const SAMPLES: u32 = 8;
/// Bounds of the rise that counts, which is an eighth of the round-trip time.
const RISE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// Segments in the window below which slow start goes on.
pub(super) const LOW_WINDOW: u64 = 16;

/// One round of slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStart {
    /// Acknowledging this offset begins the next round.
    ends: u64,
    began: Instant,
    last_ack: Instant,
    rtt: Duration,
    samples: u32,
}

impl HyStart {
    /// Takes in an acknowledgement and tells whether slow start should end.
    pub(super) fn should_end(&mut self, sample: &AckSample) -> bool {
        if sample.una > self.ends || self.began == Instant::ZERO {
            *self = Self {
                ends: sample.nxt,
                began: sample.now,
                last_ack: sample.now,
                rtt: Duration::MAX,
                samples: 0,
            };
        }
        self.train_is_long(sample) || self.delay_rises(sample)
    }

    fn train_is_long(&mut self, sample: &AckSample) -> bool {
        if sample.now.saturating_since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = sample.now;
        sample.now.saturating_since(self.began) > sample.min_rtt / 2
    }

    fn delay_rises(&mut self, sample: &AckSample) -> bool {
        self.rtt = self.rtt.min(sample.rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = (sample.min_rtt / 8).clamp(RISE.0, RISE.1);
        self.rtt > sample.min_rtt + rise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Whether a round of acknowledgements that are `gap` apart ends slow start.
    fn ends(gap: Duration, rtt: Duration) -> bool {
        let mut hystart = HyStart::default();
        (1..30).any(|n| {
            hystart.should_end(&AckSample {
                now: Instant::ZERO + ms(100) + gap * n,
                acked: 1448,
                una: n,
                nxt: 1000,
                rtt,
                min_rtt: ms(50),
            })
        })
    }

    #[test]
    fn a_rising_round_trip_time_ends_slow_start() {
        assert!(ends(ms(3), ms(57)));
        assert!(!ends(ms(3), ms(56)));
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        assert!(ends(ms(1), ms(50)));
        assert!(!ends(Duration::from_micros(800), ms(50)));
    }
}
