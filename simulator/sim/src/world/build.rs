//! Building a world from its specification.

use std::collections::BTreeMap;

use hopflow_netem::LinkConfig;
use hopflow_overlay::{
    CircuitHandle, CircuitSpec as OverlayCircuit, Factory, HopSpec, Multiplexing, NodeEnv, Plan,
    StreamHandle, StreamSpec,
};
use hopflow_random::Streams;
use hopflow_units::{Cells, CircuitId, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::Carrier;

use super::address::{CircuitEnd, ConnectionEnd, LinkEnd, NodeAt};
use super::connections::Connections;
use super::deployment::Deployment;
use super::event_loop::World;
use super::machine::{Machine, Neighbour, Node};
use super::pipe::Pipe;
use super::reading::Reading;
use super::recorders::Recorders;
use super::routers::Routers;
use super::schedule::{Schedule, Scheduled};
use super::share::{Part, bucket_of};
use super::shared::Shared;
use super::slots::Slots;
use super::timeline::Timeline;
use super::users::{Leg, User};
use crate::engine::Slot;
use crate::payload::Simulated;
use crate::spec::{CircuitSpec, CrossSpec, SpecError, WorldSpec};

/// The stream of a user on its circuits.
const STREAM: StreamId = StreamId::new(1);

/// A world under construction.
struct Builder<'a> {
    spec: &'a WorldSpec,
    deployment: &'a Deployment<'a>,
    /// The plan of each transport.
    plans: Vec<Plan>,
    random: Streams,
    shared: Shared,
    machines: Vec<Machine>,
    /// The node of each transport on each machine, if there is one.
    nodes: Vec<Vec<Option<NodeAt>>>,
    connections: Connections,
    /// Circuits so far; a user has one for each of its legs.
    circuits: u32,
    users: Vec<User>,
    /// Links by the pair of nodes, lower one first, and the circuit if it has its own.
    links: BTreeMap<(NodeAt, NodeAt, Option<u32>), SharedLink>,
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
    /// its token bucket, and the rate of the link that they know, are divided among them in
    /// proportion to their circuits.
    ///
    /// # Errors
    /// If the specification makes no sense, or the deployment is one of other circuits.
    pub fn mixed(spec: &WorldSpec, deployment: &Deployment<'_>) -> Result<Self, SpecError> {
        spec.validate()?;
        deployment.check(spec)?;
        let parts: Vec<_> = deployment
            .circuits_at(spec)
            .iter()
            .map(|counts| Part::of_machine(counts))
            .collect();
        let nodes: Vec<_> = parts.iter().map(Vec::len).collect();
        let mut timeline = Timeline::new();
        let slots = Slots::new(&mut timeline, &nodes, 2 * spec.backbone.links.len());
        let mut builder = Builder::new(spec, deployment, Shared::new(timeline));
        for (machine, parts) in parts.into_iter().enumerate() {
            builder.add_machine(machine, parts, &slots);
        }
        for (index, circuit) in spec.circuits.iter().enumerate() {
            builder.add_user(index, circuit)?;
        }
        for flow in &spec.cross {
            builder.add_cross(flow);
        }
        Ok(builder.finish(slots))
    }
}

impl<'a> Builder<'a> {
    fn new(spec: &'a WorldSpec, deployment: &'a Deployment<'a>, shared: Shared) -> Self {
        let transports = deployment.transports().iter();
        let plans: Vec<Plan> = transports.map(|transport| transport.plan()).collect();
        Self {
            spec,
            deployment,
            random: Streams::new(spec.seed),
            shared,
            machines: Vec::new(),
            nodes: vec![vec![None; plans.len()]; spec.nodes.len()],
            connections: Connections::default(),
            circuits: 0,
            users: Vec::new(),
            links: BTreeMap::new(),
            plans,
        }
    }

    /// Adds a machine with a node for each part.
    fn add_machine(&mut self, machine: usize, parts: Vec<Part>, slots: &Slots) {
        let timers = slots.nodes[machine].iter();
        let mut nodes = (0..).zip(parts.into_iter().zip(timers));
        let mut node = |builder: &mut Self| {
            let (position, (part, timer)) = nodes.next()?;
            let at = NodeAt::new(machine, position);
            builder.nodes[machine][part.transport] = Some(at);
            Some(builder.node(at, part, *timer))
        };
        let first = node(self).expect("a machine has a node");
        let spec = &self.spec.nodes[machine];
        let pipe = |stream, slots: &[Slot]| {
            let random = self.random.stream(stream, machine as u64);
            Pipe::new(LinkConfig::from(&spec.access), random, slots[machine])
        };
        let (up, down) = (pipe("uplink", &slots.up), pipe("downlink", &slots.down));
        let mut state = Machine::new(spec.name.clone(), up, down, first);
        while let Some(other) = node(self) {
            state.add_node(other);
        }
        self.machines.push(state);
    }

