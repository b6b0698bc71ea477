//! What feedback's extension reports of the worst hop from a node on: the largest of what the node
//! measured on its own hop and what it heard from downstream.

use hopflow_overlay::HopCx;
use hopflow_units::{Duration, Instant};

/// The worst hop of a flow from its node on, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct WorstHop {
    own: Reading,
    downstream: Reading,
}

/// A number, and since when it is known.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    value: u16,
    at: Instant,
}

impl WorstHop {
    /// Takes what the node measured; more than the extension holds is the most that it holds.
    pub(super) fn measure(&mut self, value: u128, now: Instant) {
        let value = u16::try_from(value).unwrap_or(u16::MAX);
        self.own = Reading { value, at: now };
    }

    /// Takes what the node measured, unless that is less than it measured last.
    pub(super) fn raise(&mut self, value: u128, now: Instant) {
        self.measure(value.max(self.own.value.into()), now);
    }

    /// Takes what feedback reports, if it reports anything.
    pub(super) fn hear(&mut self, ext: Option<u16>, now: Instant) {
        if let Some(value) = ext {
            self.downstream = Reading { value, at: now };
        }
    }

    /// When the node measured last.
    pub(super) const fn measured_at(&self) -> Instant {
        self.own.at
    }

    /// The larger of what was measured and what was heard, each for as long as `expiry`.
    pub(super) fn value(&self, expiry: Duration, now: Instant) -> u16 {
        let readings = [self.own, self.downstream];
        let valid = readings
            .iter()
            .filter(|reading| now.saturating_since(reading.at) <= expiry);
        valid.map(|reading| reading.value).max().unwrap_or(0)
    }

    /// Ends what feedback reports if it is of the time before a pause.
    pub(super) fn end_stale(&self, expiry: Duration, cx: &mut HopCx<'_>) {
        if cx.feedback_ext.is_some() && self.value(expiry, cx.now) == 0 {
            *cx.feedback_ext = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_measured_and_heard_counts_until_it_expires() {
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let expiry = Duration::from_secs(1);
        let mut worst = WorstHop::default();
        worst.measure(1 << 20, at(10));
        worst.hear(Some(7), at(11));
        worst.hear(None, at(12));
        assert_eq!(worst.value(expiry, at(11)), u16::MAX);
        assert_eq!(worst.value(expiry, at(12)), 7);
        assert_eq!(worst.value(expiry, at(13)), 0);
        worst.measure(5, at(13));
        worst.raise(3, at(14));
        assert_eq!(
            (worst.value(expiry, at(14)), worst.measured_at()),
            (5, at(14))
        );
    }
}
