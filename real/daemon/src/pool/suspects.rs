//! Relays that circuits have failed at.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_units::{Duration, Instant};

/// How long a relay is avoided that failed, or whose successor did; it doubles each time that this happens
/// with another relay, or with ourselves.
const FIRST_BAN: Duration = Duration::from_secs(30);
/// The longest such time, 2⁵ times the first.
const MOST_DOUBLINGS: u32 = 5;
/// How long the relays of a path are avoided of which one failed, nobody knows which.
const SHARED_BAN: Duration = Duration::from_secs(10);

/// Relays to avoid for a while, as indices into the directory's.
#[derive(Debug, Default)]
pub(super) struct Suspects(BTreeMap<usize, Suspicion>);

/// A relay that does not answer looks to us like one whose predecessor does not pass messages on. Both are
/// avoided: who fails with many others is to blame, and who fails with one only may be its victim.
#[derive(Debug, Default)]
struct Suspicion {
    /// The relays with which it failed since a circuit of it worked, on either side of it.
    with: BTreeSet<usize>,
    /// How often it was to blame alone: it did not answer ourselves.
    alone: u32,
    until: Instant,
    /// The same for what it was to blame for alone.
    until_alone: Instant,
}

impl Suspicion {
    /// It failed with another relay, or with ourselves.
    fn strike(&mut self, now: Instant, with: Option<usize>) {
        let until = match with {
            Some(with) => {
                self.with.insert(with);
                &mut self.until
            }
            None => {
                self.alone = self.alone.saturating_add(1);
                &mut self.until_alone
            }
        };
        let strikes = self.alone.saturating_add(self.with.len() as u32);
        let doublings = strikes.saturating_sub(1).min(MOST_DOUBLINGS);
        *until = (*until).max(now + FIRST_BAN * (1 << doublings));
    }
}

impl Suspects {
    /// A circuit of this path failed at its hop `blame`, or that one's predecessor did not pass our
    /// message on, if that is known.
    pub(super) fn blame(&mut self, now: Instant, path: &[usize], blame: Option<usize>) {
        let hop = blame.and_then(|hop| Some((hop, *path.get(hop)?)));
        match hop {
            Some((hop, relay)) => {
                let before = hop.checked_sub(1).and_then(|hop| path.get(hop).copied());
                self.0.entry(relay).or_default().strike(now, before);
                if let Some(before) = before {
                    self.0.entry(before).or_default().strike(now, Some(relay));
                }
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

    /// Forgets what these relays were to blame for alone, if all of them are to be avoided.
    pub(super) fn forgive_if_all(
        &mut self,
        now: Instant,
        relays: impl Iterator<Item = usize> + Clone,
    ) {
        if !relays.clone().all(|relay| self.contain(now, relay)) {
            return;
        }
        for relay in relays {
            if let Some(suspicion) = self.0.get_mut(&relay) {
                (suspicion.alone, suspicion.until_alone) = (0, Instant::ZERO);
            }
        }
    }

    /// Whether the relay is to be avoided.
    pub(super) fn contain(&self, now: Instant, relay: usize) -> bool {
        let suspicion = self.0.get(&relay);
        suspicion.is_some_and(|it| now < it.until.max(it.until_alone))
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
        assert!(suspects.contain(at(29), 4) && !suspects.contain(at(30), 4));
        assert!(!suspects.contain(at(0), 6));
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
    fn where_nobody_answers_us_nobody_is_avoided_for_long() {
        let mut suspects = Suspects::default();
        let fail = |suspects: &mut Suspects, secs| {
            for _ in 0..6 {
                suspects.blame(at(secs), &[1], Some(0));
            }
            suspects.forgive_if_all(at(secs), 1..3);
        };
        // That one passes nothing on is another matter.
        suspects.blame(at(0), &[2, 7], Some(1));
        fail(&mut suspects, 0);
        assert!(!suspects.contain(at(0), 1), "it was one of all");
        assert!(suspects.contain(at(29), 2) && !suspects.contain(at(30), 2));
        fail(&mut suspects, 30);
        assert!(suspects.contain(at(30 + 959), 1), "it is the only one");
    }

    #[test]
    fn a_relay_that_drops_what_is_for_its_successors_is_avoided_for_longer_than_they() {
        let mut suspects = Suspects::default();
        let hostile = 1;
        for round in 0..4 {
            for successor in 10..14 {
                suspects.blame(at(round), &[hostile, successor, 20], Some(1));
            }
        }
        for successor in 10..14 {
            assert!(!suspects.contain(at(3 + 30), successor));
        }
        assert!(suspects.contain(at(239), hostile) && !suspects.contain(at(243), hostile));
        assert!(!suspects.contain(at(0), 20));
    }

    #[test]
    fn a_relay_that_answers_nobody_is_avoided_for_longer_than_who_asked() {
        let mut suspects = Suspects::default();
        for before in 10..14 {
            suspects.blame(at(0), &[before, 5, 6], Some(1));
        }
        assert!(suspects.contain(at(239), 5));
        for before in 10..14 {
            assert!(suspects.contain(at(29), before) && !suspects.contain(at(30), before));
        }
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
