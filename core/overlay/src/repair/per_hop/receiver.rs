//! The receiving side of a hop: every cell once and in order.

use std::collections::BTreeMap;

use hopflow_tcp::{Range, RangeSet};
use hopflow_wire::{Arrived, CellSeq, Feedback, Sack};

use crate::circuit::CellQueue;

/// Restores the order of a flow's cells and bounds what it holds.
#[derive(Clone, Debug)]
pub(crate) struct Receiver<P> {
    expected: u64,
    held: BTreeMap<u64, P>,
    out_of_order: u8,
    /// Excess cells, less the cells accepted since: a level, so that no pattern of sending stays
    /// below it for long.
    excess: u64,
    /// What is told of the cells that are held, where it is.
    told: Option<Box<Told>>,
}

/// Which cells are held, and which arrived last (RFC 2018, section 4).
#[derive(Clone, Debug, Default)]
struct Told {
    held: RangeSet,
    /// One cell of each of the ranges to which cells came last, newest first: some more than are told,
    /// for ranges grow together.
    newest: Vec<u64>,
}

impl Told {
    /// Notes that a cell is held.
    fn hold(&mut self, seq: u64) {
        let range = self.held.insert(Range::new(seq, seq + 1));
        self.newest
            .retain(|cell| !(range.start..range.end).contains(cell));
        self.newest.truncate(2 * Sack::RANGES);
        self.newest.insert(0, seq);
    }

    /// Notes that the cells before `expected` are held no longer.
    fn release(&mut self, expected: u64) {
        self.held.remove_below(expected);
        self.newest.retain(|cell| *cell >= expected);
    }

    /// The ranges, counted from `expected`, of which some cell is near enough.
    fn arrived(&self, expected: u64) -> Option<Arrived> {
        let mut arrived = Arrived::default();
        let ranges = self.newest.iter().filter_map(|cell| {
            let range = self.held.holding(*cell)?;
            let start = u16::try_from(range.start - expected).ok()?;
            Some((start, (range.end - expected).min(u16::MAX.into()) as u16))
        });
        let mut told = 0;
        for (place, range) in arrived.iter_mut().zip(ranges) {
            *place = range;
            told += 1;
        }
        (told > 0).then_some(arrived)
    }
}

/// What became of an arriving cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accepted {
    /// So many cells, this one and any it completes, went to the queue.
    InOrder(u64),
    /// It waits for those before it, of which so many were not known to be missing before.
    Held(u64),
    /// It had arrived before.
    Duplicate,
    /// It does not fit the queue limit and was dropped.
    Excess,
}

impl<P> Default for Receiver<P> {
    fn default() -> Self {
        Self {
            expected: 0,
            held: BTreeMap::new(),
            out_of_order: 0,
            excess: 0,
            told: None,
        }
    }
}

impl<P: Clone> Receiver<P> {
    /// A receiver that can say which cells it holds, if `selective`.
    pub(crate) fn new(selective: bool) -> Self {
        Self {
            told: selective.then(Box::default),
            ..Self::default()
        }
    }

