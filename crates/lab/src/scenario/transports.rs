//! The transports under test.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A transport and its options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Choice {
    /// The transport's preset; by default the label.
    pub preset: Option<String>,
    /// Options that differ from the preset's; `hopflow list transports` names them.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub options: toml::Table,
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
