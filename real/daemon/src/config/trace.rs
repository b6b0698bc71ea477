//! What a node writes of its circuits and links.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use hopflow_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use super::require;
use crate::{InputError, read};

/// Each circuit that is traced has an open file.
const MOST_CIRCUITS: u32 = 1000;

/// Traces: what circuits do, event by event, and the frames of all links after decryption. Payloads of cells
/// are not written, but sizes and times are, and they tell who does what: for networks of one's own only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Trace {
    /// The folder of the files; it is made if it is missing, and must be empty.
    pub folder: PathBuf,
    /// What is written; all by default.
    #[serde(default = "everything")]
    pub what: Vec<What>,
    /// Circuits that are traced at most: the first ones that carry data; 16 by default.
    #[serde(default = "default_circuits")]
    pub circuits: u32,
    /// Bytes of all files together at most, at which tracing ends; "100 MB" by default.
    #[serde(default = "default_size", with = "read::as_text")]
    pub size: Bytes,
    /// How long is traced, from the start of the node; "10 min" by default.
    #[serde(default = "default_time", with = "read::as_text")]
    pub time: Duration,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Circuits as qlog.
    Qlog,
    /// Frames of links as pcapng.
    Packets,
}

fn everything() -> Vec<What> {
    vec![What::Qlog, What::Packets]
}

const fn default_circuits() -> u32 {
    16
}

const fn default_size() -> Bytes {
    Bytes::new(100_000_000)
}

const fn default_time() -> Duration {
    Duration::from_secs(600)
}

impl Trace {
    /// Less holds no more than the beginnings of files.
    pub const LEAST_SIZE: Bytes = Bytes::new(100_000);

    /// Everything, into a folder, with the limits that hold by default.
    pub fn into_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            what: everything(),
            circuits: default_circuits(),
            size: default_size(),
            time: default_time(),
        }
    }

    pub(super) fn check(&self) -> Result<(), InputError> {
        require(
            !self.what.is_empty(),
            "trace.what",
            "[]",
            "a list with \"qlog\", \"packets\" or both",
        )?;
        let fits = (1..=MOST_CIRCUITS).contains(&self.circuits);
        require(
            fits,
            "trace.circuits",
            self.circuits,
            "a number from 1 to 1000",
        )?;
        let fits = self.size >= Self::LEAST_SIZE;
        require(fits, "trace.size", self.size, "100 kB or more")?;
        let fits = !self.time.is_zero();
        require(fits, "trace.time", self.time, "a time longer than zero")
    }

    /// Refuses a folder that holds something: what is there stays as it is.
    ///
    /// # Errors
    /// If it does, or cannot be read; not if it is missing.
    pub fn check_folder(&self) -> Result<(), InputError> {
        let folder = self.folder.display();
        let refuse = |problem: String| {
            let problem = format!("{folder}: {problem}");
            Err(InputError::at("trace.folder", problem))
        };
        match fs::read_dir(&self.folder).map(|mut entries| entries.next()) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => refuse(
                "it holds files: allowed is a folder that is empty or does not exist".to_owned(),
            ),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
            Err(cause) => refuse(format!("cannot be read: {cause}")),
        }
    }

    /// What everybody who starts the node is to know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let problem = self.check_folder().err();
        let problem = problem.map(|problem| format!("{problem}; nothing will be traced"));
        std::iter::once(self.warning()).chain(problem).collect()
    }

    pub(crate) fn warning(&self) -> String {
        format!(
            "TRACING IS ON: {} takes down which circuits and links carry how much, and when. Whoever gets \
             these files can tell who does what. Remove [trace] unless all users know and agree",
            self.folder.display()
        )
    }
}
