//! What is known of the path: its rate, its round trip, and how acknowledgements bunch
//! (draft-ietf-ccwg-bbr, section 5.5).

use hopflow_units::{Duration, Instant};

use super::filter::WindowedMax;
use super::sampler::Sample;

/// How long the smallest round-trip time is believed (`MinRTTFilterLen`).
const ROUND_TRIP_AGE: Duration = Duration::from_secs(10);
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

/// The model of the path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    rates: WindowedMax,
    cycle: u64,
    /// The smallest round-trip time of late; `None` before the first.
    pub(super) round_trip: Option<Duration>,
    /// When it was measured, or an attempt to do so ended.
    pub(super) measured: Instant,
    /// Whether that was too long ago when this acknowledgement came.
    pub(super) is_stale: bool,
    bunches: WindowedMax,
    bunch_since: Instant,
    bunch: u64,
}

impl Path {
    pub(super) fn new() -> Self {
        Self {
            rates: WindowedMax::default(),
            cycle: 0,
            round_trip: None,
            measured: Instant::ZERO,
            is_stale: false,
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

    /// Looks whether the smallest round-trip time is too old to be believed.
    pub(super) fn check_age(&mut self, now: Instant) {
        self.is_stale = self.round_trip.is_some() && now > self.measured + ROUND_TRIP_AGE;
    }

    /// Takes the round-trip time of a sample if it is the smallest, or that is too old.
    pub(super) fn update_round_trip(&mut self, now: Instant, sample: &Sample) {
        let Some(round_trip) = sample.round_trip else {
            return;
        };
        if self.is_stale || self.round_trip.is_none_or(|it| round_trip < it) {
            self.round_trip = Some(round_trip);
            self.measured = now;
        }
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
