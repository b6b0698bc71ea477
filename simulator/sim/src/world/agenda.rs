//! What a partition has to do in which window of time.

use std::collections::{BTreeMap, VecDeque};

use super::outbox::Arrival;

/// Windows that are found without a search: most packets arrive soon.
const SOON: u64 = 128;

/// What is to be done in one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Lanes to be run, apart from those for which packets arrive; a lane may stand in several
    /// windows, of which the first counts.
    pub(crate) lanes: Vec<u32>,
    /// Packets that can be delivered in this window at the earliest.
    pub(crate) arrivals: Vec<Arrival>,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.arrivals.is_empty()
    }
}

/// All windows in which something is to be done, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The number of the first of the windows that come soon.
    base: u64,
    soon: VecDeque<Work>,
    later: BTreeMap<u64, Work>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            base: 0,
            soon: (0..SOON).map(|_| Work::default()).collect(),
            later: BTreeMap::new(),
        }
    }
}

impl Agenda {
    /// What is to be done in a window; the caller adds to it.
    #[inline]
    pub(crate) fn work_of(&mut self, window: u64) -> &mut Work {
        match self.place(window) {
            Some(place) => &mut self.soon[place],
            None => self.later.entry(window).or_default(),
        }
    }

    /// Where a window stands among those that come soon.
    #[inline]
    fn place(&self, window: u64) -> Option<usize> {
        let place = window.wrapping_sub(self.base);
        (place < SOON).then_some(place as usize)
    }

    /// The first window in which something is to be done.
    pub(crate) fn first(&self) -> Option<u64> {
        let soon = self.soon.iter().position(|work| !work.is_empty());
        let soon = soon.map(|place| self.base + place as u64);
        let later = self.later.keys().next().copied();
        soon.into_iter().chain(later).min()
    }

    /// Takes what is to be done in a window; those before it are over.
    pub(crate) fn take(&mut self, window: u64) -> Work {
        let found = match self.place(window) {
            Some(place) => std::mem::take(&mut self.soon[place]),
            None => self.later.remove(&window).unwrap_or_default(),
        };
        let passed = (window + 1).saturating_sub(self.base);
        let turn = passed.min(SOON) as usize;
        debug_assert!(
            self.soon.iter().take(turn).all(Work::is_empty),
            "a window was passed over"
        );
        self.soon.rotate_left(turn);
        self.base += passed;
        while let Some((&next, _)) = self.later.first_key_value()
            && let Some(place) = self.place(next)
            && let Some(work) = self.later.remove(&next)
        {
            self.soon[place] = work;
        }
        found
    }

    /// What is to be done in all windows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Work> {
        self.soon.iter().chain(self.later.values())
    }

    /// What is to be done in all windows, in their order.
    pub(crate) fn into_works(self) -> impl Iterator<Item = Work> {
        self.soon.into_iter().chain(self.later.into_values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_come_in_their_order_however_far_they_are() {
        let mut agenda = Agenda::default();
        let windows = [3, 140, 129, 1, 1000, 128, 5000, 130];
        for window in windows {
            agenda.work_of(window).lanes.push(window as u32);
        }
        let mut taken = Vec::new();
        while let Some(window) = agenda.first() {
            assert_eq!(agenda.take(window).lanes, [window as u32]);
            taken.push(window);
            if window == 140 {
                agenda.work_of(141).lanes.push(141);
                agenda.work_of(400).lanes.push(400);
            }
        }
        assert_eq!(taken, [1, 3, 128, 129, 130, 140, 141, 400, 1000, 5000]);
    }

    #[test]
    fn a_window_before_those_that_come_soon_is_not_lost() {
        let mut agenda = Agenda::default();
        agenda.work_of(9).lanes.push(9);
        agenda.take(9);
        agenda.work_of(4).lanes.push(4);
        agenda.work_of(12).lanes.push(12);
        assert_eq!(agenda.first(), Some(4));
        assert_eq!(agenda.take(4).lanes, [4]);
        assert_eq!(agenda.first(), Some(12));
    }
}
