//! Streams that an exit refused, until their clients have had time to read why.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_engine::CircuitKey;
use hopflow_units::Instant;

use super::ranks::{Owner, Ranks};

/// Streams that are kept at most.
const MOST: usize = 4096;

/// Streams that are to be closed later: who has most of them has his closed first if there are too many.
#[derive(Debug)]
pub(super) struct Ending<S> {
    /// By their numbers, the oldest first.
    streams: BTreeMap<u64, Refused<S>>,
    /// Their numbers.
    numbers: BTreeMap<S, u64>,
    /// The numbers of each circuit's, the oldest first.
    of: BTreeMap<CircuitKey, BTreeSet<u64>>,
    /// How many they have.
    ranks: Ranks,
    last_number: u64,
}

/// A stream that is to be closed.
#[derive(Debug)]
struct Refused<S> {
    stream: S,
    owner: Owner,
    until: Instant,
}

impl<S> Default for Ending<S> {
    fn default() -> Self {
        Self {
            streams: BTreeMap::new(),
            numbers: BTreeMap::new(),
            of: BTreeMap::new(),
            ranks: Ranks::default(),
            last_number: 0,
        }
    }
}

impl<S: Copy + Ord> Ending<S> {
    /// Adds a stream that is to be closed then. Returns one that is to be closed at once, which is another, if there
    /// would be too many: of the network that has most the circuit that has most, its oldest.
    pub(super) fn add(&mut self, stream: S, owner: Owner, until: Instant) -> Option<S> {
        let closed = self.make_room();
        self.last_number += 1;
        let number = self.last_number;
        let refused = Refused {
            stream,
            owner,
            until,
        };
        self.streams.insert(number, refused);
        self.numbers.insert(stream, number);
        let own = self.of.entry(owner.circuit).or_default();
        own.insert(number);
        let count = own.len();
        self.ranks.change(owner, count - 1, count);
        closed
    }

    /// Makes room for one more.
    fn make_room(&mut self) -> Option<S> {
        if self.streams.len() < MOST {
            return None;
        }
        let (_, network) = self.ranks.heaviest_network()?;
        let (_, circuit) = self.ranks.heaviest_of(network)?;
        let number = *self.of.get(&circuit)?.first()?;
        self.remove(number)
    }

    /// A stream has ended: it is not to be closed any more. Nothing happens if it was not to be.
    pub(super) fn forget(&mut self, stream: S) {
        if let Some(number) = self.numbers.get(&stream).copied() {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u64) -> Option<S> {
        let Refused { stream, owner, .. } = self.streams.remove(&number)?;
        self.numbers.remove(&stream);
        if let Some(own) = self.of.get_mut(&owner.circuit) {
            let before = own.len();
            own.remove(&number);
            let count = own.len();
            if count == 0 {
                self.of.remove(&owner.circuit);
            }
            self.ranks.change(owner, before, count);
        }
        Some(stream)
    }

    /// Takes the oldest, if it is to be closed by now.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<S> {
        let (number, first) = self.streams.first_key_value()?;
        if first.until > now {
            return None;
        }
        let number = *number;
        self.remove(number)
    }

    /// When the next one is to be closed.
    pub(super) fn next(&self) -> Option<Instant> {
        let first = self.streams.first_key_value();
        first.map(|(_, refused)| refused.until)
    }
}

#[cfg(test)]
mod tests {
    use hopflow_engine::Network;
    use slotmap::SlotMap;

    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// Owners of a circuit each, in networks of these numbers.
    fn owners<const N: usize>(networks: [u8; N]) -> [Owner; N] {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        networks.map(|network| Owner {
            network: Network::of([10, 0, network, 1].into()),
            circuit: circuits.insert(()),
        })
    }

    fn assert_empty<S>(ending: &Ending<S>) {
        assert!(ending.streams.is_empty() && ending.numbers.is_empty());
        assert!(ending.of.is_empty() && ending.ranks.is_empty());
    }

    #[test]
    fn who_has_many_refused_loses_them_and_nobody_else() {
        let [honest, flooding, neighbour] = owners([1, 2, 2]);
        let mut ending = Ending::default();
        assert_eq!(ending.add(0, honest, at(10)), None);
        assert_eq!(ending.add(1, neighbour, at(11)), None);
        for stream in 2..MOST {
            assert_eq!(ending.add(stream, flooding, at(20)), None);
        }
        for stream in MOST..2 * MOST {
            let closed = ending.add(stream, flooding, at(20));
            assert_eq!(
                closed,
                Some(stream - MOST + 2),
                "the oldest of the same circuit"
            );
        }
        assert_eq!(ending.add(2 * MOST, honest, at(21)), Some(MOST + 2));
        assert_eq!(ending.next(), Some(at(10)));
        assert_eq!(ending.take_due(at(9)), None);
        let due = [(); 3].map(|()| ending.take_due(at(19)));
        assert_eq!(due, [Some(0), Some(1), None]);
        while ending.take_due(at(21)).is_some() {}
        assert_eq!(ending.next(), None);
        assert_empty(&ending);
    }

    #[test]
    fn streams_that_have_ended_keep_no_places_from_others() {
        let [one, other] = owners([1, 2]);
        let mut ending = Ending::default();
        for stream in 0..3 * MOST {
            assert_eq!(ending.add(stream, one, at(10)), None);
            ending.forget(stream);
            ending.forget(stream);
        }
        assert_empty(&ending);
        for stream in 0..MOST {
            assert_eq!(ending.add(stream, one, at(10)), None);
        }
        for stream in [0, MOST / 2] {
            ending.forget(stream);
        }
        assert_eq!(ending.add(MOST, other, at(11)), None);
        assert_eq!(ending.add(MOST + 1, one, at(11)), None);
        assert_eq!(
            ending.add(MOST + 2, other, at(11)),
            Some(1),
            "the oldest left"
        );
    }

    #[test]
    fn a_newcomer_is_not_the_one_that_is_closed_where_all_have_as_many() {
        let mut circuits = SlotMap::<CircuitKey, ()>::with_key();
        let mut ending = Ending::default();
        for stream in 0..2 * MOST {
            let owner = Owner {
                network: Network::of([10, (stream >> 8) as u8, stream as u8, 1].into()),
                circuit: circuits.insert(()),
            };
            let closed = ending.add(stream, owner, at(10));
            assert_eq!(closed.is_some(), stream >= MOST);
            assert_ne!(closed, Some(stream));
        }
    }
}