    /// Takes a cell; `limit` cells beyond those that departed from `queue` are acceptable.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        seq: CellSeq,
        cell: P,
        queue: &mut CellQueue<P>,
        limit: u64,
    ) -> Accepted {
        let seq = seq.widen(self.expected);
        if seq < self.expected {
            return Accepted::Duplicate;
        }
        if seq >= queue.next() + limit {
            self.excess += 1;
            return Accepted::Excess;
        }
        self.excess = self.excess.saturating_sub(1);
        if seq == self.expected {
            queue.push(cell);
            self.expected += 1;
            return Accepted::InOrder(1 + self.drain_held(queue));
        }
        self.hold(seq, cell)
    }

    #[cold]
    fn hold(&mut self, seq: u64, cell: P) -> Accepted {
        let last = self.held.last_key_value();
        // What is missing before this one is known already.
        let known = last.map_or(self.expected, |(last, _)| last + 1);
        if self.held.insert(seq, cell).is_some() {
            return Accepted::Duplicate;
        }
        if let Some(told) = &mut self.told {
            told.hold(seq);
        }
        self.out_of_order = (self.out_of_order + 1).min(Feedback::MAX_OUT_OF_ORDER);
        Accepted::Held(seq.saturating_sub(known))
    }

    #[inline]
    fn drain_held(&mut self, queue: &mut CellQueue<P>) -> u64 {
        let before = self.expected;
        if self.held.is_empty() {
            return 0;
        }
        while let Some(cell) = self.held.remove(&self.expected) {
            queue.push(cell);
            self.expected += 1;
            // The gap that they reported is closed.
            self.out_of_order = 0;
        }
        if let Some(told) = &mut self.told {
            told.release(self.expected);
        }
        self.expected - before
    }

    /// The number of the next cell expected: all before it have arrived.
    pub(crate) const fn expected(&self) -> u64 {
        self.expected
    }

    /// Takes the count of cells that arrived beyond a gap since the last call.
    pub(crate) fn take_out_of_order(&mut self) -> u8 {
        std::mem::take(&mut self.out_of_order)
    }

    /// What has arrived beyond a gap, if that is told and anything has.
    #[inline]
    pub(crate) fn arrived(&self) -> Option<Arrived> {
        if self.held.is_empty() {
            return None;
        }
        self.told.as_ref()?.arrived(self.expected)
    }

    /// How far the peer keeps exceeding the queue limit, in cells.
    pub(crate) const fn excess(&self) -> u64 {
        self.excess
    }

    /// Cells that wait for those before them.
    pub(crate) fn held(&self) -> u64 {
        self.held.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(receiver: &mut Receiver<u64>, queue: &mut CellQueue<u64>, seq: u64) -> Accepted {
        receiver.accept(CellSeq::of(seq), seq, queue, 4)
    }

    #[test]
    fn cells_come_out_once_and_in_order() {
        let (mut receiver, mut queue) = (Receiver::default(), CellQueue::default());
        assert_eq!(accept(&mut receiver, &mut queue, 1), Accepted::Held(1));
        assert_eq!(accept(&mut receiver, &mut queue, 1), Accepted::Duplicate);
        assert_eq!(accept(&mut receiver, &mut queue, 2), Accepted::Held(0));
        assert_eq!(
            receiver.take_out_of_order(),
            2,
            "a duplicate tells nothing new"
        );
        assert_eq!(accept(&mut receiver, &mut queue, 0), Accepted::InOrder(3));
        assert_eq!(accept(&mut receiver, &mut queue, 1), Accepted::Duplicate);
        assert_eq!(
            (0..3).map(|_| queue.pop().unwrap()).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    #[test]
    fn the_ranges_to_which_cells_came_last_are_told() {
        let (mut receiver, mut queue) = (Receiver::new(true), CellQueue::default());
        let mut accept = |receiver: &mut Receiver<u64>, seq: u64| {
            receiver.accept(CellSeq::of(seq), seq, &mut queue, 100)
        };
        assert_eq!(receiver.arrived(), None);
        for seq in [0, 2, 3, 5, 7, 9, 6] {
            accept(&mut receiver, seq);
        }
        let told = |receiver: &Receiver<u64>| receiver.arrived().unwrap();
        assert_eq!(told(&receiver), [(4, 7), (8, 9), (1, 3)]);
        accept(&mut receiver, 11);
        assert_eq!(told(&receiver), [(10, 11), (4, 7), (8, 9)]);
        accept(&mut receiver, 1);
        assert_eq!(told(&receiver), [(7, 8), (1, 4), (5, 6)], "counted from 4");
        for seq in [4, 8, 10] {
            accept(&mut receiver, seq);
        }
        assert_eq!(receiver.arrived(), None);
    }

    #[test]
    fn the_queue_limit_holds_for_what_waits_and_what_is_held() {
        let (mut receiver, mut queue) = (Receiver::default(), CellQueue::default());
        assert_eq!(accept(&mut receiver, &mut queue, 4), Accepted::Excess);
        assert_eq!(accept(&mut receiver, &mut queue, 3), Accepted::Held(3));
        assert_eq!(accept(&mut receiver, &mut queue, 0), Accepted::InOrder(1));
        queue.pop();
        assert_eq!(accept(&mut receiver, &mut queue, 4), Accepted::Held(0));
        assert_eq!(accept(&mut receiver, &mut queue, 5), Accepted::Excess);
    }

    #[test]
    fn whatever_arrives_each_missing_cell_is_counted_once() {
        let (mut receiver, mut queue) = (Receiver::default(), CellQueue::default());
        let mut missing = 0;
        let mut accept = |seq: u64| {
            let accepted = receiver.accept(CellSeq::of(seq), seq, &mut queue, 100);
            if let Accepted::Held(more) = accepted {
                assert!(more < 100);
                missing += more;
            }
        };
        // All pass once at least; 3, 4, 7, 9 and 11 to 13 come after a later one.
        for seq in [
            0, 1, 2, 5, 5, 3, 5, 6, 8, 4, 10, 9, 14, 7, 12, 14, 13, 11, 15,
        ] {
            accept(seq);
        }
        assert_eq!(missing, 2 + 1 + 1 + 3);
        assert_eq!(receiver.expected(), 16);
    }

    #[test]
    fn alternating_with_good_cells_does_not_hide_excess() {
        let (mut receiver, mut queue) = (Receiver::default(), CellQueue::default());
        for good in 0..100 {
            accept(&mut receiver, &mut queue, good);
            queue.pop();
            accept(&mut receiver, &mut queue, good + 50);
            accept(&mut receiver, &mut queue, good + 60);
        }
        assert!(receiver.excess() >= 99, "{}", receiver.excess());
    }
}
