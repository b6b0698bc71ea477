//! The manifest: what a result folder holds and how it was made.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::run::RunEntry;

/// The format of result folders that this version writes and reads.
pub const FORMAT: u32 = 2;

/// What a result folder holds and how it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The folder's format, [`FORMAT`].
    pub format: u32,
    /// The version of hopflow that wrote it.
    pub hopflow: String,
    /// The commit that this hopflow was built from, where whoever built it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Identifies the very program that made the runs, by a hash of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The command that made it, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario is about, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The whole text of the scenario file, from which the runs can be made again.
    pub scenario_toml: String,
    /// The labels of the transports, in the order in which reports show them. Where several scenarios
    /// were run, those of the first.
    pub transports: Vec<String>,
    /// The seeds of the runs. Where several scenarios were run, those of the first; see
    /// [`seeds_of_runs`](Self::seeds_of_runs).
    pub seeds: Vec<u64>,
    /// The runs, in a fixed order.
    pub runs: Vec<RunEntry>,
    /// How many runs of the command are not finished. What else the folder holds is then of an
    /// earlier command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<NonZeroUsize>,
}

impl Manifest {
    /// A manifest of the current format without runs.
    pub fn new(hopflow: &str, scenario: &str, scenario_toml: &str) -> Self {
        Self {
            format: FORMAT,
            hopflow: hopflow.to_owned(),
            commit: None,
            build: None,
            command: None,
            scenario: scenario.to_owned(),
            about: None,
            scenario_toml: scenario_toml.to_owned(),
            transports: Vec::new(),
            seeds: Vec::new(),
            runs: Vec::new(),
            missing: None,
        }
    }

    /// The different seeds of all runs that are listed, rising; [`seeds`](Self::seeds) if none are.
    pub fn seeds_of_runs(&self) -> Vec<u64> {
        if self.runs.is_empty() {
            return self.seeds.clone();
        }
        let seeds: BTreeSet<u64> = self.runs.iter().map(|run| run.key.seed).collect();
        seeds.into_iter().collect()
    }
}
