//! Scenarios: a network, its users, the transports under test and the seeds, as TOML.

mod arrivals;
mod branch;
mod check;
mod check_branch;
mod check_faults;
mod check_path;
mod check_places;
mod check_source;
mod faults;
mod legs;
mod limits;
mod load;
mod loaded;
mod network;
mod options;
mod path;
mod paths;
mod place;
mod population;
mod quantity;
mod queue;
mod read;
mod rebuild;
mod regions;
mod replay;
mod sample;
mod scale;
mod schema;
mod source;
mod tcp;
mod topology;
mod traffic;
mod transports;
mod users;
mod variants;

use std::num::NonZeroU32;

pub use hopflow_config::{InputError, allowed};
use hopflow_overlay::{ConfigError, Factory};
use hopflow_sim::Simulated;
use hopflow_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use arrivals::Load;
pub use branch::{Branch, Variant};
pub use faults::{FaultKind, Faults};
pub use legs::Legs;
pub use loaded::Loaded;
pub use network::{Access, Bucket, Cross, Network, Relays, Shaping};
pub use path::{Path, RandomPath, TorPath};
pub use quantity::{Distribution, Quantity, Text};
pub use queue::Queue;
pub use rebuild::Rebuild;
pub use sample::CLIENT_PREFIX;
pub use schema::schema;
pub use source::{PopulationSource, Source};
pub use tcp::{Congestion, Tcp};
pub use topology::{Dumbbell, Topology, Tree};
pub use transports::{Choice, Transports, Upgrade};
pub use users::{Circuits, Class, Direction, Response, Workload};

/// A network, its users, the transports under test and the seeds.
///
/// Each seed samples one network with its users; all transports meet the same ones, so that
/// their results can be compared in pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// The name, of lower-case letters, digits, hyphens and underscores.
    #[schemars(regex(pattern = "^[a-z0-9_][a-z0-9_-]*$"))]
    pub name: String,
    /// What the scenario shows, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// Simulated time of each run.
    pub duration: Text<Duration>,
    /// Time at the beginning of each run that is not evaluated; none by default.
    #[serde(default)]
    pub warm_up: Text<Duration>,
    /// The share of the network that is simulated: the relays of its source, and the circuits and
    /// cross connections of every group, are this many times what is written; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub scale: Option<f64>,
    /// The seeds: their number, or a list.
    pub seeds: Seeds,
    /// The transports under test, by the label that results call them by.
    pub transports: Transports,
    /// The network that all transports share.
    pub network: Network,
    /// The circuits, one or a group at a time.
    pub circuits: Vec<Circuits>,
    /// What goes wrong at relays, or changes there; nothing by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Faults>,
    /// What is recorded over time.
    #[serde(default)]
    pub record: Record,
    /// Variants that have the beginning of their runs in common; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// What was in the files that the scenario names.
    #[serde(skip)]
    pub loaded: Loaded,
}

/// The seeds of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Seeds {
    /// The seeds from 1 to this number, which is 1 to 1,000,000.
    Count(u32),
    /// These seeds.
    List(Vec<u64>),
}

impl Seeds {
    /// How many seeds a scenario may count.
    pub const MOST: NonZeroU32 = NonZeroU32::new(1_000_000).unwrap();

    /// The seeds themselves.
    pub fn list(&self) -> Vec<u64> {
        match self {
            Self::Count(count) => (1..=u64::from(*count)).collect(),
            Self::List(seeds) => seeds.clone(),
        }
    }

    /// So many seeds, beginning with these: the first of a list, or a list and the seeds after its last.
    #[must_use]
    pub fn resized(&self, count: u32) -> Self {
        match self {
            Self::Count(_) => Self::Count(count),
            Self::List(seeds) => {
                let after = seeds.last().map_or(1, |last| last + 1);
                let seeds = seeds.iter().copied().chain(after..);
                Self::List(seeds.take(count as usize).collect())
            }
        }
    }
}

