//! Where the nodes of a sampled network are.

use std::sync::Arc;

use hopflow_paths::Continent;
use hopflow_random::Streams;
use hopflow_sim::spec::{Backbone, BackboneLink, QueueSpec};
use hopflow_units::{Duration, Rate};

use super::topology::{Dumbbell, Graph, Topology};

/// The routers of a sampled network, and the nodes that were placed at them.
#[derive(Debug)]
pub(super) struct Map<'a> {
    streams: Streams,
    ground: Ground<'a>,
    router_of: Vec<u32>,
}

#[derive(Debug)]
enum Ground<'a> {
    Star,
    Dumbbell(&'a Dumbbell),
    Graph(Arc<Graph>, Leaves),
}

/// The routers of a graph at which nodes are unless they say otherwise, one after another.
#[derive(Debug)]
struct Leaves {
    routers: Vec<usize>,
    next: usize,
}

/// What a node is, as far as it decides where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resident<'n> {
    /// `"relay"` or `"client"`: names the random streams.
    pub(super) kind: &'static str,
    /// Its number among its kind.
    pub(super) number: u64,
    /// The router, or the beginning of the names of several, that the scenario asks for.
    pub(super) at: Option<&'n str>,
    /// The continent, if it is known.
    pub(super) continent: Option<Continent>,
}

/// What a place sets of a node's access link; what it leaves open the scenario says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) delay: Option<Duration>,
    pub(super) client_rate: Option<Rate>,
}

/// The names of a dumbbell's routers.
pub(super) const CONTINENTS: [&str; 2] = ["north-america", "europe"];

impl<'a> Map<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        graph: Option<&Arc<Graph>>,
        streams: Streams,
    ) -> Self {
        let ground = match (topology, graph) {
            (Topology::Dumbbell(dumbbell), _) => Ground::Dumbbell(dumbbell),
            (Topology::Tree(_) | Topology::Graph(_), Some(graph)) => {
                Ground::Graph(Arc::clone(graph), Leaves::of(graph))
            }
            _ => Ground::Star,
        };
        Self {
            streams,
            ground,
            router_of: Vec::new(),
        }
    }

    /// Places the next node of the world.
    pub(super) fn place(&mut self, node: Resident<'_>) -> Place {
        let streams = self.streams;
        let (router, place) = match &mut self.ground {
            Ground::Star => (0, Place::default()),
            Ground::Dumbbell(dumbbell) => dumbbell.place(node, streams),
            Ground::Graph(graph, leaves) => (leaves.place(graph, node.at), Place::default()),
        };
        self.router_of.push(router);
        place
    }

    /// The network with all the nodes that were placed.
    pub(super) fn into_backbone(self) -> Backbone {
        let links = match &self.ground {
            Ground::Star => return Backbone::default(),
            Ground::Dumbbell(dumbbell) => vec![dumbbell.link(self.streams)],
            Ground::Graph(graph, _) => {
                let links = graph.links.iter().map(|link| BackboneLink {
                    between: link.between.map(|router| router as u32),
                    rate: link.rate,
                    delay: link.delay,
                    queue: link.queue,
                });
                links.collect()
            }
        };
        Backbone {
            router_of: self.router_of,
            links,
        }
    }
}

impl Leaves {
    fn of(graph: &Graph) -> Self {
        let degree = |router: usize| {
            let ends = graph.links.iter().flat_map(|link| link.between);
            ends.filter(|end| *end == router).count()
        };
        let routers = 0..graph.routers.len();
        let leaves: Vec<_> = routers
            .clone()
            .filter(|router| degree(*router) == 1)
            .collect();
        Self {
            routers: if leaves.is_empty() {
                routers.collect()
            } else {
                leaves
            },
            next: 0,
        }
    }

    /// Nodes take turns over the routers that may hold them.
    fn place(&mut self, graph: &Graph, at: Option<&str>) -> u32 {
        let turn = self.next;
        self.next += 1;
        let wanted: Vec<usize> = match at {
            None => self.routers.clone(),
            Some(at) => graph.matching(at).collect(),
        };
        wanted[turn % wanted.len()] as u32
    }
}

impl Graph {
    /// The router of this name, or else all whose names continue it after a hyphen.
    pub(super) fn matching(&self, at: &str) -> impl Iterator<Item = usize> {
        let exact = self.routers.iter().any(|router| router == at);
        let routers = self.routers.iter().enumerate();
        routers.filter_map(move |(number, router)| {
            let rest = router.strip_prefix(at)?;
            (rest.is_empty() || !exact && rest.starts_with('-')).then_some(number)
        })
    }
}

impl Dumbbell {
    fn place(&self, node: Resident<'_>, streams: Streams) -> (u32, Place) {
        let draw = |what: &str| streams.stream(&format!("{} {what}", node.kind), node.number);
        let known = node.continent.filter(|_| !self.as_published);
        let at = node
            .at
            .and_then(|at| CONTINENTS.iter().position(|name| *name == at));
        let europe_share = match node.kind {
            "relay" => Self::RELAYS_IN_EUROPE,
            _ => 0.5,
        };
        let side = at.unwrap_or_else(|| match known {
            Some(Continent::NorthAmerica | Continent::SouthAmerica) => 0,
            Some(_) => 1,
            None => usize::from(draw("continent").bernoulli(europe_share)),
        });
        let rtt = self.within()[side].sample(&mut draw("delay"));
        // Two nodes of a continent have two access links, each passed twice in a round trip.
        let delay = Duration::from_nanos(rtt.as_nanos() / if self.as_published { 2 } else { 4 });
        let client_rate = Self::client_rates()[side].sample(&mut draw("rate"));
        let place = Place {
            delay: Some(delay),
            client_rate: Some(client_rate),
        };
        (side as u32, place)
    }

    /// The link between the continents: what the access links leave of the round-trip time.
    fn link(&self, streams: Streams) -> BackboneLink {
        let between = self
            .between()
            .sample(&mut streams.stream("between continents", 0));
        let within = self.within().into_iter().zip(1..);
        let access: u64 = within
            .map(|(rtt, number)| {
                if self.as_published {
                    let mut stream = streams.stream("between continents", number);
                    rtt.sample(&mut stream).as_nanos() / 2
                } else {
                    (rtt.mean() / 4.0) as u64
                }
            })
            .sum();
        let rest = (between.as_nanos() / 2).saturating_sub(access);
        BackboneLink {
            between: [0, 1],
            rate: None,
            delay: Duration::from_nanos(rest).max(Duration::from_millis(1)),
            queue: QueueSpec::DropTail { packets: 100 },
        }
    }
}
