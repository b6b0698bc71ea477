//! The circuit queue: cells between their arrival and their acknowledgement.

use std::collections::VecDeque;

use hopflow_units::Cells;

/// An empty queue keeps room for no more cells: most circuits are idle most of the time.
const IDLE_ROOM: usize = 32;

/// A flow's cells, numbered from zero in order of arrival.
///
/// Three marks divide them, as in the BackTap paper, section 3.2: `head` is the frontmost cell
/// that the successor has not acknowledged, `next` the first that was never sent, `tail` the end.
/// Where nobody acknowledges (stream carriers, the sink) `head` equals `next`.
#[derive(Clone, Debug)]
pub(crate) struct CellQueue<P> {
    cells: VecDeque<P>,
    head: u64,
    next: u64,
}

impl<P> Default for CellQueue<P> {
    fn default() -> Self {
        Self {
            cells: VecDeque::new(),
            head: 0,
            next: 0,
        }
    }
}

impl<P: Clone> CellQueue<P> {
    pub(crate) fn push(&mut self, cell: P) {
        self.cells.push_back(cell);
    }

    pub(crate) const fn head(&self) -> u64 {
        self.head
    }

    /// The number of the next cell to be sent: as many have departed.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Cells that wait to be sent for the first time.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.head + self.cells.len() as u64 - self.next
    }

    /// What layers see of the queue.
    #[inline]
    pub(crate) fn view(&self) -> QueueView {
        QueueView {
            unsent: Cells::new(self.unsent()),
            held: Cells::new(self.cells.len() as u64),
            sent: Cells::new(self.next),
        }
    }

    /// The next cell to be sent, without sending it.
    pub(crate) fn peek(&self) -> Option<&P> {
        self.cells.get((self.next - self.head) as usize)
    }

    /// Takes the next cell out for good.
    pub(crate) fn pop(&mut self) -> Option<P> {
        debug_assert_eq!(self.head, self.next, "no cell waits for an acknowledgement");
        let cell = self.cells.pop_front()?;
        self.head += 1;
        self.next += 1;
        rest(&mut self.cells);
        Some(cell)
    }

    /// Sends the next cell and keeps it until it is acknowledged.
    #[inline]
    pub(crate) fn send(&mut self) -> Option<(u64, P)> {
        let cell = self.peek()?.clone();
        self.next += 1;
        Some((self.next - 1, cell))
    }

    /// A cell that was sent and not yet acknowledged.
    pub(crate) fn sent(&self, seq: u64) -> Option<&P> {
        if !(self.head..self.next).contains(&seq) {
            return None;
        }
        self.cells.get((seq - self.head) as usize)
    }

    /// Forgets the cells before `seq`, which must have been sent.
    #[inline]
    pub(crate) fn acknowledge(&mut self, seq: u64) {
        debug_assert!(seq <= self.next);
        while self.head < seq {
            self.cells.pop_front();
            self.head += 1;
        }
        rest(&mut self.cells);
    }
}

/// Gives back what an empty queue does not need; the next cell comes to where memory is in the
/// cache.
#[inline]
pub(crate) fn rest<T>(queue: &mut VecDeque<T>) {
    if !queue.is_empty() {
        return;
    }
    if queue.capacity() > IDLE_ROOM {
        *queue = VecDeque::new();
    } else {
        queue.clear();
    }
}

/// What is in a flow's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueView {
    /// Cells that wait to be sent.
    pub unsent: Cells,
    /// Cells that have arrived and were not acknowledged by the successor.
    pub held: Cells,
    /// Cells sent so far; the next cell has this number.
    pub sent: Cells,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_kept_from_sending_to_acknowledgement() {
        let mut queue = CellQueue::default();
        (0..5).for_each(|cell| queue.push(cell));
        assert_eq!((queue.send(), queue.send()), (Some((0, 0)), Some((1, 1))));
        assert_eq!(queue.unsent(), 3);
        assert_eq!((queue.sent(1), queue.sent(2)), (Some(&1), None));
        queue.acknowledge(1);
        assert_eq!((queue.sent(0), queue.sent(1)), (None, Some(&1)));
        queue.acknowledge(2);
        assert_eq!((queue.head(), queue.pop(), queue.next()), (2, Some(2), 3));
    }
}
