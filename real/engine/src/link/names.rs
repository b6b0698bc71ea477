//! The names of circuits on a link.

use hopflow_overlay::{Direction, FlowId};
use hopflow_units::CircuitId as Name;

use crate::types::CircuitKey;

/// Names that are given before one that came back is given again, so that late frames find no other
/// circuit.
const QUARANTINE: usize = 1024;
/// Names that a link has; zero is left out.
const NAMES: usize = u16::MAX as usize;

/// A circuit by its name on a link, and in which direction its cells leave there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) circuit: CircuitKey,
    pub(crate) leaving: Direction,
}

/// A name's place.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// No circuit had it.
    New,
    /// No circuit has it, since so many names had been given.
    Free(u32),
    Taken {
        named: Named,
        /// Whether both ends know of it.
        agreed: bool,
    },
}

/// The names of circuits on a link. One end gives them all.
#[derive(Debug, Default)]
pub(crate) struct Names {
    table: Vec<Place>,
    used: usize,
    /// How many of them both ends know of.
    agreed: usize,
    /// The most that were known to both at once: at the end that gives names never more than at the other one.
    peak: usize,
    /// The last one that we gave.
    last: usize,
    /// How many we gave, modulo 2³².
    given: u32,
}

impl Names {
    #[inline]
    pub(crate) fn get(&self, name: Name) -> Option<Named> {
        match self.table.get(name.index()) {
            Some(Place::Taken { named, .. }) => Some(*named),
            _ => None,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    /// The memory that the names take, in bytes, also in the node, which has a table of flows that is as
    /// long.
    pub(crate) const fn memory(&self) -> u64 {
        let place = size_of::<Place>() + size_of::<Option<FlowId>>();
        (self.table.capacity() * place) as u64
    }

    /// All circuits with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name, CircuitKey)> + '_ {
        self.of_turn(0, 1)
    }

    /// The circuits whose turn it is, of `turns`, with their names.
    pub(crate) fn of_turn(
        &self,
        turn: usize,
        turns: usize,
    ) -> impl Iterator<Item = (Name, CircuitKey)> + '_ {
        let places = (turn..self.table.len()).step_by(turns);
        places.filter_map(|place| {
            let name = Name::new(place as u16);
            Some((name, self.get(name)?.circuit))
        })
    }

    /// Whether a neighbour that gives names in rotation may have come to this one. Others would
    /// make the table as large as they like; twice is granted, for names that are just given back.
    pub(crate) fn expects(&self, name: Name) -> bool {
        name.index() <= 2 * (2 * (self.peak + 1)).clamp(QUARANTINE, NAMES)
    }

    /// Gives a circuit the name that a neighbour chose, which must be free.
    pub(crate) fn insert(&mut self, name: Name, named: Named) {
        self.take(name, named);
        self.agree(name);
    }

    fn take(&mut self, name: Name, named: Named) {
        self.remove(name);
        if self.table.len() <= name.index() {
            self.table.resize(name.index() + 1, Place::New);
        }
        self.used += 1;
        let agreed = false;
        self.table[name.index()] = Place::Taken { named, agreed };
    }

    /// The neighbour has taken a circuit of the name that we gave it.
    pub(crate) fn agree(&mut self, name: Name) {
        if let Some(Place::Taken { agreed, .. }) = self.table.get_mut(name.index())
            && !std::mem::replace(agreed, true)
        {
            self.agreed += 1;
            self.peak = self.peak.max(self.agreed);
        }
    }

    /// Gives a circuit a name: the next in rotation that was not given back while the last
    /// [`QUARANTINE`] were given, or if there is none, the one that was given back first. `None` if
    /// all are taken that the neighbour [expects](Names::expects).
    pub(crate) fn choose(&mut self, named: Named) -> Option<Name> {
        // Twice as many as were used at once, and those that rest: what the neighbour has not heard of may be lost.
        let most = (2 * self.peak + QUARANTINE).clamp(2 * QUARANTINE, NAMES);
        let age = |place: usize| match self.table.get(place) {
            None | Some(Place::New) => Some(u32::MAX),
            Some(Place::Free(since)) => Some(self.given.wrapping_sub(*since)),
            Some(Place::Taken { .. }) => None,
        };
        let mut rotation = (0..most).map(|step| (self.last + step) % most + 1);
        let rested = |place: &usize| age(*place).is_some_and(|age| age as usize >= QUARANTINE);
        let place = rotation.find(rested).or_else(|| {
            let free = (1..=most).filter_map(|place| Some((age(place)?, place)));
            free.max_by_key(|(age, _)| *age).map(|(_, place)| place)
        })?;
        let name = Name::new(place as u16);
        self.last = place;
        self.given = self.given.wrapping_add(1);
        self.take(name, named);
        Some(name)
    }