    fn node(&self, at: NodeAt, Part { transport, share }: Part, timer: Slot) -> Node {
        // The names of random streams are part of the results: another name draws other numbers.
        let stream = if at.position == 0 {
            "node"
        } else {
            "node beside"
        };
        let mut random = self.random.stream(stream, at.machine() as u64);
        let (spec, plan) = (&self.spec.nodes[at.machine()], &self.plans[transport]);
        let bucket = spec
            .bucket
            .map(|bucket| bucket_of(&bucket, plan, share, random.unit()));
        let pays_for_reading = spec.bucket.is_some_and(|bucket| bucket.reading);
        // Datagrams cannot be left unread.
        let (reading, bucket) = match bucket {
            Some(bucket) if pays_for_reading && plan.link.carrier == Carrier::Stream => {
                (Some(Reading::new(bucket)), None)
            }
            bucket => (None, bucket),
        };
        let env = NodeEnv {
            node: NodeId::new(at.machine() as u32),
            bucket,
            access: Some(share.rate(spec.access.rate)),
            phase: random.unit(),
        };
        let host = self.deployment.transports()[transport].node(&env);
        Node::new(host, reading, timer)
    }

    fn node_mut(&mut self, node: NodeAt) -> &mut Node {
        self.machines[node.machine()].node_mut(node.position)
    }

    /// The link between two nodes for a circuit, and the circuit's name on it.
    fn link(
        &mut self,
        [from, to]: [NodeAt; 2],
        circuit: u32,
        transport: usize,
    ) -> Result<SharedLink, SpecError> {
        let per_circuit = self.plans[transport].link.multiplexing == Multiplexing::PerCircuit;
        let (low, high) = (from.min(to), from.max(to));
        let key = (low, high, per_circuit.then_some(circuit));
        let mut link = match self.links.get(&key) {
            Some(link) => *link,
            None => self.add_link([low, high], transport),
        };
        let Some(circuits) = link.circuits.checked_add(1) else {
            let [low, high] = [low, high].map(|node| &self.machines[node.machine()].name);
            let text = format!("{low} and {high} share more than 65535 circuits");
            return Err(SpecError(text));
        };
        link.circuits = circuits;
        self.links.insert(key, link);
        Ok(link)
    }

    /// A new link between two nodes, with a connection if the transport uses streams.
    fn add_link(&mut self, nodes: [NodeAt; 2], transport: usize) -> SharedLink {
        let ends = nodes.map(|node| LinkEnd {
            node,
            link: self.node_mut(node).host.add_link(),
        });
        let plan = &self.plans[transport];
        let connection = (plan.link.carrier == Carrier::Stream).then(|| {
            let timeline = &mut self.shared.timeline;
            self.connections.add(ends, &self.spec.tcp, timeline)
        });
        if plan.link.scheduler.kist.is_some() {
            for end in connection.into_iter().flatten() {
                self.connections.enable_kist_limit(end);
            }
        }
        self.join(ends, connection);
        SharedLink {
            ends: ends.map(|end| end.link),
            circuits: 0,
        }
    }

    /// Makes two ends of a link lead to each other.
    fn join(&mut self, ends: [LinkEnd; 2], connection: Option<[ConnectionEnd; 2]>) {
        for side in [0, 1] {
            self.node_mut(ends[side].node).links.push(Neighbour {
                to: ends[1 - side],
                connection: connection.map(|connection| connection[side]),
            });
        }
    }

    /// A connection outside the overlay: a link of the two machines' first nodes that no circuit
    /// uses.
    fn add_cross(&mut self, spec: &CrossSpec) {
        let ends = [spec.from, spec.to].map(|machine| {
            let node = NodeAt::new(machine.index(), 0);
            let link = self.node_mut(node).host.add_link();
            LinkEnd { node, link }
        });
        let timeline = &mut self.shared.timeline;
        let connection = self.connections.add(ends, &self.spec.tcp, timeline);
        let from = Instant::ZERO + self.spec.sampling.from;
        self.connections.carry_flow(connection, from);
        self.join(ends, Some(connection));
    }

