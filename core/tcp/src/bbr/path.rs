//! What is known of the path: its rate, its round trip, and how acknowledgements bunch
//! (draft-ietf-ccwg-bbr, section 5.5).

use hopflow_units::{Duration, Instant};

use super::filter::WindowedMax;
use super::sampler::Sample;

/// How long the smallest round-trip time is believed (`MinRTTFilterLen`).
const ROUND_TRIP_AGE: Duration = Duration::from_secs(10);
/// How long after the smallest one it is probed for (`ProbeRTTInterval`).
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// Cycles of probing over which the largest rate counts (`MaxBwFilterLen`).
const CYCLES: u64 = 2;
/// Round trips over which acknowledgements that bunch count (`ExtraAckedFilterLen`).
const BUNCH_ROUNDS: u64 = 10;

/// Round trips, counted by segments: one ends when a segment arrives that was sent after the last one
/// ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    pub(super) count: u64,
    /// Whether this acknowledgement ends one.
    pub(super) ended: bool,
    next: u64,
}

impl Rounds {
    pub(super) const fn new() -> Self {
        Self {
            count: 0,
            ended: false,
            next: 0,
        }
    }

    /// Begins a round trip; `delivered` bytes were delivered so far.
    pub(super) const fn start(&mut self, delivered: u64) {
        self.next = delivered;
    }

    pub(super) fn update(&mut self, sample: &Sample, delivered: u64) {
        self.ended = sample.before.is_some_and(|it| it >= self.next);
        if self.ended {
            self.start(delivered);
            self.count += 1;
        }
    }
}

/// The smallest round-trip time of late.
#[derive(Clone, Copy, Debug)]
struct Smallest {
    /// `None` before the first.
    round_trip: Option<Duration>,
    /// When it was measured, or an attempt to do so ended.
    at: Instant,
}

impl Smallest {
    const NONE: Self = Self {
        round_trip: None,
        at: Instant::ZERO,
    };

    /// Whether it is there, and is older than `age`.
    fn is_older(&self, now: Instant, age: Duration) -> bool {
        self.round_trip.is_some() && now > self.at + age
    }

    /// Whether another one takes its place: a smaller one, or any if it is too old.
    fn yields_to(&self, other: Duration, is_old: bool) -> bool {
        is_old || self.round_trip.is_none_or(|it| other < it)
    }
}

/// The model of the path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    rates: WindowedMax,
    cycle: u64,
    /// What the model counts on (`min_rtt`).
    smallest: Smallest,
    /// What says when to probe for it (`probe_rtt_min_delay`).
    probed: Smallest,
    /// Whether that was too old when this acknowledgement came (`probe_rtt_expired`).
    pub(super) wants_probe: bool,
    bunches: WindowedMax,
    bunch_since: Instant,
    bunch: u64,
}

impl Path {
    pub(super) fn new() -> Self {
        Self {
            rates: WindowedMax::default(),
            cycle: 0,
            smallest: Smallest::NONE,
            probed: Smallest::NONE,
            wants_probe: false,
            bunches: WindowedMax::default(),
            bunch_since: Instant::ZERO,
            bunch: 0,
        }
    }

