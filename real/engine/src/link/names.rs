//! The names of circuits on a link.

use hopflow_overlay::Direction;
use hopflow_units::CircuitId as Name;

use crate::types::CircuitKey;

/// Names that pass before one is used again, so that late frames find no other circuit.
const QUARANTINE: usize = 1024;
/// Names that a link has; zero is left out.
const NAMES: usize = u16::MAX as usize;

/// A circuit by its name on a link, and in which direction its cells leave there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) circuit: CircuitKey,
    pub(crate) leaving: Direction,
}

/// The names of circuits on a link.
#[derive(Debug, Default)]
pub(crate) struct Names {
    table: Vec<Option<Named>>,
    used: usize,
    last: usize,
}

impl Names {
    #[inline]
    pub(crate) fn get(&self, name: Name) -> Option<Named> {
        self.table.get(name.index()).copied().flatten()
    }

    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    /// The memory that the names take, in bytes.
    pub(crate) const fn memory(&self) -> u64 {
        (self.table.capacity() * size_of::<Option<Named>>()) as u64
    }

    /// All circuits with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name, CircuitKey)> + '_ {
        let named = |(name, named): (usize, &Option<Named>)| {
            named.map(|named| (Name::new(name as u16), named.circuit))
        };
        self.table.iter().enumerate().filter_map(named)
    }

    /// The circuits whose turn it is, of `turns`, with their names.
    pub(crate) fn of_turn(
        &self,
        turn: usize,
        turns: usize,
    ) -> impl Iterator<Item = (Name, CircuitKey)> + '_ {
        let places = (turn..self.table.len()).step_by(turns);
        places.filter_map(|place| {
            let named = self.table[place]?;
            Some((Name::new(place as u16), named.circuit))
        })
    }

    /// Whether a neighbour that gives names in rotation may have come to this one. Others would
    /// make the table as large as they like; twice is granted, for names that are just given back.
    pub(crate) fn expects(&self, name: Name) -> bool {
        name.index() <= 2 * (2 * (self.used + 1)).clamp(QUARANTINE, NAMES)
    }

    /// Gives a circuit the name that a neighbour chose, which must be free.
    pub(crate) fn insert(&mut self, name: Name, named: Named) {
        if self.table.len() <= name.index() {
            self.table.resize(name.index() + 1, None);
        }
        self.used += usize::from(self.table[name.index()].is_none());
        self.table[name.index()] = Some(named);
    }

    /// Gives a circuit a name that has not been used for long; `None` if there is none.
    pub(crate) fn choose(&mut self, named: Named) -> Option<Name> {
        let most = (2 * self.used).clamp(QUARANTINE, NAMES);
        for _ in 0..most {
            self.last = self.last % most + 1;
            let name = Name::new(self.last as u16);
            if self.get(name).is_none() {
                self.insert(name, named);
                return Some(name);
            }
        }
        None
    }

    pub(crate) fn remove(&mut self, name: Name) {
        if let Some(place) = self.table.get_mut(name.index()) {
            self.used -= usize::from(place.take().is_some());
        }
        if self.used == 0 {
            self.table = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named() -> Named {
        Named {
            circuit: CircuitKey::default(),
            leaving: Direction::Forward,
        }
    }

    #[test]
    fn a_name_is_not_used_again_soon() {
        let mut names = Names::default();
        let first = names.choose(named()).unwrap();
        names.remove(first);
        for _ in 1..QUARANTINE {
            let name = names.choose(named()).unwrap();
            assert_ne!(name, first);
            names.remove(name);
        }
        assert_eq!(names.choose(named()), Some(first));
    }

    #[test]
    fn every_name_can_be_given_once() {
        let mut names = Names::default();
        let given: std::collections::BTreeSet<Name> =
            std::iter::from_fn(|| names.choose(named())).collect();
        assert_eq!((given.len(), names.len()), (NAMES, NAMES));
        assert!(!given.contains(&Name::new(0)));
    }

    #[test]
    fn a_neighbour_cannot_make_the_table_large_by_one_high_name() {
        let names = Names::default();
        assert!(names.expects(Name::new(2 * QUARANTINE as u16)));
        assert!(!names.expects(Name::new(u16::MAX)));
    }
}
