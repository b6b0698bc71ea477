//! How often each of many may ask for something.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use hopflow_units::{Duration, Instant};

use super::Prefix;
use crate::config::Pace;

/// A token bucket for each network, or whoever else asks, as the generic cell rate algorithm (ITU-T I.371): of each
/// only the time is kept at which it is full again.
#[derive(Debug)]
pub struct Meter<K> {
    full_at: BTreeMap<K, Instant>,
}

impl<K> Default for Meter<K> {
    fn default() -> Self {
        Self {
            full_at: BTreeMap::new(),
        }
    }
}

/// When a bucket is full again from which one more is taken, if it has it; `each` is the time in which
/// one comes back, `depth` the time in which all do.
fn take(full_at: Instant, now: Instant, each: Duration, depth: Duration) -> Option<Instant> {
    let then = full_at.max(now) + each;
    (then.saturating_since(now) <= depth).then_some(then)
}

/// Token buckets for networks of which none has proven its address: a bucket for each would be kept for
/// addresses that nobody has, and one for all would let everybody empty it, and see by what is left in it
/// whether others' requests were counted. So networks share some buckets, and only we know which.
#[derive(Debug)]
pub(crate) struct Shared {
    full_at: [Instant; SHARED],
    by: RandomState,
}

/// Buckets that networks share.
const SHARED: usize = 256;

impl Default for Shared {
    fn default() -> Self {
        Self {
            full_at: [Instant::ZERO; SHARED],
            by: RandomState::new(),
        }
    }
}

impl Shared {
    /// Whether somebody in a network may ask once more, which then counts.
    pub(crate) fn allows(&mut self, now: Instant, from: Prefix, pace: Pace) -> bool {
        let (each, depth) = times(pace);
        let place = self.by.hash_one(from) % SHARED as u64;
        let full_at = &mut self.full_at[place as usize];
        let then = take(*full_at, now, each, depth);
        *full_at = then.unwrap_or(*full_at);
        then.is_some()
    }
}

/// The time in which a request comes back, and in which all do.
fn times(pace: Pace) -> (Duration, Duration) {
    let each = Duration::from_nanos(1_000_000_000 / u64::from(pace.per_second.max(1)));
    (each, each.saturating_mul(u64::from(pace.burst.max(1))))
}

impl<K: Ord + Copy> Meter<K> {
    /// Whether `who` may ask once more, of as many times as `pace` and `share` have it, which then counts.
    pub fn allows(&mut self, now: Instant, who: K, pace: Pace, share: usize) -> bool {
        let (each, depth) = times(pace);
        let each = Duration::from_nanos(each.as_nanos() / share.max(1) as u64);
        let full_at = self.full_at.get(&who).copied().unwrap_or(now);
        let then = take(full_at, now, each, depth);
        if let Some(then) = then {
            self.full_at.insert(who, then);
        }
        then.is_some()
    }

    /// Forgets those whose bucket is full.
    pub fn forget(&mut self, now: Instant) {
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
    fn at_once(meter: &mut Meter<Prefix>, now: Instant, prefix: Prefix) -> usize {
        let share = prefix.share();
        let asks = (0..100).filter(|_| meter.allows(now, prefix, PACE, share));
        asks.count()
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
    fn a_network_that_asks_all_the_time_takes_little_from_others() {
        let mut shared = Shared::default();
        let mut at_once = |millis, third| {
            let now = Instant::ZERO + Duration::from_millis(millis);
            let asks = 0..100;
            let granted = asks.filter(|_| shared.allows(now, prefix(third), PACE));
            granted.count()
        };
        assert_eq!([0, 50, 250, 9000].map(|at| at_once(at, 1)), [3, 0, 2, 3]);
        // Of 200 others about 60 find somebody before them in their bucket; if all shared one, 200 would.
        let slowed = (2..202).filter(|third| at_once(9000, *third) < 3);
        assert!(slowed.count() < 150);
    }

    #[test]
    fn a_relay_asks_as_often_as_many_clients() {
        let mut meter = Meter::default();
        let relay = Prefix::At([10, 0, 1, 1].into());
        assert_eq!(at_once(&mut meter, Instant::ZERO, prefix(1)), 3);
        assert_eq!(at_once(&mut meter, Instant::ZERO, relay), 24);
    }

    #[test]
    fn a_full_bucket_is_forgotten() {
        let mut meter = Meter::default();
        assert!(meter.allows(Instant::ZERO, prefix(1), PACE, 1));
        meter.forget(Instant::ZERO + Duration::from_millis(99));
        assert_eq!(meter.full_at.len(), 1);
        meter.forget(Instant::ZERO + Duration::from_millis(100));
        assert!(meter.full_at.is_empty());
    }
}
