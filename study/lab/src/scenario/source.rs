//! Where the relays of a network come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a network's relays come from, beside those that the scenario lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file of circuits that were published with a paper, plain or compressed by gzip. It is
    /// looked for beside the scenario, in the current folder, and in the folder that the
    /// environment variable `HOPFLOW_DATA` names.
    Circuits(String),
    /// A population of relays: each network draws one of its own.
    Population(PopulationSource),
}

/// Relays with flags, weights and continents, distributed as in a real network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PopulationSource {
    /// Number of relays of a network.
    #[schemars(range(min = 3))]
    pub relays: u32,
    /// A consensus document of Tor, of whose relays each network has a stratified sample; without
    /// one the relays are made up, and distributed as in 2015. It is looked for where circuit
    /// files are. Builds of hopflow read consensus documents only if they have the cargo feature
    /// `consensus`.
    #[serde(default)]
    pub consensus: Option<String>,
}
