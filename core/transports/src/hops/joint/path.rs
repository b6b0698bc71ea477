//! What a sender knows of the network on the way to a flow's successor.

use hopflow_units::{Duration, Instant};

/// A queue stands if round trips exceed the smallest on average by this part of it, and this time in
/// seconds: more than what paces and hosts make of them. Short network queues, which TCP fills and
/// empties, are shorter than that in the mean of few round trips.
const LONGER: f64 = 0.0625;
const LONGER_BY: f64 = 0.002;
/// Over what the average is: so many smallest round trips, and this time, in seconds. What joint control
/// lets stand itself is gone after less.
const AVERAGED: f64 = 8.0;
const AVERAGED_FOR: f64 = 0.5;
/// For how long a queue then counts as standing: as for its receiver, losses of CUBIC are apart.
const HOLD: Duration = Duration::from_secs(20);
/// The part of a sample in the mean, as in TCP's smoothed round trip (RFC 6298).
const GAIN: f64 = 0.125;
/// After so many rates in a row there is no grant: half of the words are grants where there is one.
const WORDS: u32 = 16;
/// The shortest round trip of a grant, in seconds, and its lowest rate, in cells per second, so that a
/// circuit does not stop for good.
const SHORTEST: f64 = 0.001;
const SLOWEST: f64 = 0.1;

/// The network on the way to a flow's successor, where others may compete.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The mean round trip of acknowledgements, in seconds, which has no queue of a node in it.
    rtt: Option<f64>,
    /// By how much it was longer than without queues of late, in seconds, and when that was measured.
    queue: f64,
    measured: Instant,
    /// Until then a queue counts as standing.
    crowded: Instant,
    /// The cells that the successor granted last, and the rates that it said since.
    grant: Option<f64>,
    words: u32,
}

impl Path {
    /// Cells were acknowledged after `rtt`, where it takes `base` without queues, in seconds.
    pub(super) fn on_acked(&mut self, now: Instant, rtt: f64, base: f64) {
        let mean = self.rtt.map_or(rtt, |mean| mean + GAIN * (rtt - mean));
        self.rtt = Some(mean);
        let span = (AVERAGED * base).max(AVERAGED_FOR);
        let past = now.saturating_since(self.measured).as_secs_f64();
        self.measured = now;
        // After a pause one sample is no more than the past.
        let part = 1.0 - libm::exp(-(past / span).min(1.0));
        self.queue += part * (rtt - base - self.queue);
        if self.queue > (LONGER * base).max(LONGER_BY) {
            self.crowded = now + HOLD;
        }
    }

    /// The successor granted so many cells.
    pub(super) const fn on_grant(&mut self, cells: f64) {
        (self.grant, self.words) = (Some(cells), 0);
    }

    /// The successor said a rate.
    pub(super) const fn on_rate(&mut self) {
        self.words = self.words.saturating_add(1);
        if self.words > WORDS {
            self.grant = None;
        }
    }

    /// The mean round trip if others compete: a queue stands on the way, and the successor granted
    /// something, or `alone` this is enough.
    pub(super) fn crowded(&self, now: Instant, alone: bool) -> Option<Duration> {
        let stands = now < self.crowded && (alone || self.grant.is_some());
        let rtt = self.rtt.filter(|_| stands)?;
        Some(Duration::from_nanos((rtt * 1e9) as u64))
    }

    /// The rate that the grant comes to, in cells per second, if others compete.
    pub(super) fn granted(&self, now: Instant) -> Option<f64> {
        let grant = self.grant?;
        let rtt = self.crowded(now, false)?.as_secs_f64();
        Some((grant / rtt.max(SHORTEST)).max(SLOWEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn only_a_queue_that_stands_means_others() {
        let mut path = Path::default();
        path.on_grant(3.0);
        for millis in 0..1000 {
            let rtt = if millis % 400 < 10 { 0.060 } else { 0.030 };
            path.on_acked(at(millis), rtt, 0.030);
            assert_eq!(path.granted(at(millis)), None);
        }
        for millis in 1000..1600 {
            path.on_acked(at(millis), 0.060, 0.030);
        }
        let rate = path.granted(at(1600)).unwrap();
        assert!((rate - 50.0).abs() < 0.1, "{rate}");
        assert_eq!(path.granted(at(30_000)), None);
    }

    #[test]
    fn a_grant_ends_when_none_comes_any_more() {
        let mut path = Path::default();
        for millis in 0..1000 {
            path.on_acked(at(millis), 0.060, 0.030);
        }
        path.on_grant(3.0);
        (0..WORDS).for_each(|_| path.on_rate());
        assert!(path.granted(at(1000)).is_some());
        path.on_rate();
        assert_eq!(path.granted(at(1000)), None);
    }
}
