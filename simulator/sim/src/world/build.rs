//! Building a world from its specification.

use std::collections::{BTreeMap, VecDeque};

use hopflow_overlay::{
    BucketConfig, CircuitHandle, CircuitSpec as OverlayCircuit, Factory, HopSpec, Multiplexing,
    NodeEnv, Plan, StreamSpec,
};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, Rate, StreamId};
use hopflow_wire::Carrier;

use super::backbone::Backbone;
use super::cross::CrossFlow;
use super::legs::LegRecorder;
use super::reading::Reading;
use super::streams::Connections;
use super::users::{User, Way};
use super::{Counters, Deployment, End, Neighbour, Node, Packets, Rare, Recorder, World};
use crate::engine::Agenda;
use crate::payload::Simulated;
use crate::spec::{BucketSpec, CircuitSpec, CrossSpec, SpecError, WorldSpec};
use hopflow_netem::{Link, LinkConfig};
use hopflow_random::Streams;

/// The token bucket of a node that has a share of its machine's.
fn bucket_of(spec: &BucketSpec, plan: &Plan, share: Share, phase: f64) -> BucketConfig {
    let interval = spec.interval.unwrap_or(plan.refill);
    let rate = share.rate(spec.rate);
    let depth = spec.depth.map_or_else(
        || rate.bytes_in(Duration::from_secs(1)),
        |depth| share.bytes(depth),
    );
    let phase = Duration::from_nanos((interval.as_nanos() as f64 * phase) as u64);
    // A bucket that cannot hold a cell would never let one out.
    BucketConfig {
        rate,
        depth: depth.max(Bytes::new(2048)),
        interval,
        phase,
    }
}

/// The stream of a user on its circuit.
const STREAM: StreamId = StreamId::new(1);

/// A world under construction.
struct Builder<'a> {
    spec: &'a WorldSpec,
    deployment: &'a Deployment<'a>,
    /// The plan of each transport.
    plans: Vec<Plan>,
    random: Streams,
    nodes: Vec<Node>,
    /// The node of each transport on each machine, if there is one.
    places: Vec<Vec<Option<u32>>>,
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
    /// Builds a world whose nodes all have the transport of `factory`.
    ///
    /// # Errors
    /// If the specification makes no sense.
    pub fn new(spec: &WorldSpec, factory: &dyn Factory<Simulated>) -> Result<Self, SpecError> {
        Self::mixed(spec, &Deployment::uniform(factory, spec))
    }

    /// Builds a world in which circuits have different transports.
    ///
    /// Every machine has a node for each transport that leads over it. They share its access link;
    /// its token bucket, and the rate that they are told of the link, are divided among them in
    /// proportion to their circuits.
    ///
    /// # Errors
    /// If the specification makes no sense, or the deployment is one of other circuits.
    pub fn mixed(spec: &WorldSpec, deployment: &Deployment<'_>) -> Result<Self, SpecError> {
        spec.validate()?;
        deployment.check(spec)?;
        let transports = deployment.transports().iter();
        let plans: Vec<Plan> = transports.map(|transport| transport.plan()).collect();
        let mut builder = Builder {
            spec,
            deployment,
            random: Streams::new(spec.seed),
            nodes: Vec::new(),
            places: vec![vec![None; plans.len()]; spec.nodes.len()],
            connections: Connections::default(),
            circuits: 0,
            users: Vec::new(),
            cross: Vec::new(),
            links: BTreeMap::new(),
            plans,
        };
        builder.add_nodes();
        for (index, circuit) in spec.circuits.iter().enumerate() {
            let transport = deployment.of(index);
            let ways = circuit
                .paths()
                .map(|path| builder.add_circuit(path, transport));
            let ways = ways.collect::<Result<_, _>>()?;
            builder.add_user(index, circuit, ways);
        }
        for flow in &spec.cross {
            builder.add_cross(flow);
        }
        Ok(builder.finish())
    }
}

/// What a machine gives to the node of one transport: so many of so many parts.
#[derive(Clone, Copy)]
struct Share {
    parts: u64,
    of: u64,
}

impl Share {
    fn rate(self, whole: Rate) -> Rate {
        let part = self.part(whole.bytes_per_sec()).max(1);
        Rate::from_bytes_per_sec(part).expect("the part is above zero")
    }

    fn bytes(self, whole: Bytes) -> Bytes {
        Bytes::new(self.part(whole.get()))
    }

    fn part(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.parts) / u128::from(self.of)) as u64
    }
}