/// What is recorded over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Record {
    /// Time between samples of each circuit's packaged and delivered bytes; 100 ms by default.
    #[serde(default = "tenth_of_a_second")]
    pub circuits: Text<Duration>,
    /// Time between samples of each hop's queue and window, and of what the transport's layers
    /// measure; not recorded by default.
    #[serde(default)]
    pub hops: Option<Text<Duration>>,
    /// Whether the latency of every cell of data is recorded after the warm-up, circuit by circuit;
    /// false by default.
    #[serde(default)]
    pub latency: bool,
    /// Whether it is recorded where the time of each download goes, part by part; false by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub breakdown: bool,
    /// Time between samples of what waits at access links, of which the means after the warm-up are
    /// told; not recorded by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Text<Duration>>,
    /// Width of the bins in which is counted what an observer sees of each circuit after the
    /// warm-up, between its client and the network, and at its exit; not recorded by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Text<Duration>>,
    /// Circuits, by their numbers in results, of which everything is written that happens at their
    /// nodes, as qlog; none by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qlog: Vec<u32>,
    /// Circuits, likewise, of whose nodes all packets are written, as pcapng; none by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<u32>,
}

const fn tenth_of_a_second() -> Text<Duration> {
    Text(Duration::from_millis(100))
}

impl Default for Record {
    fn default() -> Self {
        Self {
            circuits: tenth_of_a_second(),
            hops: None,
            latency: false,
            breakdown: false,
            queues: None,
            traces: None,
            qlog: Vec::new(),
            packets: Vec::new(),
        }
    }
}

impl Scenario {
    /// The scenario as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario has a TOML form")
    }

    /// The transport of this label.
    ///
    /// # Errors
    /// If there is none, its preset or an option is unknown, or a value cannot be used.
    pub fn transport(&self, label: &str) -> Result<Box<dyn Factory<Simulated>>, InputError> {
        let Some(choice) = self.transports.get(label) else {
            let labels = self.transports.labels();
            let problem = format!("there is no \"{label}\"; {}", allowed(label, labels));
            return Err(InputError::at("transports", problem));
        };
        let preset = choice.preset.as_deref().unwrap_or(label);
        let named = choice.preset.is_some();
        build(
            &format!("transports.{label}"),
            preset,
            named,
            &choice.options,
        )
    }

    /// The transport that is rolled out under this label, if there is one.
    ///
    /// # Errors
    /// As for [`transport`](Self::transport).
    pub fn upgrade(&self, label: &str) -> Result<Option<Box<dyn Factory<Simulated>>>, InputError> {
        let choice = self.transports.get(label);
        let Some(upgrade) = choice.and_then(|choice| choice.upgrade.as_ref()) else {
            return Ok(None);
        };
        let key = format!("transports.{label}.upgrade");
        build(&key, &upgrade.preset, true, &upgrade.options).map(Some)
    }

    /// Puts `presets` with their standard options in place of the transports under test, and leaves
    /// out all variants.
    pub fn compare<'a>(&mut self, presets: impl IntoIterator<Item = &'a str>) {
        self.branch = None;
        self.transports = presets
            .into_iter()
            .map(|preset| (preset.to_owned(), Choice::default()))
            .collect();
    }
}

/// Builds the transport of a table at `key`, whose preset is `named` by it or its label.
fn build(
    key: &str,
    preset: &str,
    named: bool,
    options: &toml::Table,
) -> Result<Box<dyn Factory<Simulated>>, InputError> {
    hopflow_simulated_hosts::build(preset, options).map_err(|error| {
        let (key, problem) = bad_option(key, named, &error);
        InputError::at(key, problem)
    })
}

/// What is wrong with a transport of a table at `key`, whose preset is `named` by it or its label.
fn bad_option(key: &str, named: bool, error: &ConfigError) -> (String, String) {
    let key = match error.key.as_str() {
        "preset" if named => format!("{key}.preset"),
        "preset" => key.to_owned(),
        ConfigError::OPTIONS => format!("{key}.options"),
        option => format!("{key}.options.{option}"),
    };
    let value = match error.value.as_str() {
        "" => String::new(),
        value => format!("is {value}; allowed is "),
    };
    let hint = if error.key == "preset" && !named {
        "; or add `preset = \"...\"` to a label of your own"
    } else {
        ""
    };
    (key, format!("{value}{}{hint}", error.allowed))
}
