//! What each network makes the engine hold.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_units::Instant;

use super::{Origin, Prefix};

/// Things that the engine holds, by the networks that asked for them.
#[derive(Debug)]
pub(crate) struct Held<T> {
    by_prefix: BTreeMap<Prefix, BTreeSet<(Instant, T)>>,
    /// How much each network has of its share.
    ranks: BTreeSet<(usize, Prefix)>,
    len: usize,
}

// Derived, it would ask for a default of `T`.
impl<T> Default for Held<T> {
    fn default() -> Self {
        Self {
            by_prefix: BTreeMap::new(),
            ranks: BTreeSet::new(),
            len: 0,
        }
    }
}

impl<T: Copy + Ord> Held<T> {
    /// How much all networks have.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// How much a network has.
    pub(crate) fn of(&self, prefix: Prefix) -> usize {
        self.by_prefix.get(&prefix).map_or(0, BTreeSet::len)
    }

    pub(crate) fn insert(&mut self, by: Origin, thing: T) {
        self.change(by.prefix, |things| things.insert((by.since, thing)));
    }

    pub(crate) fn remove(&mut self, by: Origin, thing: T) {
        self.change(by.prefix, |things| things.remove(&(by.since, thing)));
    }

    fn change(&mut self, prefix: Prefix, change: impl FnOnce(&mut BTreeSet<(Instant, T)>) -> bool) {
        let things = self.by_prefix.entry(prefix).or_default();
        let before = things.len();
        change(things);
        let after = things.len();
        self.ranks.remove(&(prefix.weight(before), prefix));
        if after > 0 {
            self.ranks.insert((prefix.weight(after), prefix));
        } else {
            self.by_prefix.remove(&prefix);
        }
        self.len = self.len - before + after;
    }

    /// Whether no network has more than this one, which has something; a relay is not where a network has as much.
    pub(crate) fn is_heaviest(&self, prefix: Prefix) -> bool {
        self.ranks.last().is_some_and(|(most, last)| {
            let is_relay = |prefix: Prefix| prefix.share() > 1;
            let loses = !is_relay(prefix) || is_relay(*last);
            loses && *most == prefix.weight(self.of(prefix))
        })
    }

    /// A network that has most.
    pub(crate) fn heaviest(&self) -> Option<Prefix> {
        self.ranks.last().map(|(_, prefix)| *prefix)
    }

    /// The oldest of what a network has.
    pub(crate) fn oldest_of(&self, prefix: Prefix) -> Option<T> {
        let (_, oldest) = self.by_prefix.get(&prefix)?.first()?;
        Some(*oldest)
    }

    /// The oldest of what the network has that has most.
    pub(crate) fn first_to_go(&self) -> Option<T> {
        self.oldest_of(self.heaviest()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(third: u8, since: u64) -> Origin {
        Origin::new([10, 0, third, 1].into(), Instant::from_nanos(since))
    }

    fn prefix(third: u8) -> Prefix {
        by(third, 0).prefix
    }

    #[test]
    fn who_has_most_loses_its_oldest() {
        let mut held = Held::default();
        assert_eq!(held.first_to_go(), None);
        held.insert(by(9, 1), 'a');
        for (since, thing) in [(5, 'b'), (3, 'c'), (4, 'd')] {
            held.insert(by(2, since), thing);
        }
        assert_eq!((held.len(), held.of(prefix(2))), (4, 3));
        assert_eq!(held.first_to_go(), Some('c'));
        held.remove(by(2, 3), 'c');
        held.remove(by(2, 4), 'd');
        held.insert(by(9, 6), 'e');
        assert_eq!(held.first_to_go(), Some('a'));
        assert!(held.is_heaviest(prefix(9)) && !held.is_heaviest(prefix(2)));
    }

    #[test]
    fn networks_that_have_the_same_are_both_heaviest() {
        let mut held = Held::default();
        assert!(!held.is_heaviest(prefix(1)));
        held.insert(by(1, 1), 1);
        held.insert(by(2, 2), 2);
        assert!(held.is_heaviest(prefix(1)) && held.is_heaviest(prefix(2)));
    }

    #[test]
    fn a_relay_has_a_share_of_its_own_and_a_larger_one() {
        let relay = Origin {
            prefix: Prefix::At([10, 0, 1, 1].into()),
            since: Instant::ZERO,
        };
        let mut held = Held::default();
        for thing in 0..16 {
            held.insert(relay, thing);
        }
        for thing in 100..103 {
            held.insert(by(1, thing), thing);
        }
        assert_eq!((held.of(relay.prefix), held.of(prefix(1))), (16, 3));
        assert_eq!(held.first_to_go(), Some(100));
        held.remove(by(1, 100), 100);
        held.remove(by(1, 101), 101);
        assert_eq!(held.first_to_go(), Some(0));
        assert!(held.is_heaviest(relay.prefix) && !held.is_heaviest(prefix(1)));
    }

    #[test]
    fn of_relays_and_networks_that_have_the_same_part_of_their_shares_a_network_loses() {
        let relay = Origin {
            prefix: Prefix::At([203, 0, 113, 1].into()),
            since: Instant::ZERO,
        };
        let mut held = Held::default();
        held.insert(relay, 1);
        held.insert(by(1, 5), 2);
        held.insert(by(2, 6), 3);
        assert_eq!(held.first_to_go(), Some(3));
        for thing in 10..17 {
            held.insert(relay, thing);
        }
        assert_eq!(held.first_to_go(), Some(3), "eight are one share");
    }

    #[test]
    fn what_is_gone_leaves_nothing_behind() {
        let mut held = Held::default();
        held.insert(by(1, 1), 1);
        held.insert(by(1, 1), 1);
        assert_eq!(held.len(), 1);
        held.remove(by(1, 2), 1);
        held.remove(by(1, 1), 1);
        held.remove(by(1, 1), 1);
        assert_eq!((held.len(), held.first_to_go()), (0, None));
        assert!(held.by_prefix.is_empty() && held.ranks.is_empty());
    }
}
