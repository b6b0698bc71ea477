//! Queues in front of links.

use std::borrow::Cow;

use hopflow_config::packets;
use hopflow_sim::spec::QueueSpec;
use hopflow_units::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::quantity::{Text, TextOr};

/// A queue in front of a link: `"100 packets"`, or a table that chooses `codel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub QueueSpec);

impl Default for Queue {
    fn default() -> Self {
        Self(QueueSpec::DropTail { packets: 100 })
    }
}

/// Controlled delay, RFC 8289.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Codel {
    codel: CodelTimes,
    /// Packets that wait at most.
    limit: String,
}

/// The two parameters of controlled delay.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CodelTimes {
    /// Sojourn time that is acceptable for long; RFC 8289 recommends 5 ms.
    target: Text<Duration>,
    /// Time in which the sojourn time must fall below the target once; RFC 8289 recommends 100 ms.
    interval: Text<Duration>,
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr {
            expected: "a queue: \"100 packets\", or { codel = { target, interval }, limit }"
                .to_owned(),
            from_text: |text| {
                let packets = packets(text)?;
                Ok(Self(QueueSpec::DropTail { packets }))
            },
            from_table: |table: Codel| {
                Ok(Self(QueueSpec::CoDel {
                    target: table.codel.target.0,
                    interval: table.codel.interval.0,
                    packets: packets(&table.limit)?,
                }))
            },
        })
    }
}

impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            QueueSpec::DropTail { packets } => {
                serializer.collect_str(&format_args!("{packets} packets"))
            }
            QueueSpec::CoDel {
                target,
                interval,
                packets,
            } => Codel {
                codel: CodelTimes {
                    target: Text(target),
                    interval: Text(interval),
                },
                limit: format!("{packets} packets"),
            }
            .serialize(serializer),
        }
    }
}

impl JsonSchema for Queue {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = json_schema!({
            "type": "string", "pattern": r"^\s*[0-9]+\s*packets\s*$", "examples": ["100 packets"],
        });
        json_schema!({
            "description": "A drop-tail queue of so many packets, or controlled delay (RFC 8289).",
            "anyOf": [text, generator.subschema_for::<Codel>()],
        })
    }
}
