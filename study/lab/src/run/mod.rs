//! Running scenarios: jobs over all cores, results on disk, interrupted and resumed.

mod campaign;
mod change;
mod execute;
mod fair;
mod family;
mod job;
mod memory;
mod needs;
mod rollout;
mod rows;
mod running;
mod traces;
mod watched;

use std::fmt;
use std::path::PathBuf;

pub use campaign::{Campaign, Finished, text_with_circuits};
pub use execute::{Keep, Monitor, Silent, Threads, execute, execute_one};
pub use job::Job;
pub use memory::{Share, that_fit};
pub use needs::Needs;
pub use watched::Watched;

pub(crate) use fair::{Resource, on_path};

use hopflow_units::Bytes;

use crate::scenario::InputError;

/// Why runs could not be made.
#[derive(Debug)]
pub enum Error {
    /// What the user wrote cannot be run.
    Input(InputError),
    /// The result folder cannot be read or written.
    Results(hopflow_results::Error),
    /// The folder holds something else, which stays as it is.
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        contents: String,
    },
    /// A run needs more memory than there is.
    Memory {
        /// What it needs, about.
        needed: Bytes,
        /// What there is.
        available: Bytes,
    },
    /// Runs failed by a defect of the program; the others were finished.
    Failed(Vec<String>),
    /// The user interrupted; what was finished is kept.
    Interrupted {
        /// Runs that are finished.
        finished: usize,
        /// Runs of the whole plan.
        planned: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Results(error) => error.fmt(f),
            Self::Occupied { folder, contents } => write!(
                f,
                "{} holds {contents}, which is left as it is; allowed is a folder that is new, \
                 empty, or holds results of the same scenario: choose another (`out`)",
                folder.display()
            ),
            Self::Memory { needed, available } => write!(
                f,
                "a run needs about {} of memory, and {} are available; allowed is what fits: fewer \
                 circuits or a smaller `scale` ({:.2} times as many would fit), or longer intervals \
                 in `[record]`; HOPFLOW_MEMORY says how much runs may use if that is wrong",
                needs::size(*needed),
                needs::size(*available),
                available.get() as f64 / needed.get() as f64,
            ),
            Self::Failed(runs) => write!(
                f,
                "{} failed: {}",
                count(runs.len(), "run"),
                runs.join("; ")
            ),
            Self::Interrupted { finished, planned } => {
                write!(
                    f,
                    "interrupted; {finished} of {} are finished",
                    count(*planned, "run")
                )
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<hopflow_results::Error> for Error {
    fn from(error: hopflow_results::Error) -> Self {
        Self::Results(error)
    }
}

/// "1 run", "2 runs".
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
