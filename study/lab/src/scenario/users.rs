//! The circuits of a scenario and what their users do.

use std::borrow::Cow;
use std::sync::Arc;

use hopflow_random::Streams;
use hopflow_sim::spec;
use hopflow_traffic::{LiveCircuits, Model, Server, Users};
use hopflow_units::{Bytes, Duration};
use hopflow_wire::CELL_DATA;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::arrivals::Load;
use super::legs::Legs;
use super::limits::not_a_count;
use super::loaded::Loaded;
use super::network::Access;
use super::path::Path;
use super::quantity::{Distribution, Text, TextOr};
use super::rebuild::Rebuild;
use super::replay::Replay;

/// A group of circuits that are alike but for what they draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Circuits {
    /// Number of circuits in the group; 1 by default.
    // Zero, which no text can say, is a number that is not given.
    #[serde(default, deserialize_with = "one_or_more")]
    #[schemars(range(min = 1), default = "one")]
    pub count: u32,
    /// Circuits that begin per second, in place of `count`: so many times the duration. Without
    /// `start` and `arrivals` they begin at times that are drawn uniformly, as a Poisson process has
    /// them; with one of the two, all must start before the end. Users that do nothing in the simulated
    /// time need no circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub per_second: Option<f64>,
    /// The relays from entry to exit.
    pub path: Path,
    /// For a user with several circuits to the same exit over which its stream may go: the number
    /// of paths where they are drawn (2 to 16; other relays, the same exit), or further paths of
    /// named relays. One path by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legs: Option<Legs>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Distribution<Duration>>,
    /// In place of `start`: the load over time, in proportion to which users arrive, as pairs of a
    /// time and a factor that changes linearly between two of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Load>,
    /// How long the user stays before it leaves and its client closes its circuits; to the end by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stay: Option<Distribution<Duration>>,
    /// How long a user takes to have a new circuit, drawn as the first one was, after its client learned
    /// that a relay of its circuit has stopped; or `"never"`. 1 s by default, and for users that upload
    /// never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
}

const fn one() -> u32 {
    1
}

fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let count = u32::deserialize(deserializer)?;
    if count == 0 {
        return Err(serde::de::Error::custom(not_a_count(0)));
    }
    Ok(count)
}

const fn yes() -> bool {
    true
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

/// What results are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Responses.
    Download,
    /// Requests.
    Upload,
}

/// Bytes of data in a cell.
const ONE_CELL: Bytes = Bytes::new(CELL_DATA as u64);

/// What a user fetches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Workload {
    /// The class of the user, which sets what the other keys leave open.
    pub class: Class,
    /// The model that draws sizes and pauses, in place of those of the class: the name of a
    /// built-in one, or a file that `hopflow.traffic` wrote, which ends in `.safetensors` and is
    /// looked for where circuit files are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Objects of a page that are asked for at once, if there is a model; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub parallel: Option<u32>,
    /// Size of a response; that to an upload is one cell by default.
    pub response: Option<Response>,
    /// Size of a request; one cell by default, and for uploads the class's size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Response>,
    /// Which of the two results are about: `"download"`, the response, by default, or `"upload"`,
    /// the request, whose bytes count as delivered where they reach the exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Shortest and longest pause after a response, between which it is drawn uniformly.
    pub think: Option<[Text<Duration>; 2]>,
    /// Mean of the exponentially distributed time that the server takes to answer; 20 ms by default.
    pub server_delay: Option<Text<Duration>>,
    /// Longest time that the server takes to answer; 200 ms by default.
    pub server_delay_max: Option<Text<Duration>>,
    /// A file of recorded page loads, plain or compressed by gzip, that the user visits one after
    /// the other with the class's pauses between them, each drawn at random. It is looked for beside
    /// the scenario, in the current folder, and in the folder that the environment variable
    /// `HOPFLOW_DATA` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

