//! The event engine: what happens next.
//!
//! Everything that acts by itself (a link, a node, a sampler, an application) owns one *slot* with
//! at most one pending time. A simulation of a thousand sources therefore never holds more than a
//! thousand times, and re-scheduling a source overwrites its old time.
//!
//! A tournament (winner) tree over the slots finds the earliest one (Knuth, *The Art of Computer
//! Programming* 3, section 5.4.1). In contrast to a heap it searches nothing: a slot is always the
//! same leaf, only the matches between that leaf and the root are played again, and none of them
//! is a branch to predict.
//!
//! # Order
//! Events are totally ordered by **(time, slot)**: of simultaneous events, that of the slot
//! added first comes first. A run is therefore a function of its inputs alone.

use std::fmt;
use std::hint::select_unpredictable;

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

/// A slot with its pending time: what a node of the tree holds.
///
/// The time stands next to the slot so that a match costs one access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: u64,
    slot: u32,
}

impl Entry {
    /// The earlier of two entries, by time and then by slot; compiled without a branch, as the
    /// winner of a match is what a processor cannot predict.
    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "a lazy operator would be a branch"
    )]
    fn earlier(self, other: Self) -> Self {
        let other_wins =
            (other.time < self.time) | ((other.time == self.time) & (other.slot < self.slot));
        Self {
            time: select_unpredictable(other_wins, other.time, self.time),
            slot: select_unpredictable(other_wins, other.slot, self.slot),
        }
    }
}

/// The pending times of all event sources and the earliest among them.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The tree as an array: node 1 is the root, the children of node `i` are `2 i` and `2 i + 1`,
    /// the second half are the leaves in the order of the slots. Idle slots pad the leaves to a
    /// power of two, at least two. An inner node repeats its earlier child. Siblings, which play
    /// against each other, are stored as a pair; of the first pair only the root is in use.
    pairs: Vec<[Entry; 2]>,
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
            pairs: Vec::new(),
            slots: u32::try_from(slots).expect("slots are numbered in 32 bits"),
        };
        agenda.rebuild(slots);
        agenda
    }

    /// Adds an idle slot behind all others; amortised constant time per slot.
    ///
    /// # Panics
    /// If there are already 2³¹ slots.
    pub fn add_slot(&mut self) -> Slot {
        let slot = Slot(self.slots);
        self.slots += 1;
        if self.slots() > self.leaves() {
            self.rebuild(self.slots());
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
    /// the earliest of its neighbourhood, and next to none if the time is what it was.
    ///
    /// # Panics
    /// If `slot` belongs to a larger agenda.
    #[inline]
    pub fn set(&mut self, slot: Slot, time: Option<Instant>) {
        let mut node = self.leaves() + slot.index();
        let mut winner = Entry {
            time: time.map_or(IDLE, Instant::as_nanos),
            slot: slot.0,
        };
        loop {
            let pair = &mut self.pairs[node / 2];
            let side = node % 2;
            // A match that ends as before leaves every match above it as it was.
            if pair[side] == winner {
                return;
            }
            pair[side] = winner;
            if node == 1 {
                return;
            }
            winner = winner.earlier(pair[1 - side]);
            node /= 2;
        }
    }

    /// The earliest event, which stays pending until its slot is [`set`](Self::set) again.
    #[inline]
    pub fn next(&self) -> Option<(Instant, Slot)> {
        let Entry { time, slot } = self.pairs[0][1];
        (time != IDLE).then_some((Instant::from_nanos(time), Slot(slot)))
    }

    /// The pending time of `slot`.
    ///
    /// # Panics
    /// If `slot` belongs to a larger agenda.
    #[inline]
    pub fn time_of(&self, slot: Slot) -> Option<Instant> {
        let leaf = self.leaves() + slot.index();
        let time = self.pairs[leaf / 2][leaf % 2].time;
        (time != IDLE).then_some(Instant::from_nanos(time))
    }

    /// As many as there are pairs.
    const fn leaves(&self) -> usize {
        self.pairs.len()
    }

    /// Makes room for `slots` slots and plays the whole tournament.
    fn rebuild(&mut self, slots: usize) {
        let leaves = slots.next_power_of_two().max(2);
        assert!(leaves <= 1 << 31, "an agenda has at most 2^31 slots");
        let idle = |slot| Entry { time: IDLE, slot };
        let mut pairs = vec![[idle(0); 2]; leaves / 2];
        pairs.extend_from_slice(&self.pairs[self.leaves() / 2..]);
        pairs.extend(
            (self.leaves() as u32..leaves as u32)
                .step_by(2)
                .map(|slot| [idle(slot), idle(slot + 1)]),
        );
        for node in (1..leaves).rev() {
            let [first, second] = pairs[node];
            pairs[node / 2][node % 2] = first.earlier(second);
        }
        self.pairs = pairs;
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
