//! Building a world from its specification.

use std::collections::{BTreeMap, VecDeque};

use hopflow_overlay::{
    BucketConfig, CircuitHandle, CircuitSpec as OverlayCircuit, Factory, HopSpec, Multiplexing,
    NodeEnv, Plan, StreamSpec,
};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::Carrier;

use super::backbone::Backbone;
use super::cross::CrossFlow;
use super::reading::Reading;
use super::legs::LegRecorder;
use super::streams::Connections;
use super::users::{User, Way};
use super::{Counters, End, Neighbour, Node, Packets, Rare, Recorder, World};
use crate::engine::Agenda;
use crate::net::{Link, LinkConfig};
use crate::payload::Simulated;
use crate::spec::{BucketSpec, CircuitSpec, CrossSpec, NodeSpec, SpecError, WorldSpec};
use hopflow_random::Streams;

/// The stream of a user on its circuit.
const STREAM: StreamId = StreamId::new(1);

/// A world under construction.
struct Builder<'a> {
    spec: &'a WorldSpec,
    plan: Plan,
    random: Streams,
    nodes: Vec<Node>,
    connections: Connections,
    /// Circuits so far; a user has one for each of its paths.
    circuits: u32,
    users: Vec<User>,
    cross: Vec<CrossFlow>,
    /// Links by the pair of nodes, lower one first, and the circuit if it has its own.
    links: BTreeMap<(u32, u32, Option<u32>), SharedLink>,
}

/// A link between two nodes, as each of them numbers it.
#[derive(Clone, Copy)]
struct SharedLink {
    ends: [LinkId; 2],
    circuits: u16,
}

impl World {
    /// Builds a world.
    ///
    /// # Errors
    /// If the specification makes no sense.
    pub fn new(spec: &WorldSpec, factory: &dyn Factory<Simulated>) -> Result<Self, SpecError> {
        spec.validate()?;
        let random = Streams::new(spec.seed);
        let plan = factory.plan();
        let mut builder = Builder {
            spec,
            random,
            nodes: Vec::new(),
            connections: Connections::new(plan.kist.is_some()),
            circuits: 0,
            users: Vec::new(),
            cross: Vec::new(),
            links: BTreeMap::new(),
            plan,
        };
        for (index, node) in spec.nodes.iter().enumerate() {
            builder.add_node(index as u32, node, factory);
        }
        for (index, circuit) in spec.circuits.iter().enumerate() {
            let ways = circuit.paths().map(|path| builder.add_circuit(path));
            let ways = ways.collect::<Result<_, _>>()?;
            builder.add_user(index as u32, circuit, ways);
        }
        for flow in &spec.cross {
            builder.add_cross(flow);
        }
        Ok(builder.finish())
    }
}