impl Workload {
    /// The standard workload of a class.
    ///
    /// Sizes and pauses of Tor's users as the evaluation of BackTap sets them (NSDI '16, section
    /// 5.1); the server's delay is that of its published simulator.
    pub const fn of(class: Class) -> Self {
        Self {
            class,
            model: None,
            parallel: None,
            response: None,
            request: None,
            direction: None,
            think: None,
            server_delay: None,
            server_delay_max: None,
            replay: None,
        }
    }

    /// Whether results are about what is uploaded.
    pub(super) fn uploads(&self) -> bool {
        self.direction == Some(Direction::Upload)
    }

    /// The workload as the simulator knows it, with the class's values where nothing else is said.
    pub(super) fn traffic(&self, loaded: &Loaded) -> Arc<dyn spec::TrafficModel> {
        match &self.model {
            Some(name) if name == LiveCircuits::NAME => Arc::new(LiveCircuits::new(self.server())),
            Some(name) => Arc::new(self.users(loaded.traffic.get(name))),
            None => self.plain(loaded),
        }
    }

    fn server(&self) -> Server {
        let resolved = self.resolve();
        Server {
            delay: resolved.server_delay,
            longest: resolved.server_delay_max,
        }
    }

    /// Users of a learned model.
    fn users(&self, model: Arc<Model>) -> Users {
        let users = Users::new(model, self.class.into(), self.server());
        match self.parallel {
            Some(parallel) => users.with_parallel(parallel as usize),
            None => users,
        }
    }

    /// Fetches of one size, or recorded ones.
    fn plain(&self, loaded: &Loaded) -> Arc<dyn spec::TrafficModel> {
        let workload = self.resolve();
        if let Some(recording) = self.replay.as_ref().and_then(|name| loaded.recording(name)) {
            return Arc::new(Replay {
                recording,
                timing: workload,
            });
        }
        if self.request.is_none() && !self.uploads() {
            return Arc::new(workload);
        }
        let measured = match self.direction {
            Some(Direction::Upload) => hopflow_overlay::Direction::Forward,
            _ => hopflow_overlay::Direction::Backward,
        };
        let standard = if self.uploads() {
            self.class_size()
        } else {
            ONE_CELL
        };
        let request = self.request.unwrap_or(Response::Size(standard)).size();
        Arc::new(spec::Exchange {
            workload,
            request,
            measured,
        })
    }

    /// What a user of the class transfers at a time.
    const fn class_size(&self) -> Bytes {
        Bytes::new(match self.class {
            Class::Bulk => 5 << 20,
            Class::Web => 320 << 10,
        })
    }

    /// All but the requests, with the class's values where nothing else is said.
    pub(super) fn resolve(&self) -> spec::Workload {
        let think = match self.class {
            Class::Bulk => [0, 0],
            Class::Web => [1, 20],
        };
        let standard = if self.uploads() {
            ONE_CELL
        } else {
            self.class_size()
        };
        let response = self.response.unwrap_or(Response::Size(standard));
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

impl Circuits {
    /// When a user starts, and when it leaves, if it does not stay to the end.
    pub(super) fn times(&self, streams: Streams, number: u64) -> (Duration, Option<Duration>) {
        let start = match &self.arrivals {
            Some(load) => load.sample(&mut streams.stream("arrival", number)),
            None => {
                let mut stream = streams.stream("start", number);
                let start = self.start.as_ref();
                start.map_or(Duration::ZERO, |start| start.sample(&mut stream))
            }
        };
        let stay = self.stay.as_ref();
        let stay = stay.map(|stay| stay.sample(&mut streams.stream("stay", number)));
        (start, stay.map(|stay| start + stay))
    }

    /// How long the user takes to have a new circuit, if it has one.
    pub(super) fn rebuilds_after(&self) -> Option<Duration> {
        match self.rebuild {
            Some(Rebuild::After(time)) => Some(time),
            None if !self.workload.uploads() => Some(Duration::from_secs(1)),
            None | Some(Rebuild::Never) => None,
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
                "\"{text}\" is not a workload; {}",
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

/// Size of a response or of a request: an amount of data, or `"endless"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// So many bytes.
    Size(Bytes),
    /// One that never ends.
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
