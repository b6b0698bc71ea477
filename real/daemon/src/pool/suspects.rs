//! Relays that circuits have failed at.

use std::collections::BTreeMap;

use hopflow_units::{Duration, Instant};

/// How long a relay is avoided that failed; it doubles each time.
const FIRST_BAN: Duration = Duration::from_secs(30);
/// The longest such time, 2⁵ times the first.
const MOST_DOUBLINGS: u32 = 5;
/// How long the relays of a path are avoided of which one failed, nobody knows which.
const SHARED_BAN: Duration = Duration::from_secs(10);

/// Relays to avoid for a while, as indices into the directory's.
#[derive(Debug, Default)]
pub(super) struct Suspects(BTreeMap<usize, Suspicion>);

#[derive(Debug, Default)]
struct Suspicion {
    /// Times in a row that the relay, and no other, was to blame.
    strikes: u32,
    until: Instant,
}

impl Suspects {
    /// A circuit of this path failed, at its hop `blame` if that is known.
    pub(super) fn blame(&mut self, now: Instant, path: &[usize], blame: Option<usize>) {
        match blame.and_then(|hop| path.get(hop)) {
            Some(relay) => {
                let suspicion = self.0.entry(*relay).or_default();
                let doublings = suspicion.strikes.min(MOST_DOUBLINGS);
                suspicion.strikes += 1;
                suspicion.until = now + FIRST_BAN * (1 << doublings);
            }
            None => {
                for relay in path {
                    let suspicion = self.0.entry(*relay).or_default();
                    suspicion.until = suspicion.until.max(now + SHARED_BAN);
                }
            }
        }
    }

    /// A circuit of this path works.
    pub(super) fn clear(&mut self, path: &[usize]) {
        for relay in path {
            self.0.remove(relay);
        }
    }

    /// Whether the relay is to be avoided.
    pub(super) fn contain(&self, now: Instant, relay: usize) -> bool {
        let suspicion = self.0.get(&relay);
        suspicion.is_some_and(|suspicion| now < suspicion.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn a_relay_that_fails_again_is_avoided_for_longer() {
        let mut suspects = Suspects::default();
        suspects.blame(at(0), &[4, 5, 6], Some(1));
        assert!(suspects.contain(at(29), 5) && !suspects.contain(at(30), 5));
        assert!(!suspects.contain(at(0), 4));
        suspects.blame(at(100), &[5], Some(0));
        assert!(suspects.contain(at(159), 5) && !suspects.contain(at(160), 5));
        for _ in 0..100 {
            suspects.blame(at(200), &[5], Some(0));
        }
        assert!(suspects.contain(at(1159), 5) && !suspects.contain(at(1160), 5));
        suspects.clear(&[5]);
        assert!(!suspects.contain(at(200), 5));
    }

    #[test]
    fn where_nobody_knows_who_failed_all_are_avoided_for_a_short_time() {
        let mut suspects = Suspects::default();
        suspects.blame(at(0), &[4, 5], None);
        suspects.blame(at(0), &[6, 7], Some(2));
        for relay in 4..8 {
            assert!(suspects.contain(at(9), relay) && !suspects.contain(at(10), relay));
        }
    }
}
