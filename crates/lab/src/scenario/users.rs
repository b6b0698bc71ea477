//! The circuits of a scenario and what their users do.

use std::borrow::Cow;

use hopflow_sim::spec;
use hopflow_units::{Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::network::Access;
use super::path::Path;
use super::quantity::{Distribution, Text, TextOr};

/// A group of circuits that are alike but for what they draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Circuits {
    /// Number of circuits in the group; 1 by default.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The relays from entry to exit.
    pub path: Path,
    /// Whether each circuit has a client node of its own in front of the first relay; true by
    /// default. Without one the first relay acts as the client.
    #[serde(default = "yes")]
    pub client: bool,
    /// The client's access link, as far as it differs from that of the network's clients.
    #[serde(default)]
    pub access: Access,
    /// The router at which the clients are, or the level of a tree whose routers they take in turn.
    #[serde(default)]
    pub at: Option<String>,
    /// What the user fetches: `"bulk"`, `"web"`, or a table that changes one of the two.
    #[serde(deserialize_with = "text_or_table")]
    #[schemars(schema_with = "text_or_table_schema")]
    pub workload: Workload,
    /// When the user starts; at once by default.
    #[serde(default = "at_once")]
    pub start: Distribution<Duration>,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

pub(super) const fn at_once() -> Distribution<Duration> {
    Distribution::Fixed(Duration::ZERO)
}

/// The classes of users that the papers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Downloads of 5 MiB back to back.
    Bulk,
    /// Pages of 320 KiB with pauses between 1 s and 20 s.
    Web,
}

/// What a user fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Workload {
    /// The class of the user, which sets what the other keys leave open.
    pub class: Class,
    /// Size of a response.
    pub response: Option<Response>,
    /// Shortest and longest pause after a response, between which it is drawn uniformly.
    pub think: Option<[Text<Duration>; 2]>,
    /// Mean of the exponentially distributed time that the server takes to answer; 20 ms by default.
    pub server_delay: Option<Text<Duration>>,
    /// Longest time that the server takes to answer; 200 ms by default.
    pub server_delay_max: Option<Text<Duration>>,
}

impl Workload {
    /// The standard workload of a class.
    ///
    /// Sizes and pauses of Tor's users as the evaluation of BackTap sets them (NSDI '16, section
    /// 5.1); the server's delay is that of its published simulator.
    pub const fn of(class: Class) -> Self {
        Self {
            class,
            response: None,
            think: None,
            server_delay: None,
            server_delay_max: None,
        }
    }

    /// The workload with the class's values where nothing else is said.
    pub(super) fn resolve(&self) -> spec::Workload {
        let (response, think) = match self.class {
            Class::Bulk => (5 << 20, [0, 0]),
            Class::Web => (320 << 10, [1, 20]),
        };
        let response = self
            .response
            .unwrap_or(Response::Size(Bytes::new(response)));
        let [low, high] = self
            .think
            .unwrap_or(think.map(|secs| Text(Duration::from_secs(secs))));
        let or_millis = |delay: Option<Text<Duration>>, millis| {
            delay.map_or(Duration::from_millis(millis), |delay| delay.0)
        };
        spec::Workload {
            response: response.size(),
            think: (low.0, high.0),
            server_delay: or_millis(self.server_delay, 20),
            server_delay_max: or_millis(self.server_delay_max, 200),
        }
    }
}

impl From<Class> for spec::Class {
    fn from(class: Class) -> Self {
        match class {
            Class::Bulk => Self::Bulk,
            Class::Web => Self::Web,
        }
    }
}

/// Reads `"bulk"`, `"web"`, or a table.
fn text_or_table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
    deserializer.deserialize_any(TextOr {
        expected: "a workload: \"bulk\", \"web\", or a table with the key `class`".to_owned(),
        from_text: |text| match text {
            "bulk" => Ok(Workload::of(Class::Bulk)),
            "web" => Ok(Workload::of(Class::Web)),
            text => Err(format!(
                "\"{text}\" is no workload; {}",
                super::allowed(text, ["bulk", "web"])
            )),
        },
        from_table: Ok,
    })
}

fn text_or_table_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "What the user fetches: a class of users, or a table that changes one.",
        "anyOf": [{ "enum": ["bulk", "web"] }, generator.subschema_for::<Workload>()],
    })
}

/// Size of a response: an amount of data, or `"endless"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// So many bytes.
    Size(Bytes),
    /// One response that never ends.
    Endless,
}

impl Response {
    const fn size(self) -> Option<Bytes> {
        match self {
            Self::Size(size) => Some(size),
            Self::Endless => None,
        }
    }
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "endless" => Ok(Self::Endless),
            text => text
                .parse()
                .map(Self::Size)
                .map_err(|error| serde::de::Error::custom(format_args!("{error}; or \"endless\""))),
        }
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Size(size) => serializer.collect_str(size),
            Self::Endless => serializer.serialize_str("endless"),
        }
    }
}

impl JsonSchema for Response {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Response".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = Text::<Bytes>::json_schema(generator);
        json_schema!({ "anyOf": [{ "const": "endless" }, size] })
    }
}
