//! What several controls from end to end say.

use std::any::Any;

use hopflow_overlay::{Condition, ConfigError, EndControl, EndState, Features};
use hopflow_units::Cells;

use crate::layer::Around;

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

/// What both ends of a circuit count by.
pub(super) const BOTH_ENDS: &str = "both ends of a circuit count by it";

/// The former options of a control whose options change.
pub(super) fn former<E: EndControl>(old: &dyn EndControl) -> &E {
    let old: &dyn Any = old;
    old.downcast_ref()
        .expect("controls of one name are of one type")
}

/// The state of an end whose options change.
pub(super) fn state_of<S: EndState>(state: &mut dyn EndState) -> &mut S {
    let state: &mut dyn Any = state;
    state
        .downcast_mut()
        .expect("a control of the same type made it")
}
