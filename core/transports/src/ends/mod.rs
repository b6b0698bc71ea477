//! Control from end to end: how much data a circuit's source may have under way.
//!
//! The sink returns SENDME cells; the source's gate before its queue opens with them. A control is
//! one file here and one line in `registry.rs`.

mod circuit_ack;
mod gradient;
mod marked_share;
mod source;
mod tcp;
mod vegas;
mod window;
mod worst_hop;

use hopflow_overlay::{Condition, Features};
use hopflow_units::{Cells, StreamId};

pub(crate) use gradient::GradientWindow;
pub(crate) use marked_share::MarkedShareWindow;
pub(crate) use tcp::EndTcp;
pub(crate) use vegas::VegasControl;
pub(crate) use window::FixedWindows;
pub(crate) use worst_hop::WorstHopWindow;

/// The name that means a circuit as a whole.
const CIRCUIT: StreamId = StreamId::new(0);
/// Cells in a source's queue at which it counts as blocked, and below which no more (tor 0.4.9,
/// `cellq_high` and `cellq_low`).
const BLOCKED: (Cells, Cells) = (Cells::new(256), Cells::new(10));

/// What windows need that only SENDMEs open.
const EVERY_CELL_ARRIVES: Condition = (
    Features::STREAMS.and(Features::HOP_REPAIR),
    "Nothing brings back a lost datagram, and the window at the source counts on every cell to \
     arrive.",
);
