//! How the nodes of a scenario are joined.

use std::borrow::Cow;

use hopflow_sim::spec::QueueSpec;
use hopflow_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use super::quantity::{Distribution, Text};
use super::queue::Queue;

/// How the nodes are joined: `"star"`, or a table with one of the other keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// A hub without limits, and one access link per node.
    #[default]
    Star,
    /// Two continents, each around a router, and a link between the two.
    Dumbbell(Dumbbell),
    /// Routers as a tree; nodes are at its leaves unless they say otherwise.
    Tree(Tree),
    /// The routers and links of a TOML file with tables `[[links]]`, each with the keys `between`
    /// (two names of routers), `delay` and optionally `rate` and `queue`.
    Graph(String),
}

/// Two continents: North America (router `north-america`) and Europe (router `europe`).
///
/// A network draws the round-trip time between the continents once, and each node draws its share
/// of the round-trip time within its continent and, if it is a client, the rate of its access
/// link. Relays stand where the circuit file or the population says, others where they draw.
/// The distributions are those of `BackTap`'s evaluation (NSDI '16, section 4: iPlane, August 2015,
/// and Akamai, first quarter of 2015).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Dumbbell {
    /// Whether to repeat two choices of the published simulator: each access link has half of a
    /// round-trip time within the continent, so that two of them have twice as much as measured,
    /// and continents of relays are drawn, whatever the file says. False by default.
    pub as_published: bool,
    /// Round-trip times within North America.
    pub north_america: Option<Distribution<Duration>>,
    /// Round-trip times within Europe.
    pub europe: Option<Distribution<Duration>>,
    /// Round-trip times between the two.
    pub between: Option<Distribution<Duration>>,
}

/// Five quantiles of round-trip times in ms.
fn quartiles(millis: [u64; 5]) -> Distribution<Duration> {
    let probabilities = [0.0, 0.25, 0.5, 0.75, 1.0];
    let points = millis.map(Duration::from_millis).into_iter();
    Distribution::Points(points.zip(probabilities).collect())
}

/// Rates in Mbit/s, each with the share of clients that have at most this rate.
fn rates(points: [(u64, f64); 5]) -> Distribution<Rate> {
    let point = |(rate, share)| (Rate::from_megabits_per_sec(rate), share);
    Distribution::Points(points.map(point).into())
}

impl Dumbbell {
    /// The share of relays in Europe where they are drawn (the published simulator).
    pub(super) const RELAYS_IN_EUROPE: f64 = 0.68;

    /// Round-trip times within North America and within Europe.
    pub(super) fn within(&self) -> [Cow<'_, Distribution<Duration>>; 2] {
        [
            or_quartiles(self.north_america.as_ref(), [11, 29, 45, 73, 148]),
            or_quartiles(self.europe.as_ref(), [14, 27, 37, 48, 65]),
        ]
    }

    /// Round-trip times between the continents.
    pub(super) fn between(&self) -> Cow<'_, Distribution<Duration>> {
        or_quartiles(self.between.as_ref(), [78, 117, 132, 161, 252])
    }

    /// Rates of the access links of clients in North America and in Europe.
    pub(super) fn client_rates() -> [Distribution<Rate>; 2] {
        [
            rates([(1, 0.0), (4, 0.24), (10, 0.56), (15, 0.78), (54, 1.0)]),
            rates([(1, 0.0), (4, 0.14), (10, 0.69), (15, 0.86), (47, 1.0)]),
        ]
    }
}

fn or_quartiles(
    given: Option<&Distribution<Duration>>,
    millis: [u64; 5],
) -> Cow<'_, Distribution<Duration>> {
    given.map_or_else(|| Cow::Owned(quartiles(millis)), Cow::Borrowed)
}

/// Routers as a tree: router `root`, below it those of `level-1` (`level-1-1`, `level-1-2`, ...),
/// and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tree {
    /// How many routers each router of the level above has below it, from the root down.
    pub branches: Vec<u32>,
    /// One-way propagation delay of each link; 5 ms by default.
    #[serde(default = "tree_delay")]
    pub delay: Text<Duration>,
    /// Serialisation rate of each link; unlimited by default.
    #[serde(default)]
    pub rate: Option<Text<Rate>>,
    /// The queue in front of each direction; "100 packets" by default.
    #[serde(default)]
    pub queue: Option<Queue>,
}

const fn tree_delay() -> Text<Duration> {
    Text(Duration::from_millis(5))
}

/// Routers and links, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Graph {
    /// The routers' names.
    pub(super) routers: Vec<String>,
    pub(super) links: Vec<GraphLink>,
}

/// A link between two routers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphLink {
    pub(super) between: [usize; 2],
    pub(super) delay: Duration,
    pub(super) rate: Option<Rate>,
    pub(super) queue: QueueSpec,
}

/// The file of a graph.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct GraphFile {
    links: Vec<LinkInFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LinkInFile {
    between: [String; 2],
    delay: Text<Duration>,
    rate: Option<Text<Rate>>,
    queue: Option<Queue>,
}

impl Graph {
    /// The graph that a TOML file describes.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let file: GraphFile = toml::from_str(text)?;
        if file.links.is_empty() {
            return Err(toml::de::Error::custom(
                "links: the list is empty; allowed is one link or more",
            ));
        }
        let mut graph = Self::default();
        for link in file.links {
            let between = link.between.map(|name| graph.number(name));
            graph.links.push(GraphLink {
                between,
                delay: link.delay.0,
                rate: link.rate.map(|rate| rate.0),
                queue: link.queue.unwrap_or_default().0,
            });
        }
        Ok(graph)
    }

    fn number(&mut self, name: String) -> usize {
        let known = self.routers.iter().position(|router| *router == name);
        known.unwrap_or_else(|| {
            self.routers.push(name);
            self.routers.len() - 1
        })
    }
}

impl Tree {
    /// The tree as a graph; the routers of each level stand together, from the root down.
    pub(super) fn graph(&self) -> Graph {
        let mut graph = Graph {
            routers: vec!["root".to_owned()],
            links: Vec::new(),
        };
        let mut above = 0..1;
        for (level, branches) in self.branches.iter().enumerate() {
            let first = graph.routers.len();
            for parent in above {
                for _ in 0..*branches {
                    let number = graph.routers.len();
                    let name = format!("level-{}-{}", level + 1, number - first + 1);
                    graph.routers.push(name);
                    graph.links.push(GraphLink {
                        between: [parent, number],
                        delay: self.delay.0,
                        rate: self.rate.map(|rate| rate.0),
                        queue: self.queue.unwrap_or_default().0,
                    });
                }
            }
            above = first..graph.routers.len();
        }
        graph
    }
}
