//! Proofs that what SENDMEs about a circuit acknowledge was read (proposal 289).
//!
//! Each SENDME shows the proof of one cell: of the last one that it acknowledges. Who has not read
//! that cell does not know it. Both ends number the cells of content in the order of the flow, so
//! that they agree on which cells these are.

use std::collections::VecDeque;

use hopflow_units::Cells;
use hopflow_wire::Proof;

use crate::Violation;

/// The proofs that an end of a circuit keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proofs {
    read: Lot,
    sent: Lot,
}

/// Cells of content of one direction.
#[derive(Clone, Debug, Default)]
struct Lot {
    /// Cells since the last one whose proof was kept.
    cells: u64,
    /// Proofs of cells that complete an acknowledgement, from the oldest acknowledgement that was
    /// not sent, or has not come, on.
    kept: VecDeque<Proof>,
}

impl Lot {
    /// Counts a cell; keeps the proof of each `every`-th one.
    #[inline]
    fn count(&mut self, every: Cells, proof: Proof) {
        self.cells += 1;
        if self.cells >= every.get() {
            self.cells = 0;
            self.kept.push_back(proof);
        }
    }
}

impl Proofs {
    /// The sink took a cell out of the queue.
    #[inline]
    pub(crate) fn on_read(&mut self, every: Cells, proof: Proof) {
        self.read.count(every, proof);
    }

    /// What the next SENDME that leaves shows; `None` if it acknowledges cells that were not read.
    pub(crate) fn next_shown(&mut self) -> Option<Proof> {
        self.read.kept.pop_front()
    }

    /// A cell of the source left for the first time.
    #[inline]
    pub(crate) fn on_sent(&mut self, every: Cells, proof: Proof) {
        self.sent.count(every, proof);
    }

    /// A SENDME came that shows this.
    ///
    /// # Errors
    /// If that is not what the oldest SENDME that has not come must show.
    pub(crate) fn check(&mut self, shown: Option<Proof>) -> Result<(), Violation> {
        match self.sent.kept.pop_front() {
            Some(proof) if shown == Some(proof) => Ok(()),
            _ => Err(Violation::Unproven),
        }
    }

    /// Proofs that are kept of cells that were sent, or of those that were read.
    pub(crate) fn kept(&self, sent: bool) -> Cells {
        let lot = if sent { &self.sent } else { &self.read };
        Cells::new(lot.kept.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Cells = Cells::new(3);

    /// An end that has sent so many cells, and its far end, which has read some of them.
    fn ends(sent: u8, read: u8) -> (Proofs, Proofs) {
        let (mut source, mut sink) = (Proofs::default(), Proofs::default());
        (0..sent).for_each(|cell| source.on_sent(EVERY, [cell; 16]));
        (0..read).for_each(|cell| sink.on_read(EVERY, [cell; 16]));
        (source, sink)
    }

    #[test]
    fn who_has_read_the_cells_can_acknowledge_them_once_and_in_their_order() {
        let (mut source, mut sink) = ends(10, 8);
        assert_eq!(
            (source.kept(true), sink.kept(false)),
            (EVERY, Cells::new(2))
        );
        for cell in [2, 5] {
            let shown = sink.next_shown();
            assert_eq!(shown, Some([cell; 16]));
            assert_eq!(source.check(shown), Ok(()));
        }
        assert_eq!(sink.next_shown(), None, "the ninth cell was not read");
        assert_eq!(source.check(None), Err(Violation::Unproven));
    }

    #[test]
    fn what_is_shown_twice_or_too_early_proves_nothing() {
        for shown in [[2; 16], [4; 16], [8; 16]] {
            let (mut source, _) = ends(10, 0);
            assert_eq!(source.check(Some([2; 16])), Ok(()));
            assert_eq!(source.check(Some(shown)), Err(Violation::Unproven));
        }
        let (mut source, _) = ends(2, 0);
        assert_eq!(source.check(Some([1; 16])), Err(Violation::Unproven));
    }
}
