//! What is run, and how.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use hopflow_lab::scenario::Scenario;

use crate::failure::Failure;

/// How runs are made.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Folder for the results; by default one below [`RESULTS`](crate::RESULTS), named after the
    /// scenario.
    pub out: Option<PathBuf>,
    /// Runs of each transport, with the seeds from 1 on; an experiment keeps to its own list of seeds. By
    /// default as the scenario says.
    pub seeds: Option<NonZeroU32>,
    /// File of circuits in place of the one that the scenario or experiment names.
    pub circuits: Option<PathBuf>,
    /// Runs that are made at the same time; by default one per core.
    pub threads: Option<NonZeroUsize>,
}

/// A scenario that is to be run.
#[derive(Clone, Debug)]
pub enum Source {
    /// The name of a built-in scenario, or a file.
    Named(String),
    /// TOML text; files that it names are looked for in the current folder.
    Text(String),
}

impl Source {
    /// What messages call a text that comes from no file.
    const TEXT: &str = "scenario";

    /// The scenario and its text, with circuits from a file if the order names one.
    pub(crate) fn load(&self, order: &Order) -> Result<(Scenario, String), Failure> {
        let circuits = order.circuits.as_deref();
        Ok(match self {
            Self::Named(name) => Scenario::load_with(name, circuits)?,
            Self::Text(text) => {
                let scenario = Scenario::parse_with(text, Self::TEXT, circuits)?;
                (scenario, text.clone())
            }
        })
    }

    /// The name by which messages call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Text(_) => Self::TEXT,
        }
    }
}
