//! Drawing the world of one seed from a scenario.
//!
//! Every draw comes from a stream of its own, named by what is drawn and numbered by the node or
//! circuit: adding a circuit changes no relay, and no transport changes anything.

use std::sync::Arc;

use hopflow_paths::{Population, PopulationRelay};
use hopflow_random::{Stream, Streams};
use hopflow_sim::spec::{
    AccessSpec, BucketSpec, CircuitSpec, CrossSpec, Fault, NodeSpec, Rebuilt, Sampling, WorldSpec,
};
use hopflow_units::{Duration, NodeId};

use super::faults;
use super::paths::Paths;
use super::place::{Map, Place, Resident};
use super::rebuild::Stops;
use super::tcp::Congestion;
use super::{Access, Bucket, Circuits, Scenario, Shaping};

/// What the names of clients begin with.
pub const CLIENT_PREFIX: &str = "client-";
/// What the names of the servers of `network.cross` begin with.
pub(super) const SERVER_PREFIX: &str = "server-";

impl Scenario {
    /// The world of one seed: the same for every transport.
    ///
    /// The scenario must have passed [`check`](Self::check).
    pub fn sample(&self, seed: u64) -> WorldSpec {
        let streams = Streams::new(seed);
        let mut sampler = Sampler::new(self, streams);
        sampler.relays();
        let faults = sampler.faults();
        sampler.stops = Stops::new(&faults, self.duration.0);
        let relays = sampler.nodes.clone();
        let mut paths = Paths::new(self, sampler.population.clone(), &relays, streams);
        sampler.circuits(&mut paths);
        sampler.cross();
        sampler.variants(&mut paths);
        let Sampler {
            nodes,
            circuits,
            cross,
            map,
            ..
        } = sampler;
        let mut world = WorldSpec {
            nodes,
            backbone: map.into_backbone(),
            circuits,
            cross,
            faults,
            end: self.duration.0,
            seed,
            sampling: Sampling {
                circuits: Some(self.record.circuits.0),
                hops: self.record.hops.map(|interval| interval.0),
                from: self.warm_up.0,
            },
            #[expect(
                clippy::default_trait_access,
                reason = "the type belongs to the simulator"
            )]
            tcp: Default::default(),
            tls: false,
        };
        self.network.tcp.apply(&mut world);
        world
    }
}

/// A world that is being drawn.
struct Sampler<'a> {
    scenario: &'a Scenario,
    streams: Streams,
    /// The relays of the scenario's source in this network.
    population: Option<Arc<Population>>,
    map: Map<'a>,
    stops: Stops,
    nodes: Vec<NodeSpec>,
    circuits: Vec<CircuitSpec>,
    cross: Vec<CrossSpec>,
}

impl<'a> Sampler<'a> {
    fn new(scenario: &'a Scenario, streams: Streams) -> Self {
        let graph = scenario.loaded.graph.as_ref();
        Self {
            scenario,
            streams,
            population: scenario.population(streams),
            map: Map::new(&scenario.network.topology, graph, streams),
            stops: Stops::new(&[], scenario.duration.0),
            nodes: Vec::new(),
            circuits: Vec::new(),
            cross: Vec::new(),
        }
    }

    /// The relays that the scenario lists, then those of its source.
    fn relays(&mut self) {
        let network = &self.scenario.network;
        let streams = self.streams;
        for relays in &network.relays {
            let access = relays.access.or(&network.access);
            let bucket = Shaping::or(relays.bucket.as_ref(), &network.bucket);
            for name in relays.members() {
                let number = self.nodes.len() as u64;
                let bucket =
                    bucket.resolve(|rate| rate.sample(&mut streams.stream("relay bucket", number)));
                let resident = Resident {
                    kind: "relay",
                    number,
                    at: relays.at.as_deref(),
                    continent: None,
                };
                self.node(name, &access, bucket, resident);
            }
        }
        self.relays_of_source();
    }

    /// What goes wrong at the relays.
    fn faults(&self) -> Vec<Fault> {
        let Scenario {
            faults: groups,
            network,
            duration,
            ..
        } = self.scenario;
        faults::draw(groups, network, &self.nodes, duration.0, self.streams)
    }

    fn relays_of_source(&mut self) {
        let network = &self.scenario.network;
        let defaults = match &network.bucket {
            Shaping::Bucket(bucket) => bucket.clone(),
            Shaping::Unlimited => Bucket::default(),
        };
        let Some(population) = self.population.clone() else {
            return;
        };
        for PopulationRelay { relay, .. } in &population.relays {
            let resident = Resident {
                kind: "relay",
                number: self.nodes.len() as u64,
                at: None,
                continent: Some(relay.continent),
            };
            let bucket = defaults.with_rate(relay.bandwidth);
            self.node(relay.name.clone(), &network.access, Some(bucket), resident);
        }
    }

    /// Adds a node.
    fn node(
        &mut self,
        name: String,
        access: &Access,
        bucket: Option<BucketSpec>,
        resident: Resident<'_>,
    ) -> NodeId {
        let place = self.map.place(resident);
        let access = draw_access(access, self.streams, resident, place);
        self.nodes.push(NodeSpec {
            name,
            access,
            bucket,
        });
        NodeId::new(self.nodes.len() as u32 - 1)
    }