    /// Opens a circuit at all nodes of its path.
    fn add_leg(&mut self, path: &[NodeId], transport: usize) -> Result<Leg, SpecError> {
        let node = |node: &NodeId| self.nodes[node.index()][transport];
        let path = path.iter().map(node).collect::<Option<Vec<NodeAt>>>();
        let path = path.expect("a transport has a node wherever its circuits lead");
        let sides = self.sides(&path, transport)?;
        let name = |hop: &HopSpec| (hop.link, hop.circuit);
        let next = sides.iter().filter_map(|side| side.next.as_ref().map(name));
        let prev = sides.iter().rev();
        let prev = prev.filter_map(|side| side.prev.as_ref().map(name));
        let names: [Vec<(LinkId, CircuitId)>; 2] = [next.collect(), prev.collect()];
        let open = |(node, side): (NodeAt, &OverlayCircuit)| -> (NodeAt, CircuitHandle) {
            (node, self.node_mut(node).host.open_circuit(side))
        };
        let hops = path.into_iter().zip(&sides).map(open).collect();
        Ok(Leg::new(hops, names))
    }

    /// A circuit as each node of its path sees it.
    fn sides(
        &mut self,
        path: &[NodeAt],
        transport: usize,
    ) -> Result<Vec<OverlayCircuit>, SpecError> {
        let queue_limit = self.plans[transport].link.queue_limit;
        let number = self.circuits;
        self.circuits += 1;
        let unknown = OverlayCircuit {
            prev: None,
            next: None,
        };
        let mut sides = vec![unknown; path.len()];
        for hop in 0..path.len() - 1 {
            let (from, to) = (path[hop], path[hop + 1]);
            let link = self.link([from, to], number, transport)?;
            let side = |end: usize| HopSpec {
                link: link.ends[end],
                circuit: CircuitId::new(link.circuits),
                queue_limit,
            };
            let (near, far) = if from < to { (0, 1) } else { (1, 0) };
            sides[hop].next = Some(side(near));
            sides[hop + 1].prev = Some(side(far));
        }
        Ok(sides)
    }

    fn add_user(&mut self, index: usize, spec: &CircuitSpec) -> Result<(), SpecError> {
        let transport = self.deployment.of(index);
        let legs = spec.paths().map(|path| self.add_leg(path, transport));
        let legs = legs.collect::<Result<Vec<_>, _>>()?;
        let number = index as u32;
        let streams = [CircuitEnd::Client, CircuitEnd::Exit]
            .map(|end| self.open_stream((number, end), &legs, transport));
        let random = self.random.stream("user", u64::from(number));
        self.users
            .push(User::new(number, spec, legs, streams, random));
        Ok(())
    }

    /// Opens a user's stream at one end.
    fn open_stream(
        &mut self,
        (user, end): (u32, CircuitEnd),
        legs: &[Leg],
        transport: usize,
    ) -> StreamHandle {
        // What waits for the cells of other circuits is bounded as a circuit's queue is.
        let hold = match legs.len() {
            1 => Cells::ZERO,
            _ => self.plans[transport].link.queue_limit,
        };
        let node = self.node_mut(legs[0].end(end).0);
        let stream = node.host.open_stream(&StreamSpec {
            id: STREAM,
            legs: legs.iter().map(|leg| leg.end(end).1).collect(),
            hold,
        });
        let stream = stream.expect("a circuit that was just opened is open");
        if node.ends.len() <= stream.index() {
            node.ends.resize(stream.index() + 1, None);
        }
        node.ends[stream.index()] = Some((user, end));
        stream
    }

    fn finish(mut self, slots: Slots) -> World {
        let mut schedule = Schedule::new(slots.schedule);
        let timeline = &mut self.shared.timeline;
        for (user, circuit) in (0..).zip(&self.spec.circuits) {
            let start = Instant::ZERO + circuit.start;
            schedule.add(start, Scheduled::Request(user), timeline);
        }
        for (flow, spec) in self.connections.flows().iter().zip(&self.spec.cross) {
            let start = Instant::ZERO + spec.start;
            schedule.add(start, Scheduled::Connect(flow.sender()), timeline);
        }
        for end in self.connections.overlay_ends() {
            let machine = &mut self.machines[self.connections.node(end).machine()];
            self.connections.open(end, machine, &mut self.shared);
        }
        let Self { spec, random, .. } = self;
        let machines = self.machines.len();
        let timeline = &mut self.shared.timeline;
        World {
            end: Instant::ZERO + spec.end,
            routers: Routers::new(&spec.backbone, machines, random, slots.trunks),
            recorders: Recorders::new(&spec.sampling, &self.users, slots.sampler, timeline),
            shared: self.shared,
            machines: self.machines,
            connections: self.connections,
            users: self.users,
            schedule,
        }
    }
}
