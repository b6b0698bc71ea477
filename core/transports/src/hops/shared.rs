//! What several controls on hops say and do.

use hopflow_overlay::{Condition, Features, HopSignal, Violation};

/// What controls need that report the state of hops to the source.
pub(super) const REPORTS_NEED: &[Condition] = &[
    (
        Features::HOP_REPAIR,
        "Marut's loads travel with the forward feedback of datagrams, which hops repair.",
    ),
    (
        Features::LOAD_READER,
        "Hops report to the source, which must have a control that reads this.",
    ),
];

/// Answers a signal that a control has no use for: one that sends no messages gets none.
#[inline]
pub(super) fn ignore(signal: HopSignal<'_>) -> Result<(), Violation> {
    match signal {
        HopSignal::Message(..) => Err(Violation::Unexpected),
        _ => Ok(()),
    }
}
