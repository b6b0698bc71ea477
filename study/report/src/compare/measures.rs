//! The quantities of single runs, for whoever compares them otherwise.

use hopflow_results::Tables;

use super::load::Run;
use super::quantity::{MEASURES, Measure, Quantity};

/// All quantities by which transports are compared, in the order in which they are shown.
pub fn quantities() -> impl Iterator<Item = Quantity> {
    MEASURES.iter().map(|measure| measure.quantity)
}

/// Each of the [`quantities`] of a run, in their order; `None` where the run does not have it. Where
/// too few downloads ended, a time is the least that it can be.
pub fn measures(tables: &Tables) -> Vec<Option<f64>> {
    let run = Run {
        downloads: tables.downloads.clone(),
        open: tables.open_requests.clone(),
        failed: tables.failures.clone(),
        circuits: tables.circuits.clone(),
        ..Run::default()
    };
    let value = |measure: &Measure| Some((measure.of)(&run)?.value);
    MEASURES.iter().map(value).collect()
}
