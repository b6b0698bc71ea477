//! What a successor forwarded, where the carrier repairs losses and nobody acknowledges.

use hopflow_wire::Feedback;

use super::News;
use crate::Violation;
use crate::circuit::CellQueue;

/// Counts the cells that the successor has forwarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forwards(u64);

impl Forwards {
    /// Handles the forward feedback in `feedback`.
    ///
    /// # Errors
    /// If it names a cell that was never sent.
    #[inline]
    pub(crate) fn on_feedback<P: Clone>(
        &mut self,
        feedback: &Feedback,
        queue: &CellQueue<P>,
    ) -> Result<News, Violation> {
        let forwarded = feedback.fwd.widen(self.0);
        if forwarded > queue.next() {
            return Err(Violation::BeyondSent);
        }
        let cells = forwarded.checked_sub(self.0);
        self.0 = self.0.max(forwarded);
        Ok(News {
            forwarded: cells,
            ..News::default()
        })
    }
}
