//! Probing for more rate: when, how far, and what comes back (draft-ietf-ccwg-bbr, section 5.3.3).

use hopflow_units::{Duration, Instant};

use super::sampler::Sample;
use crate::mix::mix;

/// The most round trips between two probings, so that Reno and CUBIC get their share.
const MOST_ROUNDS: u64 = 63;

/// What acknowledgements are about. The draft's other phases change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feedback {
    /// What is sent now.
    Current,
    /// A probing that is over (`ACKS_PROBE_STOPPING`).
    LastProbing,
}

/// The state of probing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) feedback: Feedback,
    /// When the cycle began.
    since: Instant,
    /// How long to wait for the next probing.
    wait: Duration,
    /// Round trips since the last one, or one more.
    pub(super) rounds: u64,
    /// Whether losses are about what was sent to probe, and no reaction to them has been made.
    pub(super) is_sample: bool,
    /// Whether the last probing ended with too many losses.
    pub(super) was_too_high: bool,
    /// Whether the last probing ended early, out of caution after such a one.
    pub(super) was_careful: bool,
    /// Bytes acknowledged towards the next step up.
    acked: u64,
    /// Bytes acknowledged per step.
    per_step: u64,
    doublings: u32,
}

impl Probe {
    pub(super) const fn new() -> Self {
        Self {
            feedback: Feedback::Current,
            since: Instant::ZERO,
            wait: Duration::ZERO,
            rounds: 0,
            is_sample: false,
            was_too_high: false,
            was_careful: false,
            acked: 0,
            per_step: u64::MAX,
            doublings: 0,
        }
    }

    /// Ends a probing, and draws when the next one is due: in two to three seconds. `seed` is what
    /// differs between connections.
    pub(super) fn end(&mut self, now: Instant, seed: u64) {
        let drawn = mix(now.as_nanos() ^ seed.rotate_left(32));
        self.rounds = drawn & 1;
        self.wait = Duration::from_nanos(2_000_000_000 + (drawn >> 1) % 1_000_000_000);
        self.since = now;
        self.per_step = u64::MAX;
        self.feedback = Feedback::LastProbing;
    }

    /// Whether a probing is due: by time, or as many round trips after the last one as Reno would need to
    /// win back a loss with `window` segments.
    pub(super) fn is_due(&self, now: Instant, window: u64) -> bool {
        now > self.since + self.wait || self.rounds >= window.min(MOST_ROUNDS)
    }

    pub(super) const fn refill(&mut self) {
        self.doublings = 0;
        self.acked = 0;
        self.was_careful = false;
        self.feedback = Feedback::Current;
    }

    /// Lets the bound rise twice as fast: in a round trip by one segment, then by two, four and so on.
    pub(super) fn rise_faster(&mut self, window: u64, mss: u64) {
        self.per_step = (window >> self.doublings).max(mss);
        self.doublings = (self.doublings + 1).min(30);
    }

    /// By how many segments the bound rises for what was acknowledged.
    pub(super) const fn steps(&mut self, sample: &Sample) -> u64 {
        self.acked += sample.newly;
        let steps = self.acked / self.per_step;
        self.acked -= steps * self.per_step;
        steps
    }
}
