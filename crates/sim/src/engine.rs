//! The event engine: what happens next.
//!
//! Everything that acts by itself (a link, a node, a sampler, an application) owns one *slot* with
//! at most one pending time. A simulation of a thousand sources therefore never holds more than a
//! thousand times, and re-scheduling a source overwrites its old time.
//!
//! A tournament (winner) tree over the slots finds the earliest one (Knuth, *The Art of Computer
//! Programming* 3, section 5.4.1). In contrast to a heap it moves nothing: the slots stay where
//! they are and only the indices of winners on the way from a slot to the root are played again.
//!
//! # Order
//! Events are totally ordered by **(time, slot)**: of simultaneous events, that of the slot
//! added first comes first. A run is therefore a function of its inputs alone.

use std::fmt;

use hopflow_units::Instant;

/// The place of one event source in an [`Agenda`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// The slot that was the `n`-th to be added, counted from zero.
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// The position in the order of adding, as an index into a dense table of event sources.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}", self.0)
    }
}

/// The pending time of a slot that waits for nothing.
const IDLE: u64 = Instant::FAR_FUTURE.as_nanos();

/// The pending times of all event sources and the earliest among them.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Pending time per slot; idle slots pad the table to a power of two, at least two.
    times: Vec<u64>,
    /// The tree as an array: node 1 is the root, the children of node `i` are `2 i` and `2 i + 1`,
    /// and leaf `times.len() + s` is slot `s`. Each node holds the winning slot of its subtree.
    winners: Vec<u32>,
    /// Slots in use.
    slots: u32,
}

impl Agenda {
    /// An agenda with `slots` idle slots, numbered from zero.
    ///
    /// # Panics
    /// If there are more than 2³¹ slots.
    pub fn new(slots: usize) -> Self {
        let mut agenda = Self {
            times: Vec::new(),
            winners: Vec::new(),
            slots: u32::try_from(slots).expect("slots are numbered in 32 bits"),
        };
        agenda.grow(slots);
        agenda
    }

    /// Adds an idle slot behind all others; amortised constant time per slot.
    ///
    /// # Panics
    /// If there are already 2³¹ slots.
    pub fn add_slot(&mut self) -> Slot {
        let slot = Slot(self.slots);
        self.slots += 1;
        if self.slots as usize > self.times.len() {
            self.grow(self.slots as usize);
        }
        slot
    }

    /// Number of slots.
    pub const fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Replaces the pending time of `slot`; `None`, as [`Instant::FAR_FUTURE`], means idle.
    ///
    /// Takes time logarithmic in the number of slots, less if the slot neither was nor becomes
    /// the earliest of its neighbourhood.
    ///
    /// # Panics
    /// If `slot` belongs to a larger agenda.
    #[inline]
    pub fn set(&mut self, slot: Slot, time: Option<Instant>) {
        let key = time.map_or(IDLE, Instant::as_nanos);
        let held = &mut self.times[slot.index()];
        if *held == key {
            return;
        }
        *held = key;
        self.replay(slot);
    }

    /// The earliest event, which stays pending until its slot is [`set`](Self::set) again.
    #[inline]
    pub fn next(&self) -> Option<(Instant, Slot)> {
        let slot = Slot(self.winners[1]);
        self.time_of(slot).map(|time| (time, slot))
    }

    /// The pending time of `slot`.
    ///
    /// # Panics
    /// If `slot` belongs to a larger agenda.
    #[inline]
    pub fn time_of(&self, slot: Slot) -> Option<Instant> {
        let key = self.times[slot.index()];
        (key != IDLE).then_some(Instant::from_nanos(key))
    }

    /// Plays the matches between `slot` and the root again.
    #[inline]
    fn replay(&mut self, slot: Slot) {
        let mut node = self.times.len() + slot.index();
        while node > 1 {
            node /= 2;
            let winner = self.winner_of(node);
            let before = std::mem::replace(&mut self.winners[node], winner);
            // A match that `slot` neither won nor wins is decided by times that did not change,
            // and so is every match above it.
            if before != slot.0 && winner != slot.0 {
                return;
            }
        }
    }

