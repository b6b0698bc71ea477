//! Which circuit an exit's connections belong to, and who loses when there are too many.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hopflow_engine::CircuitKey;
use slotmap::SecondaryMap;

use super::tokens::PlaceKey;

/// How many connections circuits may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// All together.
    pub(super) all: usize,
    /// Each.
    pub(super) each: usize,
}

/// An exit's connections to targets, those that are being made included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connections {
    /// Those that are there.
    pub open: u64,
    /// Of these, those of the circuit that has most on its worker.
    pub most: u64,
    /// Those that were refused because their circuit had its share, or all were taken.
    pub refused: u64,
    /// Those of the circuit that had most, closed because all were taken.
    pub evicted: u64,
}

/// What a further connection of a circuit costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// Nothing.
    Free,
    /// This one has to go, the oldest of the circuit that has most.
    InPlaceOf(PlaceKey),
    /// It would be one too many of its circuit.
    None,
}

/// The circuits of connections.
#[derive(Debug, Default)]
pub(super) struct Owners {
    by_place: SecondaryMap<PlaceKey, CircuitKey>,
    /// Of each circuit, the oldest first.
    places: BTreeMap<CircuitKey, VecDeque<PlaceKey>>,
    /// How many places each circuit has, so that the one that has most is found at once.
    ranks: BTreeSet<(usize, CircuitKey)>,
}

impl Owners {
    pub(super) fn room(&self, circuit: CircuitKey, shares: Shares) -> Room {
        let own = self.places.get(&circuit).map_or(0, VecDeque::len);
        if own >= shares.each {
            return Room::None;
        }
        if self.by_place.len() < shares.all {
            return Room::Free;
        }
        let most = self.ranks.last().filter(|(most, _)| *most > own);
        let places = most.and_then(|(_, circuit)| self.places.get(circuit));
        let oldest = places.and_then(VecDeque::front);
        oldest.map_or(Room::None, |place| Room::InPlaceOf(*place))
    }

    /// How many connections there are, and how many of them the circuit has that has most.
    pub(super) fn counts(&self) -> (usize, usize) {
        let most = self.ranks.last().map_or(0, |(most, _)| *most);
        (self.by_place.len(), most)
    }

    pub(super) fn insert(&mut self, place: PlaceKey, circuit: CircuitKey) {
        self.by_place.insert(place, circuit);
        let places = self.places.entry(circuit).or_default();
        places.push_back(place);
        let count = places.len();
        self.rank(circuit, count - 1, count);
    }

    pub(super) fn remove(&mut self, place: PlaceKey) {
        let Some(circuit) = self.by_place.remove(place) else {
            return;
        };
        if let Some(places) = self.places.get_mut(&circuit) {
            let before = places.len();
            places.retain(|other| *other != place);
            let count = places.len();
            if count == 0 {
                self.places.remove(&circuit);
            }
            self.rank(circuit, before, count);
        }
    }

    fn rank(&mut self, circuit: CircuitKey, before: usize, count: usize) {
        self.ranks.remove(&(before, circuit));
        if count > 0 {
            self.ranks.insert((count, circuit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotmap::SlotMap;

    const SHARES: Shares = Shares { all: 5, each: 4 };

    #[test]
    fn the_circuit_that_has_most_loses_its_oldest() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let [many, one] = [(); 2].map(|()| circuits.insert(()));
        let mut keys = SlotMap::<PlaceKey, ()>::with_key();
        let places = [(); 5].map(|()| keys.insert(()));
        let mut owners = Owners::default();
        for place in &places[..4] {
            assert_eq!(owners.room(many, SHARES), Room::Free);
            owners.insert(*place, many);
        }
        assert_eq!(owners.room(many, SHARES), Room::None);
        owners.insert(places[4], one);
        assert_eq!(owners.counts(), (5, 4));
        assert_eq!(owners.room(one, SHARES), Room::InPlaceOf(places[0]));
        owners.remove(places[0]);
        owners.remove(places[0]);
        assert_eq!(owners.room(many, SHARES), Room::Free);
        for place in places {
            owners.remove(place);
        }
        assert!(owners.places.is_empty() && owners.by_place.is_empty() && owners.ranks.is_empty());
    }

    #[test]
    fn who_has_as_many_as_others_takes_nothing_from_them() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let [a, b] = [(); 2].map(|()| circuits.insert(()));
        let mut keys = SlotMap::<PlaceKey, ()>::with_key();
        let mut owners = Owners::default();
        for circuit in [a, b] {
            owners.insert(keys.insert(()), circuit);
        }
        let shares = Shares { all: 2, each: 4 };
        assert_eq!(owners.room(a, shares), Room::None);
    }
}
