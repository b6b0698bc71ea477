//! The quantities of single runs, for whoever compares them otherwise.

use hopflow_results::{Folder, RunEntry};

use super::load;
use super::quantity::{MEASURES, Quantity};
use crate::error::Error;

/// All quantities by which transports are compared, in the order in which they are shown.
pub fn quantities() -> impl Iterator<Item = Quantity> {
    MEASURES.iter().map(|measure| measure.quantity)
}

/// Each of the [`quantities`] of a run, in their order; `None` where the run does not have it.
///
/// # Errors
/// If a file of the run is missing or damaged.
pub fn measures(folder: &Folder, entry: &RunEntry) -> Result<Vec<Option<f64>>, Error> {
    let run = load::brief(folder, entry)?;
    Ok(MEASURES.iter().map(|measure| (measure.of)(&run)).collect())
}
