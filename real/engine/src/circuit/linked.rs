//! Circuits that end here and that their client wants linked.

use std::collections::BTreeMap;

use hopflow_onion::LinkRequest;

use crate::types::CircuitKey;

/// The linked sets of an engine, as far as their legs are there.
#[derive(Debug, Default)]
pub(crate) struct LinkedSets(BTreeMap<[u8; 32], Vec<Option<CircuitKey>>>);

impl LinkedSets {
    /// Whether a circuit may be the leg that its client wants it to be.
    pub(crate) fn takes(&self, link: &LinkRequest) -> bool {
        let set = self.0.get(&link.set);
        set.is_none_or(|set| {
            set.len() == usize::from(link.legs) && set[usize::from(link.leg)].is_none()
        })
    }

    /// A circuit is a leg, which the set [takes](Self::takes).
    pub(crate) fn add(&mut self, link: &LinkRequest, circuit: CircuitKey) {
        let set = self.0.entry(link.set);
        let set = set.or_insert_with(|| vec![None; link.legs.into()]);
        if let Some(place) = set.get_mut(usize::from(link.leg)) {
            *place = Some(circuit);
        }
    }

    /// The circuit of a leg is gone.
    pub(crate) fn remove(&mut self, link: &LinkRequest) {
        let Some(set) = self.0.get_mut(&link.set) else {
            return;
        };
        if let Some(place) = set.get_mut(usize::from(link.leg)) {
            *place = None;
        }
        if set.iter().all(Option::is_none) {
            self.0.remove(&link.set);
        }
    }

    /// The legs of a set in their order, once all are there.
    pub(crate) fn complete(&self, link: &LinkRequest) -> Option<Vec<CircuitKey>> {
        self.0.get(&link.set)?.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotmap::SlotMap;

    #[test]
    fn a_set_is_complete_with_its_last_leg_and_has_each_once() {
        let mut keys = SlotMap::with_key();
        let [first, second]: [CircuitKey; 2] = [keys.insert(()), keys.insert(())];
        let [set, other] = [[1; 32], [2; 32]];
        let leg = |set, leg, legs| LinkRequest { set, leg, legs };
        let mut sets = LinkedSets::default();
        sets.add(&leg(set, 1, 2), second);
        assert!(!sets.takes(&leg(set, 1, 2)), "it is there");
        assert!(!sets.takes(&leg(set, 0, 3)), "the set has two legs");
        assert!(sets.takes(&leg(set, 0, 2)) && sets.takes(&leg(other, 0, 2)));
        assert_eq!(sets.complete(&leg(set, 0, 2)), None);
        sets.add(&leg(set, 0, 2), first);
        assert_eq!(sets.complete(&leg(set, 1, 2)), Some(vec![first, second]));
        sets.remove(&leg(set, 0, 2));
        assert_eq!(sets.complete(&leg(set, 1, 2)), None);
        sets.remove(&leg(set, 1, 2));
        assert!(sets.0.is_empty());
    }
}