    fn circuits(&mut self, paths: &mut Paths<'_>) {
        for group in &self.scenario.circuits {
            self.group(group, paths);
        }
    }

    /// Adds the circuits of variants, whose users wait until they are started.
    fn variants(&mut self, paths: &mut Paths<'_>) {
        let own = self.circuits.len();
        let variants = self.scenario.variants().iter();
        for group in variants.flat_map(|variant| &variant.circuits) {
            self.group(group, paths);
        }
        for circuit in &mut self.circuits[own..] {
            circuit.start = Duration::MAX;
        }
    }

    /// Adds the circuits of a group.
    fn group(&mut self, group: &Circuits, paths: &mut Paths<'_>) {
        let streams = self.streams;
        for _ in 0..group.count {
            let number = self.circuits.len() as u64;
            let mut drawn_from = ["path", "legs"].map(|what| streams.stream(what, number));
            let first = draw_paths(paths, group, &mut drawn_from);
            let (path, legs) = first.expect("the check drew such paths");
            let client = group.client.then(|| self.client(group, number));
            let (path, legs) = with_client(client, (path, legs));
            let rebuilt = self.rebuilt(paths, (group, client), (&path, &legs));
            let (start, leave) = group.times(streams, number);
            self.circuits.push(CircuitSpec {
                path,
                legs,
                class: group.workload.class.into(),
                workload: group.workload.traffic(&self.scenario.loaded),
                start,
                leave,
                rebuilt,
            });
        }
    }

    /// The circuits that the next user has after relays stopped.
    fn rebuilt(
        &self,
        paths: &mut Paths<'_>,
        (group, client): (&Circuits, Option<NodeId>),
        (path, legs): (&[NodeId], &[Vec<NodeId>]),
    ) -> Vec<Rebuilt> {
        let Some(after) = group.rebuilds_after() else {
            return Vec::new();
        };
        let number = self.circuits.len() as u64;
        let names = ["path again", "legs again"];
        let mut drawn_from = names.map(|what| self.streams.stream(what, number));
        // A published path is one line of a file, and a relay that acts as the client stays.
        let fixed = client.is_none() || group.path == super::Path::Published;
        let first = (path.to_vec(), legs.to_vec());
        self.stops.rebuilt(first, after, || {
            if fixed {
                return None;
            }
            let drawn = draw_paths(paths, group, &mut drawn_from)?;
            Some(with_client(client, drawn))
        })
    }

    fn client(&mut self, group: &Circuits, number: u64) -> NodeId {
        let network = &self.scenario.network;
        let access = group.access.or(&network.clients);
        let resident = Resident {
            kind: "client",
            number,
            at: group.at.as_deref(),
            continent: None,
        };
        // The rate that a place has for clients counts more than that of the network's nodes.
        let place_rate = matches!(network.topology, super::Topology::Dumbbell(_));
        let mut defaults = network.access.clone();
        if place_rate {
            defaults.rate = None;
        }
        self.node(
            format!("{CLIENT_PREFIX}{number}"),
            &access.or(&defaults),
            None,
            resident,
        )
    }

    fn cross(&mut self) {
        let network = &self.scenario.network;
        let streams = self.streams;
        for group in &network.cross {
            let to = NodeId::new(network.numbers(&group.to).start as u32);
            for _ in 0..group.count {
                let number = self.cross.len() as u64;
                let resident = Resident {
                    kind: "server",
                    number,
                    at: None,
                    continent: None,
                };
                let access = group.access.or(&network.access);
                let from = self.node(format!("{SERVER_PREFIX}{number}"), &access, None, resident);
                self.cross.push(CrossSpec {
                    from,
                    to,
                    start: group
                        .start
                        .sample(&mut streams.stream("cross start", number)),
                    algorithm: group.congestion.map(Congestion::algorithm),
                });
            }
        }
    }
}

/// The path of a circuit of a group, and its further ones, each drawn from a stream; none if there is
/// no such path.
fn draw_paths(
    paths: &mut Paths<'_>,
    group: &Circuits,
    [of_path, of_legs]: &mut [Stream; 2],
) -> Option<(Vec<NodeId>, Vec<Vec<NodeId>>)> {
    let path = paths.draw(&group.path, of_path)?;
    let legs = paths.draw_legs(group, &path, of_legs);
    Some((path, legs))
}

/// The paths with the client in front, if it is a node of its own.
fn with_client(
    client: Option<NodeId>,
    (mut path, mut legs): (Vec<NodeId>, Vec<Vec<NodeId>>),
) -> (Vec<NodeId>, Vec<Vec<NodeId>>) {
    if let Some(client) = client {
        for path in std::iter::once(&mut path).chain(&mut legs) {
            path.insert(0, client);
        }
    }
    (path, legs)
}

/// Draws an access link; what the place says counts, but for the rate that the scenario gives.
fn draw_access(access: &Access, streams: Streams, node: Resident<'_>, place: Place) -> AccessSpec {
    let Resident { kind, number, .. } = node;
    let mut link = access.resolve(
        |rate| rate.sample(&mut streams.stream(&format!("{kind} rate"), number)),
        |delay| delay.sample(&mut streams.stream(&format!("{kind} delay"), number)),
    );
    if let Some(delay) = place.delay {
        link.delay = delay;
    }
    if let (Some(rate), "client", None) = (place.client_rate, kind, &access.rate) {
        link.rate = rate;
    }
    link
}