    pub(crate) fn remove(&mut self, name: Name) {
        let Some(Place::Taken { agreed, .. }) = self.table.get(name.index()) else {
            return;
        };
        self.agreed -= usize::from(*agreed);
        self.used -= 1;
        self.table[name.index()] = Place::Free(self.given);
        // Who gives no names need not know which rest.
        if self.used == 0 && self.given == 0 {
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

    /// Gives a name of which the neighbour hears.
    fn agreed(names: &mut Names) -> Option<Name> {
        let name = names.choose(named())?;
        names.agree(name);
        Some(name)
    }

    /// Gives names and gives them back at once, and returns how many it takes until `name` comes up.
    fn given_before(names: &mut Names, name: Name) -> usize {
        let others = std::iter::from_fn(|| {
            let given = names.choose(named())?;
            names.remove(given);
            Some(given)
        });
        others.take_while(|given| *given != name).count()
    }

    #[test]
    fn a_name_is_not_given_again_soon() {
        let mut names = Names::default();
        let first = names.choose(named()).unwrap();
        names.remove(first);
        assert!(given_before(&mut names, first) >= QUARANTINE);
    }

    #[test]
    fn a_name_that_was_used_for_long_is_not_given_again_soon() {
        let mut names = Names::default();
        let first = names.choose(named()).unwrap();
        // Other names pass until it would be its turn.
        while names.last != 2 * QUARANTINE {
            let name = names.choose(named()).unwrap();
            names.remove(name);
        }
        names.remove(first);
        assert!(given_before(&mut names, first) >= QUARANTINE);
    }

    #[test]
    fn names_that_come_back_together_are_not_given_again_soon() {
        let (mut names, mut far) = (Names::default(), Names::default());
        let given: Vec<Name> = (0..3000).filter_map(|_| agreed(&mut names)).collect();
        assert_eq!(given.len(), 3000);
        for name in &given {
            assert!(far.expects(*name));
            far.insert(*name, named());
        }
        for name in &given {
            names.remove(*name);
            far.remove(*name);
        }
        for turn in 0..QUARANTINE {
            let name = names.choose(named()).unwrap();
            assert!(
                !given.contains(&name),
                "{name:?} is given again, turn {turn}"
            );
            assert!(far.expects(name), "the neighbour refuses {name:?}");
        }
    }

    #[test]
    fn the_neighbour_takes_names_after_others_of_which_it_never_heard() {
        let (mut names, mut far) = (Names::default(), Names::default());
        // Frames that wait for a handshake are so many.
        let given: Vec<Name> = (0..5000).filter_map(|_| names.choose(named())).collect();
        for name in &given[..1024] {
            assert!(far.expects(*name));
            far.insert(*name, named());
            names.agree(*name);
        }
        for name in &given {
            names.remove(*name);
            far.remove(*name);
        }
        for turn in 0..5000 {
            let name = agreed(&mut names).unwrap();
            assert!(
                far.expects(name),
                "the neighbour refuses {name:?}, turn {turn}"
            );
            names.remove(name);
        }
    }

    #[test]
    fn where_all_names_rest_the_first_that_came_back_is_given() {
        let mut names = Names::default();
        while agreed(&mut names).is_some() {}
        let [one, other, later] = [5, 77, 9].map(Name::new);
        names.remove(one);
        names.remove(other);
        let first = names.choose(named()).unwrap();
        names.remove(later);
        let second = names.choose(named()).unwrap();
        assert!([(one, other), (other, one)].contains(&(first, second)));
        assert_eq!(names.choose(named()), Some(later));
        assert_eq!(names.choose(named()), None);
    }

    #[test]
    fn every_name_can_be_given_once() {
        let mut names = Names::default();
        let given: std::collections::BTreeSet<Name> =
            std::iter::from_fn(|| agreed(&mut names)).collect();
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