    /// The winner between the two children of `node`; of equals the left one, whose slots are lower.
    #[inline]
    fn winner_of(&self, node: usize) -> u32 {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        if self.times[right as usize] < self.times[left as usize] {
            right
        } else {
            left
        }
    }

    /// Makes room for `slots` slots and plays the whole tournament.
    fn grow(&mut self, slots: usize) {
        let leaves = slots.next_power_of_two().max(2);
        assert!(leaves <= 1 << 31, "an agenda has at most 2^31 slots");
        self.times.resize(leaves, IDLE);
        self.winners.clear();
        self.winners.resize(leaves, 0);
        self.winners.extend(0..leaves as u32);
        for node in (1..leaves).rev() {
            self.winners[node] = self.winner_of(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// All events in order, each taken off the agenda when it is seen.
    fn drain(agenda: &mut Agenda) -> Vec<(u64, usize)> {
        let mut seen = Vec::new();
        while let Some((time, slot)) = agenda.next() {
            seen.push((time.as_nanos(), slot.index()));
            agenda.set(slot, None);
        }
        seen
    }

    #[test]
    fn an_agenda_without_pending_times_has_no_next_event() {
        assert_eq!(Agenda::new(0).next(), None);
        assert_eq!(Agenda::new(5).next(), None);
    }

    #[test]
    fn simultaneous_events_come_in_the_order_of_their_slots() {
        let mut agenda = Agenda::new(6);
        for (slot, time) in [(5, 7), (3, 7), (4, 2), (0, 7), (1, 9)] {
            agenda.set(Slot::new(slot), Some(at(time)));
        }
        let order = [(2, 4), (7, 0), (7, 3), (7, 5), (9, 1)];
        assert_eq!(drain(&mut agenda), order);
    }

    #[test]
    fn a_slot_holds_only_its_latest_time() {
        let mut agenda = Agenda::new(3);
        agenda.set(Slot::new(1), Some(at(4)));
        agenda.set(Slot::new(1), Some(at(8)));
        assert_eq!(agenda.time_of(Slot::new(1)), Some(at(8)));
        agenda.set(Slot::new(2), Some(at(9)));
        agenda.set(Slot::new(1), Some(Instant::FAR_FUTURE));
        assert_eq!(agenda.time_of(Slot::new(1)), None);
        assert_eq!(drain(&mut agenda), [(9, 2)]);
    }

    #[test]
    fn slots_can_be_added_while_others_are_pending() {
        let mut agenda = Agenda::new(0);
        for n in 0..100_u64 {
            let slot = agenda.add_slot();
            assert_eq!(slot.index() as u64, n);
            agenda.set(slot, Some(at(1000 - n)));
        }
        assert_eq!(agenda.slots(), 100);
        let expected: Vec<_> = (0..100).map(|n| (901 + n, 99 - n as usize)).collect();
        assert_eq!(drain(&mut agenda), expected);
    }

    #[test]
    fn the_earliest_slot_agrees_with_a_linear_search_after_any_change() {
        for slots in [1, 2, 3, 7, 64, 100] {
            let mut agenda = Agenda::new(slots);
            let mut model: Vec<Option<Instant>> = vec![None; slots];
            let mut state = slots as u64;
            for _ in 0..5_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let slot = (state >> 33) as usize % slots;
                // Few distinct times, so that ties are frequent; one in eight is idle.
                let time = (state >> 61 > 0).then(|| at((state >> 40) % 50));
                agenda.set(Slot::new(slot as u32), time);
                model[slot] = time;
                let earliest = (0..slots).filter_map(|s| Some((model[s]?, s))).min();
                let next = agenda.next().map(|(time, slot)| (time, slot.index()));
                assert_eq!(next, earliest);
            }
        }
    }
}
