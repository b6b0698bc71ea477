//! How the circuits of a scenario get their paths.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor, value};
use serde::{Deserialize, Serialize, Serializer};

/// The relays of a circuit from entry to exit.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// These relays; for the name of a group, a member that the path does not hold yet.
    Named(Vec<String>),
    /// So many different relays, drawn.
    Random(RandomPath),
    /// Relays of the network's source, selected as Tor's clients do.
    Tor(TorPath),
    /// That of a circuit drawn from the network's circuit file; no two circuits of a network take
    /// the same line.
    Published,
}

/// What says [`Path::Published`].
const PUBLISHED: &str = "published";

/// A path of relays that are drawn without repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RandomPath {
    /// Number of relays.
    #[schemars(range(min = 1))]
    pub random: u32,
    /// Whether a relay is drawn in proportion to its rate; false by default.
    #[serde(default)]
    pub weighted: bool,
}

/// A path of relays that are selected as Tor's clients do: by flags, weights, families and
/// networks of the relays of `network.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TorPath {
    /// Number of relays: a guard, an exit, and middles between them.
    #[schemars(range(min = 3))]
    pub tor: u32,
}

impl TorPath {
    /// The fewest relays: a guard, a middle and an exit.
    pub(super) const SHORTEST: u32 = 3;
}

/// The tables that a path may be written as, key by key.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Table {
    random: Option<u32>,
    weighted: Option<bool>,
    tor: Option<u32>,
}

impl Table {
    fn path(self) -> Result<Path, String> {
        match (self.random, self.weighted, self.tor) {
            (Some(random), weighted, None) => Ok(Path::Random(RandomPath {
                random,
                weighted: weighted.unwrap_or(false),
            })),
            (None, None, Some(tor)) => Ok(Path::Tor(TorPath { tor })),
            (None, Some(_), Some(_)) => {
                Err("the key \"weighted\" goes with \"random\"; Tor always weights".to_owned())
            }
            _ => Err("a path has exactly one of the keys \"random\" and \"tor\"".to_owned()),
        }
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesTextOrTable)
    }
}

struct NamesTextOrTable;

impl<'de> Visitor<'de> for NamesTextOrTable {
    type Value = Path;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a path: [\"entry\", \"middle\", \"exit\"], { random = 3 }, { tor = 3 }, or \
             \"published\"",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Path, E> {
        match text {
            PUBLISHED => Ok(Path::Published),
            text => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<Path, A::Error> {
        Vec::deserialize(value::SeqAccessDeserializer::new(names)).map(Path::Named)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Path, A::Error> {
        let table = Table::deserialize(value::MapAccessDeserializer::new(table))?;
        table.path().map_err(de::Error::custom)
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(names) => names.serialize(serializer),
            Self::Random(random) => random.serialize(serializer),
            Self::Tor(tor) => tor.serialize(serializer),
            Self::Published => serializer.serialize_str(PUBLISHED),
        }
    }
}

impl JsonSchema for Path {
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = json_schema!({
            "type": "array", "items": { "type": "string" }, "minItems": 1,
            "description": "Relays by name; the name of a group stands for one of its members.",
        });
        let published = json_schema!({
            "const": PUBLISHED, "description": "A line of the network's circuit file.",
        });
        let random = generator.subschema_for::<RandomPath>();
        let tor = generator.subschema_for::<TorPath>();
        json_schema!({ "anyOf": [names, random, tor, published] })
    }
}
