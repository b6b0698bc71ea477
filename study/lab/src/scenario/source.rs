//! Where the relays of a network come from.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

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
    /// A table of relays, of which each network has a stratified sample; without one the relays
    /// are made up, and distributed as in 2015. It is looked for where circuit files are. The
    /// program hopflow-consensus makes tables from consensus documents of Tor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    consensus: NoConsensus,
}

/// Stands for a key that is refused, with a message that says what to write instead.
#[derive(Clone, Debug, Default, PartialEq)]
struct NoConsensus;

impl<'de> Deserialize<'de> for NoConsensus {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "consensus documents are not read; allowed is a table of relays, \
             `table = \"relays.csv\"`, which hopflow-consensus (tools/consensus) makes: \
             hopflow-consensus CONSENSUS > relays.csv",
        ))
    }
}
