//! One warm-up for several variants of what follows, as scenarios write it.

use hopflow_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::any;
use super::quantity::Text;
use super::users::Circuits;

/// One warm-up for several variants of what follows.
///
/// Each transport runs once up to the time at which the variants part. From there on every variant
/// goes on from the same state, and so does the run that nothing changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Branch {
    /// When the variants part; at the end of the warm-up by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Text<Duration>>,
    /// The variants, besides the run that nothing changes.
    pub variants: Vec<Variant>,
}

/// What one variant changes when the variants part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variant {
    /// The name, of lower-case letters, digits, hyphens and underscores; results call the run
    /// `TRANSPORT/NAME`.
    #[schemars(regex(pattern = "^[a-z0-9_][a-z0-9_-]*$"))]
    pub name: String,
    /// Labels of the transports that have this variant; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transports: Option<Vec<String>>,
    /// A seed from which all is drawn anew that is drawn from then on: what users fetch, and what
    /// links lose, repeat and delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Options of the transport that change then; what neighbours have agreed on cannot.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(schema_with = "any")]
    pub options: toml::Table,
    /// Circuits whose users start then: `start` counts from when the variants part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circuits: Vec<Circuits>,
}

impl Variant {
    /// Whether runs of the transport with this label have the variant.
    pub(crate) fn is_of(&self, label: &str) -> bool {
        let labels = self.transports.as_ref();
        labels.is_none_or(|labels| labels.iter().any(|other| other == label))
    }

    pub(super) fn circuit_count(&self) -> usize {
        self.circuits.iter().map(|group| group.count as usize).sum()
    }
}
