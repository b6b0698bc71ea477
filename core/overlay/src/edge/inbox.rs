//! What a stream's sink holds while its application does not read.

use std::collections::VecDeque;

/// Cells after which the far end is asked to pause the stream (proposal 324, section 4).
const ENOUGH: usize = 500;
/// Cells that are held at most; beyond that the circuit waits.
const MOST: usize = 4096;

/// Cells of a stream that wait for the application, in order.
///
/// They have left the circuit's queue, so that one reader who stalls does not hold up the
/// circuit's other streams.
#[derive(Clone, Debug)]
pub(crate) struct Inbox<P> {
    cells: VecDeque<P>,
    /// Whether the far end was asked to pause.
    pausing: bool,
}

impl<P> Default for Inbox<P> {
    fn default() -> Self {
        Self {
            cells: VecDeque::new(),
            pausing: false,
        }
    }
}

impl<P> Inbox<P> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.cells.len() >= MOST
    }

    /// Takes a cell; true if the other end must be asked to pause.
    pub(crate) fn push(&mut self, cell: P) -> bool {
        self.cells.push_back(cell);
        self.cells.len() >= ENOUGH && !std::mem::replace(&mut self.pausing, true)
    }

    pub(crate) fn pop(&mut self) -> Option<P> {
        self.cells.pop_front()
    }

    /// Whether the other end, having paused, may go on; true once.
    pub(crate) fn resumes(&mut self) -> bool {
        self.cells.is_empty() && std::mem::take(&mut self.pausing)
    }
}