    /// The largest rate of late, bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.rates.get()
    }

    /// Takes the rate of a sample, unless the application made it and it is no news.
    pub(super) fn update_rate(&mut self, sample: &Sample) {
        if sample.rate > 0.0 && (sample.rate >= self.rate() || !sample.limited) {
            self.rates.update(self.cycle, sample.rate, CYCLES);
        }
    }

    /// Ends a cycle of probing.
    pub(super) const fn end_cycle(&mut self) {
        self.cycle += 1;
    }

    /// The smallest round-trip time of late; `None` before the first.
    pub(super) const fn round_trip(&self) -> Option<Duration> {
        self.smallest.round_trip
    }

    /// Begins with a round-trip time.
    pub(super) const fn begin(&mut self, now: Instant, round_trip: Duration) {
        self.probed = Smallest {
            round_trip: Some(round_trip),
            at: now,
        };
        self.smallest = self.probed;
    }

    /// Takes the round-trip time of a sample if it is the smallest, or that is too old.
    pub(super) fn update_round_trip(&mut self, now: Instant, sample: &Sample) {
        self.wants_probe = self.probed.is_older(now, PROBE_AFTER);
        if let Some(round_trip) = sample.round_trip
            && self.probed.yields_to(round_trip, self.wants_probe)
        {
            self.probed = Smallest {
                round_trip: Some(round_trip),
                at: now,
            };
        }
        let is_old = self.smallest.is_older(now, ROUND_TRIP_AGE);
        if let Some(round_trip) = self.probed.round_trip
            && self.smallest.yields_to(round_trip, is_old)
        {
            self.smallest = self.probed;
        }
    }

    /// A probe for the smallest round-trip time is over.
    pub(super) const fn end_probe(&mut self, now: Instant) {
        self.probed.at = now;
    }

    /// Measures by how much acknowledgements run ahead of `rate`, as they do when they bunch; `cap`
    /// bounds it.
    pub(super) fn update_bunches(
        &mut self,
        now: Instant,
        (rate, cap): (f64, u64),
        newly: u64,
        (round, starting): (u64, bool),
    ) {
        let expected = rate * now.saturating_since(self.bunch_since).as_secs_f64();
        let mut ahead = self.bunch as f64 - expected;
        if ahead <= 0.0 {
            self.restart_bunch(now);
            ahead = 0.0;
        }
        self.bunch += newly;
        let extra = (ahead + newly as f64).min(cap as f64);
        let window = if starting { 1 } else { BUNCH_ROUNDS };
        self.bunches.update(round, extra, window);
    }

    /// Begins to measure anew, as after an idle time.
    pub(super) const fn restart_bunch(&mut self, now: Instant) {
        self.bunch = 0;
        self.bunch_since = now;
    }

    /// Bytes by which acknowledgements ran ahead.
    pub(super) fn extra(&self) -> u64 {
        self.bunches.get() as u64
    }
}

/// Whether the path is full: its rate has hardly grown for three round trips that were to make it grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    rate: f64,
    rounds: u32,
    /// It is, since this was asked anew.
    pub(super) now: bool,
    /// It was, at any time.
    pub(super) ever: bool,
}

impl FullPipe {
    /// Asks anew, from a rate on.
    pub(super) const fn reset(&mut self, rate: f64) {
        self.rate = rate;
        self.rounds = 0;
        self.now = false;
    }

    pub(super) fn check(&mut self, sample: &Sample, round_ended: bool) {
        if self.now || !round_ended || sample.limited {
            return;
        }
        if sample.rate >= self.rate * 1.25 {
            return self.reset(sample.rate);
        }
        self.rounds += 1;
        self.now = self.rounds >= 3;
        self.ever |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn see(path: &mut Path, millis: u64, round_trip: u64) {
        let sample = Sample {
            round_trip: Some(Duration::from_millis(round_trip)),
            ..Sample::default()
        };
        path.update_round_trip(at(millis), &sample);
    }

    #[test]
    fn a_probe_is_due_after_five_seconds_and_the_model_believes_the_smallest_for_ten() {
        let mut path = Path::new();
        path.begin(at(0), Duration::from_millis(50));
        see(&mut path, 5000, 80);
        assert!(!path.wants_probe);
        see(&mut path, 6000, 80);
        assert!(path.wants_probe);
        assert_eq!(path.round_trip(), Some(Duration::from_millis(50)));
        path.end_probe(at(6200));
        see(&mut path, 9000, 90);
        assert!(!path.wants_probe);
        assert_eq!(path.round_trip(), Some(Duration::from_millis(50)));
        see(&mut path, 10_001, 90);
        assert_eq!(path.round_trip(), Some(Duration::from_millis(80)));
    }

    #[test]
    fn a_smaller_round_trip_puts_the_probe_off() {
        let mut path = Path::new();
        path.begin(at(0), Duration::from_millis(50));
        see(&mut path, 4000, 40);
        see(&mut path, 8000, 60);
        assert!(!path.wants_probe);
        assert_eq!(path.round_trip(), Some(Duration::from_millis(40)));
    }
}
