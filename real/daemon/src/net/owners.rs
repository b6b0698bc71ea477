//! Which circuit an exit's connections belong to, and who loses when there are too many.

use std::collections::{BTreeMap, VecDeque};

use hopflow_engine::CircuitKey;
use slotmap::SecondaryMap;

use super::ranks::{Owner, Ranks};
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
    /// Those that were refused because their circuit had its share or began too many, all were taken, or too many names
    /// waited to be looked up.
    pub refused: u64,
    /// Those of a circuit that had most of the network that had most, closed because all were taken.
    pub evicted: u64,
}

/// What a further connection of a circuit costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// Nothing.
    Free,
    /// One of this owner has to go.
    InPlaceOf(Owner),
    /// It would be one too many of its circuit.
    None,
}

/// The owners of connections.
#[derive(Debug, Default)]
pub(super) struct Owners {
    by_place: SecondaryMap<PlaceKey, Owner>,
    /// Of each circuit, the oldest first.
    places: BTreeMap<CircuitKey, VecDeque<PlaceKey>>,
    /// How many places they have.
    ranks: Ranks,
}

impl Owners {
    pub(super) fn room(&self, owner: Owner, shares: Shares) -> Room {
        let own = self.places.get(&owner.circuit).map_or(0, VecDeque::len);
        if own >= shares.each {
            return Room::None;
        }
        if self.by_place.len() < shares.all {
            return Room::Free;
        }
        self.heavier(owner).map_or(Room::None, Room::InPlaceOf)
    }

    /// Who has more than this owner: of the network that has most the circuit that has most, or if no
    /// network has more than the owner's, of that one.
    pub(super) fn heavier(&self, owner: Owner) -> Option<Owner> {
        let own_network = self.ranks.of_network(owner.network);
        let heaviest = self.ranks.heaviest_network();
        let other = heaviest.filter(|(most, _)| *most > own_network);
        let network = other.map_or(owner.network, |(_, network)| network);
        let (most, circuit) = self.ranks.heaviest_of(network)?;
        let own = self.places.get(&owner.circuit).map_or(0, VecDeque::len);
        let more = other.is_some() || most > own;
        more.then_some(Owner { network, circuit })
    }

    /// The connections of a circuit, the oldest first.
    pub(super) fn of(&self, circuit: CircuitKey) -> impl Iterator<Item = PlaceKey> + '_ {
        self.places.get(&circuit).into_iter().flatten().copied()
    }

    /// Whose a connection is.
    pub(super) fn owner(&self, place: PlaceKey) -> Option<Owner> {
        self.by_place.get(place).copied()
    }

    /// How many connections there are, and how many of them the circuit has that has most.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.by_place.len(), self.ranks.most())
    }

    pub(super) fn insert(&mut self, place: PlaceKey, owner: Owner) {
        self.by_place.insert(place, owner);
        let places = self.places.entry(owner.circuit).or_default();
        places.push_back(place);
        let count = places.len();
        self.ranks.change(owner, count - 1, count);
    }

    pub(super) fn remove(&mut self, place: PlaceKey) {
        let Some(owner) = self.by_place.remove(place) else {
            return;
        };
        if let Some(places) = self.places.get_mut(&owner.circuit) {
            let before = places.len();
            places.retain(|other| *other != place);
            let count = places.len();
            if count == 0 {
                self.places.remove(&owner.circuit);
            }
            self.ranks.change(owner, before, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use hopflow_channel::Fingerprint;
    use hopflow_engine::Network;

    use super::*;
    use slotmap::SlotMap;

    const SHARES: Shares = Shares { all: 5, each: 4 };

    fn owner(circuit: CircuitKey, network: u8) -> Owner {
        let network = Network::of([10, 0, network, 1].into());
        Owner { network, circuit }
    }

    #[test]
    fn the_circuit_that_has_most_loses_one() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let [many, one] = [(); 2].map(|()| owner(circuits.insert(()), 1));
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
        assert_eq!(owners.room(one, SHARES), Room::InPlaceOf(many));
        assert_eq!(owners.of(many.circuit).next(), Some(places[0]));
        owners.remove(places[0]);
        owners.remove(places[0]);
        assert_eq!(owners.room(many, SHARES), Room::Free);
        for place in places {
            owners.remove(place);
        }
        assert!(owners.places.is_empty() && owners.by_place.is_empty() && owners.ranks.is_empty());
    }

    #[test]
    fn who_has_many_circuits_loses_before_who_has_one() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let mut circuit = |network| owner(circuits.insert(()), network);
        let (honest, spread) = (circuit(1), [(); 3].map(|()| circuit(2)));
        let mut keys = SlotMap::<PlaceKey, ()>::with_key();
        let mut owners = Owners::default();
        for owner in [honest, honest, spread[0], spread[1], spread[2]] {
            owners.insert(keys.insert(()), owner);
        }
        let gone = owners.room(honest, SHARES);
        assert!(matches!(gone, Room::InPlaceOf(owner) if spread.contains(&owner)));
        // Whoever is in the network that has most takes one from there.
        let further = circuit(2);
        let gone = owners.room(further, SHARES);
        assert!(matches!(gone, Room::InPlaceOf(owner) if spread.contains(&owner)));
        assert_eq!(owners.room(spread[0], SHARES), Room::None);
    }

    #[test]
    fn a_relay_has_eight_times_the_share_of_a_network() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let mut keys = SlotMap::<PlaceKey, ()>::with_key();
        let mut owners = Owners::default();
        let relay = Network::of_relay(Fingerprint::from_bytes([7; 32]));
        let served = [(); 8].map(|()| Owner {
            network: relay,
            circuit: circuits.insert(()),
        });
        for owner in served {
            owners.insert(keys.insert(()), owner);
        }
        let network = owner(circuits.insert(()), 2);
        owners.insert(keys.insert(()), network);
        let shares = Shares { all: 9, each: 4 };
        assert_eq!(owners.room(network, shares), Room::None);
        assert_eq!(owners.room(served[0], shares), Room::None);
        owners.insert(keys.insert(()), network);
        assert_eq!(owners.room(served[0], shares), Room::InPlaceOf(network));
    }

    #[test]
    fn who_has_as_many_as_others_takes_nothing_from_them() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let [a, b] = [1, 2].map(|network| owner(circuits.insert(()), network));
        let mut keys = SlotMap::<PlaceKey, ()>::with_key();
        let mut owners = Owners::default();
        for owner in [a, b] {
            owners.insert(keys.insert(()), owner);
        }
        let shares = Shares { all: 2, each: 4 };
        assert_eq!(owners.room(a, shares), Room::None);
    }
}
