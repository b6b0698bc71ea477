//! How often each network may ask for something.

use std::collections::BTreeMap;

use hopflow_units::{Duration, Instant};

use super::Prefix;
use crate::config::Pace;

/// A token bucket for each network, as the generic cell rate algorithm (ITU-T I.371): of each
/// only the time is kept at which it is full again.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    full_at: BTreeMap<Prefix, Instant>,
}

impl Meter {
    /// Whether a network may ask once more, which then counts.
    pub(crate) fn allows(&mut self, now: Instant, prefix: Prefix, pace: Pace) -> bool {
        let each = Duration::from_nanos(1_000_000_000 / u64::from(pace.per_second.max(1)));
        let depth = Duration::from_nanos(each.as_nanos() * u64::from(pace.burst.max(1)));
        let each = Duration::from_nanos(each.as_nanos() / prefix.share() as u64);
        let full_at = self.full_at.get(&prefix).copied().unwrap_or(now).max(now);
        let then = full_at + each;
        let allowed = then.saturating_since(now) <= depth;
        if allowed {
            self.full_at.insert(prefix, then);
        }
        allowed
    }

    /// Forgets networks whose bucket is full.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.full_at.retain(|_, full_at| *full_at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        per_second: 10,
        burst: 3,
    };

    fn prefix(third: u8) -> Prefix {
        Prefix::of([10, 0, third, 1].into())
    }

    /// How often a network may ask at once.
    fn at_once(meter: &mut Meter, now: Instant, prefix: Prefix) -> usize {
        (0..100).filter(|_| meter.allows(now, prefix, PACE)).count()
    }

    #[test]
    fn a_network_asks_as_often_as_its_bucket_allows() {
        let mut meter = Meter::default();
        let start = Instant::from_nanos(5);
        assert_eq!(at_once(&mut meter, start, prefix(1)), 3);
        assert_eq!(at_once(&mut meter, start, prefix(2)), 3);
        let later = start + Duration::from_millis(250);
        assert_eq!(at_once(&mut meter, later, prefix(1)), 2);
        assert_eq!(
            at_once(&mut meter, later + Duration::from_secs(9), prefix(1)),
            3
        );
    }

    #[test]
    fn a_relay_asks_as_often_as_many_clients() {
        let mut meter = Meter::default();
        let relay = Prefix::Relay([10, 0, 1, 1].into());
        assert_eq!(at_once(&mut meter, Instant::ZERO, prefix(1)), 3);
        assert_eq!(at_once(&mut meter, Instant::ZERO, relay), 24);
    }

    #[test]
    fn a_full_bucket_is_forgotten() {
        let mut meter = Meter::default();
        assert!(meter.allows(Instant::ZERO, prefix(1), PACE));
        meter.forget(Instant::ZERO + Duration::from_millis(99));
        assert_eq!(meter.full_at.len(), 1);
        meter.forget(Instant::ZERO + Duration::from_millis(100));
        assert!(meter.full_at.is_empty());
    }
}
