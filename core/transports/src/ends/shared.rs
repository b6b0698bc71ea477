//! What several controls from end to end say.

use hopflow_overlay::{Condition, Features};
use hopflow_units::{Cells, StreamId};

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
