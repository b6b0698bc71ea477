//! Users with several circuits between the same two ends.

use std::fmt;

use hopflow_sim::spec::CircuitSpec;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor, value};

/// The circuits of a user beyond its first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Legs {
    /// So many paths in all. They are drawn like the first one, with its last relay; where the
    /// path leaves a choice their relays are other ones, as far as 1000 draws find such.
    Count(#[schemars(range(min = 2, max = 16))] u32),
    /// These further paths of named relays, with the last relay of the first one.
    Named(#[schemars(length(min = 1, max = 15))] Vec<Vec<String>>),
}

impl<'de> Deserialize<'de> for Legs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountOrPaths;

        impl<'de> Visitor<'de> for CountOrPaths {
            type Value = Legs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let most = CircuitSpec::MOST_PATHS;
                write!(
                    f,
                    "a number of paths from 2 to {most}, or further paths such as "
                )?;
                f.write_str("[[\"entry\", \"other-middle\", \"exit\"]]")
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Legs, E> {
                let most = CircuitSpec::MOST_PATHS;
                let count = u32::try_from(count)
                    .ok()
                    .filter(|count| (2..=most as u32).contains(count));
                count.map(Legs::Count).ok_or_else(|| {
                    E::custom(format_args!(
                        "allowed is a number of paths from 2 to {most}"
                    ))
                })
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Legs, E> {
                self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, paths: A) -> Result<Legs, A::Error> {
                let paths = value::SeqAccessDeserializer::new(paths);
                Vec::deserialize(paths).map(Legs::Named)
            }
        }

        deserializer.deserialize_any(CountOrPaths)
    }
}
