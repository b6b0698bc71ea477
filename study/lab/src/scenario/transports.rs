//! The transports under test.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::options::any;

/// A transport and its options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Choice {
    /// The transport's preset; by default the label.
    pub preset: Option<String>,
    /// Options that differ from the preset's; `hopflow schema` lists them.
    #[serde(default)]
    #[schemars(schema_with = "any")]
    pub options: toml::Table,
    /// Another transport that part of the nodes have: a roll-out in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
}

/// A transport that is being rolled out.
///
/// Each node draws once whether it has it, so that a node that has it at some fraction has it at all
/// larger ones. A circuit takes it if all its nodes have it, and the old one otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Upgrade {
    /// The transport's preset.
    pub preset: String,
    /// Options that differ from the preset's.
    #[serde(default)]
    #[schemars(schema_with = "any")]
    pub options: toml::Table,
    /// The share of clients that have it, from 0 to 1; 1 by default.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub clients: f64,
    /// The share of relays that have it; 1 by default.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub relays: f64,
    /// The share of relays that have it where they are a circuit's exit; 1 by default.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub exits: f64,
}

const fn all() -> f64 {
    1.0
}

impl Upgrade {
    /// The shares, by their keys.
    pub(super) const fn shares(&self) -> [(&'static str, f64); 3] {
        [
            ("clients", self.clients),
            ("relays", self.relays),
            ("exits", self.exits),
        ]
    }
}

/// Transports by their label, in the order in which they were written: the first is the one that
/// reports compare the others with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transports(Vec<(String, Choice)>);

impl Transports {
    /// The transport of this label.
    pub fn get(&self, label: &str) -> Option<&Choice> {
        let found = self.0.iter().find(|(other, _)| other == label);
        found.map(|(_, choice)| choice)
    }

    /// The labels with their transports.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Choice)> {
        self.0
            .iter()
            .map(|(label, choice)| (label.as_str(), choice))
    }

    /// The labels.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(label, _)| label.as_str())
    }

    /// Number of transports.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Choice)> for Transports {
    /// Of transports with the same label the first counts.
    fn from_iter<I: IntoIterator<Item = (String, Choice)>>(choices: I) -> Self {
        let mut transports = Self::default();
        for (label, choice) in choices {
            if transports.get(&label).is_none() {
                transports.0.push((label, choice));
            }
        }
        transports
    }
}

impl<'de> Deserialize<'de> for Transports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Transports;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tables such as [transports.vanilla]")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Transports, A::Error> {
                let mut choices = Vec::new();
                while let Some(choice) = map.next_entry()? {
                    choices.push(choice);
                }
                Ok(Transports(choices))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

impl Serialize for Transports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(label, choice)| (label, choice)))
    }
}

impl JsonSchema for Transports {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Transports".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, Choice>::json_schema(generator)
    }
}
