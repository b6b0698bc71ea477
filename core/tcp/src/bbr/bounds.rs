//! Bounds that losses set (draft-ietf-ccwg-bbr, section 5.5.10).

use super::path::Rounds;
use super::sampler::Sample;

/// The share of what was in flight whose loss is too much (`LossThresh`).
pub(super) const TOLERATED: f64 = 0.02;
/// The least share that remains after losses (`Beta`).
pub(super) const BETA: f64 = 0.7;
/// The share of the bound that is left to others (`Headroom`).
const HEADROOM: f64 = 0.15;

/// What losses say about the rate and the amount in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes per second, until the next probing; infinite: no bound.
    pub(super) rate: f64,
    /// Bytes in flight, until the next probing.
    pub(super) short: u64,
    /// Bytes in flight that did not lose too much; [`u64::MAX`]: no bound.
    pub(super) long: u64,
    /// The largest rate and amount delivered in this round trip.
    latest: (f64, u64),
    /// Round trips; the first loss in one begins it anew.
    pub(super) rounds: Rounds,
    /// Losses in this round trip, at most one for each range.
    pub(super) losses: u32,
}

impl Bounds {
    pub(super) const fn new() -> Self {
        Self {
            rate: f64::INFINITY,
            short: u64::MAX,
            long: u64::MAX,
            latest: (0.0, 0),
            rounds: Rounds::new(),
            losses: 0,
        }
    }

    /// The amount delivered in this round trip.
    pub(super) const fn latest_delivered(&self) -> u64 {
        self.latest.1
    }

    /// Forgets what holds until the next probing.
    pub(super) const fn lift(&mut self) {
        self.rate = f64::INFINITY;
        self.short = u64::MAX;
    }

    /// Forgets this round trip.
    pub(super) const fn forget_round(&mut self) {
        self.latest = (0.0, 0);
        self.losses = 0;
    }

    /// Counts the loss of a range when `delivered` bytes had been delivered.
    pub(super) const fn on_loss(&mut self, delivered: u64) {
        if self.losses == 0 {
            self.rounds.start(delivered);
        }
        self.losses += 1;
    }

    /// Takes a sample, and sees whether it ends the round trip.
    pub(super) fn begin(&mut self, sample: &Sample, delivered: u64) {
        self.latest.0 = self.latest.0.max(sample.rate);
        self.latest.1 = self.latest.1.max(sample.delivered);
        self.rounds.update(sample, delivered);
    }

    /// Ends what `begin` began: the next round trip begins with the sample that ended the last one.
    pub(super) const fn end(&mut self, sample: &Sample) {
        if self.rounds.ended {
            self.latest = (sample.rate, sample.delivered);
        }
    }

    /// Slows down for a round trip with losses, towards what it delivered: from `rate` and `window` where
    /// there was no bound.
    pub(super) fn slow_down(&mut self, rate: f64, window: u64) {
        if self.rate.is_infinite() {
            self.rate = rate;
        }
        if self.short == u64::MAX {
            self.short = window;
        }
        self.rate = self.latest.0.max(BETA * self.rate);
        self.short = self.latest.1.max((BETA * self.short as f64) as u64);
    }

    /// Whether so much was lost of what was in flight that it was too much.
    pub(super) fn is_too_high(sample: &Sample, sack: bool) -> bool {
        let lost = sample.lost as f64;
        lost > TOLERATED * sample.in_flight as f64 || (sample.lost > 0 && !sack)
    }

    /// The bound with room for others, at least `floor`.
    pub(super) fn with_headroom(&self, mss: u64, floor: u64) -> u64 {
        if self.long == u64::MAX {
            return u64::MAX;
        }
        let headroom = ((HEADROOM * self.long as f64) as u64).max(mss);
        self.long.saturating_sub(headroom).max(floor)
    }
}
