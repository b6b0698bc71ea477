//! What `values.csv` calls what is planned.

use super::settings::Solved;

/// The names of what is planned, as `values.csv` has them.
pub(super) const OUTGOING: &str = "outgoing rate";
pub(super) const INCOMING: &str = "incoming rate";
pub(super) const VIRTUAL: &str = "virtual outgoing rate";
pub(super) const QUEUE: &str = "queue";
pub(super) const SOURCE_QUEUE: &str = "queue at the source";
/// What the names of conditions begin with.
pub(super) const CONDITION: &str = "condition";

/// What `values.csv` calls a circuit's plan.
pub(super) fn label(solved: &Solved, circuit: usize) -> String {
    format!("{}: circuit {}", solved.name, circuit + 1)
}
