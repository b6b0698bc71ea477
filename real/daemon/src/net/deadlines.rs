//! When an exit's connections are to be looked at.

use std::collections::BTreeSet;

use hopflow_units::Instant;
use slotmap::SecondaryMap;

use super::tokens::PlaceKey;

/// A time for each place, at most.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    in_turn: BTreeSet<(Instant, PlaceKey)>,
    of: SecondaryMap<PlaceKey, Instant>,
}

impl Deadlines {
    /// A place is due then, and not when it was before.
    pub(super) fn set(&mut self, place: PlaceKey, at: Instant) {
        if let Some(before) = self.of.insert(place, at) {
            self.in_turn.remove(&(before, place));
        }
        self.in_turn.insert((at, place));
    }

    /// A place is gone.
    pub(super) fn remove(&mut self, place: PlaceKey) {
        if let Some(at) = self.of.remove(place) {
            self.in_turn.remove(&(at, place));
        }
    }

    /// Takes the first place that is due by now.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<PlaceKey> {
        let (at, place) = *self.in_turn.first()?;
        if at > now {
            return None;
        }
        self.remove(place);
        Some(place)
    }

    /// When the next place is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.in_turn.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotmap::SlotMap;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_place_is_due_once_and_those_that_are_gone_never() {
        let mut keys = SlotMap::<PlaceKey, ()>::with_key();
        let [one, two, gone] = [(); 3].map(|()| keys.insert(()));
        let mut deadlines = Deadlines::default();
        for (place, seconds) in [(one, 1), (two, 2), (gone, 1), (one, 3)] {
            deadlines.set(place, at(seconds));
        }
        deadlines.remove(gone);
        deadlines.remove(gone);
        assert_eq!(deadlines.next(), Some(at(2)));
        assert_eq!(deadlines.take_due(at(1)), None);
        assert_eq!(deadlines.take_due(at(3)), Some(two));
        assert_eq!(deadlines.take_due(at(3)), Some(one));
        assert_eq!(deadlines.take_due(at(9)), None);
        assert!(deadlines.in_turn.is_empty() && deadlines.of.is_empty());
    }
}
