//! What several controls from end to end say.

use hopflow_overlay::{Condition, ConfigError, Features};
use hopflow_units::{Cells, StreamId};

use crate::layer::Around;

/// The name that means a circuit as a whole.
pub(super) const CIRCUIT: StreamId = StreamId::new(0);
/// Cells in a source's queue at which it counts as blocked, and below which no more (tor 0.4.9,
/// `cellq_high` and `cellq_low`).
pub(super) const BLOCKED: (Cells, Cells) = (Cells::new(256), Cells::new(10));

/// What windows need that only SENDMEs open.
pub(super) const EVERY_CELL_ARRIVES: Condition = (
    Features::STREAMS.or(Features::HOP_REPAIR),
    "Nothing brings back a lost datagram, and the window at the source counts on every cell to \
     arrive.",
);

/// Fills in how many cells may wait in a source's queue. Where hops are controlled, they hold the
/// source back.
///
/// # Errors
/// If it was given where it has no effect.
pub(super) fn settle_source_queue(
    given: &mut Option<Cells>,
    around: &Around,
) -> Result<(), ConfigError> {
    if !around.hops_control {
        given.get_or_insert(BLOCKED.0);
    } else if given.is_some() {
        let reason = "the control on hops holds the source back, which has no such limit";
        return Err(ConfigError::new("source-queue", "", reason));
    }
    Ok(())
}