impl Builder<'_> {
    fn add_node(&mut self, index: u32, spec: &NodeSpec, factory: &dyn Factory<Simulated>) {
        let mut random = self.random.stream("node", u64::from(index));
        let bucket = spec
            .bucket
            .map(|bucket| self.bucket(&bucket, random.unit()));
        let pays_for_reading = spec.bucket.is_some_and(|bucket| bucket.reading);
        // Datagrams cannot be left unread.
        let (reading, bucket) = match bucket {
            Some(bucket) if pays_for_reading && self.plan.carrier == Carrier::Stream => {
                (Some(Reading::new(bucket)), None)
            }
            bucket => (None, bucket),
        };
        let env = NodeEnv {
            node: NodeId::new(index),
            bucket,
            access: Some(spec.access.rate),
            phase: random.unit(),
        };
        let link = LinkConfig::from(&spec.access);
        self.nodes.push(Node {
            name: spec.name.clone(),
            host: factory.node(&env),
            up: Link::new(link.clone()),
            down: Link::new(link),
            up_rng: self.random.stream("uplink", u64::from(index)),
            down_rng: self.random.stream("downlink", u64::from(index)),
            links: Vec::new(),
            ends: Vec::new(),
            waiting: VecDeque::new(),
            room_at: None,
            reading,
        });
    }

    fn bucket(&self, spec: &BucketSpec, phase: f64) -> BucketConfig {
        let interval = spec.interval.unwrap_or(self.plan.refill);
        let depth = spec
            .depth
            .unwrap_or_else(|| spec.rate.bytes_in(Duration::from_secs(1)));
        let phase = Duration::from_nanos((interval.as_nanos() as f64 * phase) as u64);
        // A bucket that cannot hold a cell would never let one out.
        BucketConfig {
            rate: spec.rate,
            depth: depth.max(Bytes::new(2048)),
            interval,
            phase,
        }
    }

    /// The link between two nodes for a circuit, and the circuit's name on it.
    fn link(&mut self, from: u32, to: u32, circuit: u32) -> Result<SharedLink, SpecError> {
        let own = (self.plan.multiplexing == Multiplexing::PerCircuit).then_some(circuit);
        let (low, high) = (from.min(to), from.max(to));
        let nodes = &mut self.nodes;
        let connections = &mut self.connections;
        let stream = self.plan.carrier == Carrier::Stream;
        let link = self.links.entry((low, high, own)).or_insert_with(|| {
            let ends = [low, high].map(|node| nodes[node as usize].host.add_link());
            let connection =
                stream.then(|| connections.add([(low, ends[0]), (high, ends[1])], &self.spec.tcp));
            for (side, (node, peer)) in [(low, high), (high, low)].into_iter().enumerate() {
                nodes[node as usize].links.push(Neighbour {
                    node: peer,
                    link: ends[1 - side],
                    connection: connection.map(|ends| ends[side]),
                });
            }
            SharedLink { ends, circuits: 0 }
        });
        let result = *link;
        let Some(circuits) = link.circuits.checked_add(1) else {
            let names = [low, high].map(|node| self.spec.nodes[node as usize].name.clone());
            let text = format!(
                "{} and {} share more than 65535 circuits",
                names[0], names[1]
            );
            return Err(SpecError(text));
        };
        link.circuits = circuits;
        Ok(result)
    }

    /// A connection beside the overlay: a link of the two nodes that no circuit uses.
    fn add_cross(&mut self, spec: &CrossSpec) {
        let ends =
            [spec.from, spec.to].map(|node| (node.get(), self.nodes[node.index()].host.add_link()));
        let flow = self.cross.len();
        let connection = self.connections.add(ends, &self.spec.tcp);
        for side in [0, 1] {
            self.connections.beside_overlay(connection[side], flow);
            let (peer, link) = ends[1 - side];
            self.nodes[ends[side].0 as usize].links.push(Neighbour {
                node: peer,
                link,
                connection: Some(connection[side]),
            });
        }
        self.cross.push(CrossFlow::new(connection));
    }

    fn add_circuit(&mut self, path: &[NodeId]) -> Result<Way, SpecError> {
        let path: Vec<u32> = path.iter().map(|node| node.get()).collect();
        let number = self.circuits;
        self.circuits += 1;
        let mut sides = vec![(None, None); path.len()];
        for hop in 0..path.len() - 1 {
            let (from, to) = (path[hop], path[hop + 1]);
            let link = self.link(from, to, number)?;
            let circuit = CircuitId::new(link.circuits);
            let queue_limit = self.plan.queue_limit;
            let (near, far) = if from < to { (0, 1) } else { (1, 0) };
            sides[hop].1 = Some(HopSpec {
                link: link.ends[near],
                circuit,
                queue_limit,
            });
            sides[hop + 1].0 = Some(HopSpec {
                link: link.ends[far],
                circuit,
                queue_limit,
            });
        }
        let name = |hop: &HopSpec| (hop.link, hop.circuit);
        let names = [
            sides
                .iter()
                .filter_map(|side| side.1.as_ref().map(name))
                .collect(),
            sides
                .iter()
                .rev()
                .filter_map(|side| side.0.as_ref().map(name))
                .collect(),
        ];
        let hops: Vec<(u32, CircuitHandle)> = path
            .iter()
            .zip(sides)
            .map(|(&node, (prev, next))| {
                let spec = OverlayCircuit { prev, next };
                (node, self.nodes[node as usize].host.open_circuit(&spec))
            })
            .collect();
        Ok(Way { hops, names })
    }

    fn add_user(&mut self, index: u32, spec: &CircuitSpec, ways: Vec<Way>) {
        let streams = [End::Client, End::Exit].map(|end| {
            let (node, _) = ways[0].end(end);
            let legs: Vec<_> = ways.iter().map(|way| way.end(end).1).collect();
            // What waits for the cells of other circuits is bounded as a circuit's queue is.
            let hold = match legs.len() {
                1 => Cells::ZERO,
                _ => self.plan.queue_limit,
            };
            let state = &mut self.nodes[node as usize];
            let stream = state.host.open_stream(&StreamSpec {
                id: STREAM,
                legs,
                hold,
            });
            let stream = stream.expect("a circuit that was just opened is open");
            if state.ends.len() <= stream.index() {
                state.ends.resize(stream.index() + 1, None);
            }
            state.ends[stream.index()] = Some((index, end));
            stream
        });
        let random = self.random.stream("user", u64::from(index));
        let streams = (streams[0], streams[1]);
        self.users.push(User::new(spec, ways, streams, random));
    }

    fn finish(self) -> World {
        let backbone = Backbone::new(&self.spec.backbone, self.nodes.len(), self.random);
        let slots = 3 * self.nodes.len() + 2 + backbone.len() + self.connections.len();
        let recorder = Recorder::new(&self.spec.sampling);
        let mut world = World {
            agenda: Agenda::new(slots),
            now: Instant::ZERO,
            end: Instant::ZERO + self.spec.end,
            nodes: self.nodes,
            backbone,
            packets: Packets::default(),
            frames: Vec::new(),
            connections: self.connections,
            users: self.users,
            cross: self.cross,
            rare: BTreeMap::new(),
            rare_count: 0,
            recorder,
            latency: None,
            queues: None,
            legs: None,
            counters: Counters::default(),
        };
        for (index, circuit) in self.spec.circuits.iter().enumerate() {
            world.add_rare(Instant::ZERO + circuit.start, Rare::Request(index as u32));
        }
        for index in 0..world.connections.len() {
            let end = Connections::end(index);
            match world.connections.flow(end) {
                None => {
                    world.offer_room(end);
                    world.pump_connection(end);
                }
                Some(flow) if world.cross[flow].sender() == end => {
                    let start = Instant::ZERO + self.spec.cross[flow].start;
                    world.add_rare(start, Rare::Connect(end));
                }
                Some(_) => {}
            }
        }
        world.legs = LegRecorder::new(&world.users);
        world.rearm_sampler();
        world
    }
}