impl Builder<'_> {
    /// Adds the first node of every machine, then the others.
    fn add_nodes(&mut self) {
        let counts = self.deployment.circuits_at(self.spec);
        let mut guests = Vec::new();
        for (machine, counts) in counts.iter().enumerate() {
            // Where no circuit leads, the first transport runs.
            let of = counts.iter().sum::<u64>().max(1);
            let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            let mut shares =
                used.map(|(transport, parts)| (transport, Share { parts: *parts, of }));
            let first = shares.next().unwrap_or((0, Share { parts: 1, of: 1 }));
            self.add_node(machine, first, "node");
            guests.extend(shares.map(|share| (machine, share)));
        }
        for (machine, share) in guests {
            let number = self.nodes.len() as u32;
            self.add_node(machine, share, "node beside");
            self.nodes[machine].guests.push(number);
        }
    }

    fn add_node(&mut self, machine: usize, (transport, share): (usize, Share), stream: &str) {
        let spec = &self.spec.nodes[machine];
        let number = machine as u64;
        let mut random = self.random.stream(stream, number);
        let plan = &self.plans[transport];
        let bucket = spec
            .bucket
            .map(|bucket| bucket_of(&bucket, plan, share, random.unit()));
        let pays_for_reading = spec.bucket.is_some_and(|bucket| bucket.reading);
        // Datagrams cannot be left unread.
        let (reading, bucket) = match bucket {
            Some(bucket) if pays_for_reading && plan.carrier == Carrier::Stream => {
                (Some(Reading::new(bucket)), None)
            }
            bucket => (None, bucket),
        };
        let env = NodeEnv {
            node: NodeId::new(machine as u32),
            bucket,
            access: Some(share.rate(spec.access.rate)),
            phase: random.unit(),
        };
        let link = LinkConfig::from(&spec.access);
        self.places[machine][transport] = Some(self.nodes.len() as u32);
        self.nodes.push(Node {
            name: spec.name.clone(),
            home: machine as u32,
            guests: Vec::new(),
            turn: 0,
            host: self.deployment.transports()[transport].node(&env),
            up: Link::new(link.clone()),
            down: Link::new(link),
            up_rng: self.random.stream("uplink", number),
            down_rng: self.random.stream("downlink", number),
            links: Vec::new(),
            ends: Vec::new(),
            waiting: VecDeque::new(),
            room_at: None,
            reading,
        });
    }

    /// The link between two nodes for a circuit, and the circuit's name on it.
    fn link(
        &mut self,
        [from, to]: [u32; 2],
        circuit: u32,
        transport: usize,
    ) -> Result<SharedLink, SpecError> {
        let plan = &self.plans[transport];
        let own = (plan.multiplexing == Multiplexing::PerCircuit).then_some(circuit);
        let (low, high) = (from.min(to), from.max(to));
        let nodes = &mut self.nodes;
        let connections = &mut self.connections;
        let (stream, kist) = (plan.carrier == Carrier::Stream, plan.kist.is_some());
        let link = self.links.entry((low, high, own)).or_insert_with(|| {
            let ends = [low, high].map(|node| nodes[node as usize].host.add_link());
            let connection =
                stream.then(|| connections.add([(low, ends[0]), (high, ends[1])], &self.spec.tcp));
            for end in connection.into_iter().flatten().filter(|_| kist) {
                connections.limit_to_soon(end);
            }
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
            let names = [low, high].map(|node| &self.nodes[node as usize].name);
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

    fn add_circuit(&mut self, path: &[NodeId], transport: usize) -> Result<Way, SpecError> {
        let place = |node: &NodeId| self.places[node.index()][transport];
        let path = path.iter().map(place).collect::<Option<Vec<u32>>>();
        let path = path.expect("a transport has a node wherever its circuits lead");
        let queue_limit = self.plans[transport].queue_limit;
        let number = self.circuits;
        self.circuits += 1;
        let mut sides = vec![(None, None); path.len()];
        for hop in 0..path.len() - 1 {
            let (from, to) = (path[hop], path[hop + 1]);
            let link = self.link([from, to], number, transport)?;
            let circuit = CircuitId::new(link.circuits);
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

    fn add_user(&mut self, index: usize, spec: &CircuitSpec, ways: Vec<Way>) {
        let plan = &self.plans[self.deployment.of(index)];
        let queue_limit = plan.queue_limit;
        let index = index as u32;
        let streams = [End::Client, End::Exit].map(|end| {
            let (node, _) = ways[0].end(end);
            let legs: Vec<_> = ways.iter().map(|way| way.end(end).1).collect();
            // What waits for the cells of other circuits is bounded as a circuit's queue is.
            let hold = match legs.len() {
                1 => Cells::ZERO,
                _ => queue_limit,
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
        let homes = self.nodes.iter().map(|node| node.home as usize);
        let backbone = Backbone::new(&self.spec.backbone, homes, self.random);
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
            traces: None,
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
