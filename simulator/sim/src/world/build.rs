//! Building a world from its specification.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hopflow_netem::LinkConfig;
use hopflow_overlay::{
    CircuitHandle, CircuitSpec as OverlayCircuit, Direction, Factory, HopSpec, Multiplexing,
    NodeEnv, Plan, StreamSpec,
};
use hopflow_random::Streams;
use hopflow_tcp::Connection;
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::Carrier;

use super::address::{CircuitEnd, ConnectionAt, ConnectionEnd, LinkEnd, NodeAt, UserAt};
use super::balance::{self, Partitions};
use super::connection::TcpEnd;
use super::cross::{CrossEnd, CrossFlow};
use super::deployment::Deployment;
use super::faults::Faults;
use super::grid::Grid;
use super::lane::Lane;
use super::machine::{Machine, Neighbour, Node};
use super::pipe::Pipe;
use super::reading::Reading;
use super::recorders::{Sampler, WatchedHop};
use super::records::Records;
use super::routes::Routes;
use super::schedule::Scheduled;
use super::share::{Part, bucket_of};
use super::stops;
use super::trunks::Trunks;
use super::users::{Client, Directions, Endpoint, Later, Leg, Server, Sink};
use super::world::{Least, World};
use crate::histogram::LatencyHistogram;
use crate::outcome::CircuitOutcome;
use crate::payload::Simulated;
use crate::spec::{BucketSpec, CircuitSpec, CrossSpec, SpecError, TcpConfig, WorldSpec};

/// The stream of a user on its circuits.
const STREAM: StreamId = StreamId::new(1);

/// A world under construction.
struct Builder<'a> {
    spec: &'a WorldSpec,
    deployment: &'a Deployment<'a>,
    /// The plan of each transport.
    plans: Vec<Plan>,
    faults: Faults,
    random: Streams,
    lanes: Vec<Lane>,
    /// The node of each transport on each machine, if there is one.
    nodes: Vec<Vec<Option<NodeAt>>>,
    /// Circuits so far; a user has one for each of its legs.
    circuits: u32,
    users: Vec<Directions>,
    links: BTreeMap<LinkKey, SharedLink>,
    /// From when on the user may have the circuit that is being added.
    from: Instant,
}

/// Two nodes, lower one first, the circuit if it has a link of its own, and how often the machines have
/// stopped before the link.
type LinkKey = (NodeAt, NodeAt, Option<u32>, usize);

/// A link between two nodes, as each of them numbers it.
#[derive(Clone, Copy)]
struct SharedLink {
    ends: [LinkId; 2],
    circuits: u16,
    /// The ends of its connection, if the transport uses streams.
    connection: Option<[ConnectionEnd; 2]>,
    /// From when on the first of its circuits may be there.
    opens: Instant,
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
        let mut builder = Builder::new(spec, deployment);
        for (machine, parts) in parts.into_iter().enumerate() {
            builder.add_machine(machine, parts);
        }
        for (index, circuit) in spec.circuits.iter().enumerate() {
            builder.add_user(index, circuit)?;
        }
        for (number, flow) in (0..).zip(&spec.cross) {
            builder.add_cross(number, flow);
        }
        let mut world = builder.finish();
        world.record_legs();
        Ok(world)
    }
}

impl<'a> Builder<'a> {
    fn new(spec: &'a WorldSpec, deployment: &'a Deployment<'a>) -> Self {
        let transports = deployment.transports().iter();
        let plans: Vec<Plan> = transports.map(|transport| transport.plan()).collect();
        Self {
            spec,
            deployment,
            faults: Faults::new(&spec.faults, spec.end),
            random: Streams::new(spec.seed),
            lanes: Vec::new(),
            nodes: vec![vec![None; plans.len()]; spec.nodes.len()],
            circuits: 0,
            users: Vec::new(),
            links: BTreeMap::new(),
            from: Instant::ZERO,
            plans,
        }
    }

    /// Adds a machine with a node for each part.
    fn add_machine(&mut self, number: usize, parts: Vec<Part>) {
        let spec = &self.spec.nodes[number];
        let buckets = self.bucket_changes(number, &parts);
        let mut parts = (0..).zip(parts);
        let mut node = |builder: &mut Self| {
            let (position, part) = parts.next()?;
            let at = NodeAt::new(number, position);
            builder.nodes[number][part.transport] = Some(at);
            Some(builder.node(at, part))
        };
        let first = node(self).expect("a machine has a node");
        let changes = self.faults.link_changes(number, &spec.access);
        let pipes = ["uplink", "downlink"].map(|stream| {
            let random = self.random.stream(stream, number as u64);
            Pipe::new(LinkConfig::from(&spec.access), random).with_changes(changes.clone())
        });
        let mut machine = Machine::new(spec.name.clone(), number as u32, pipes, first);
        while let Some(other) = node(self) {
            machine.add_node(other);
        }
        let mut lane = Lane::new(number as u32, machine);
        for (at, change) in buckets {
            lane.schedule.add(at, change);
        }
        self.lanes.push(lane);
    }

    /// How the token buckets of a machine's nodes change.
    fn bucket_changes(&self, machine: usize, parts: &[Part]) -> Vec<(Instant, Scheduled)> {
        let usual = self.spec.nodes[machine].bucket;
        let changes = self.faults.bucket_changes(machine, usual);
        let of_nodes = |(at, bucket): (Instant, Option<BucketSpec>)| {
            let of_node = move |(position, part): (u16, &Part)| {
                let plan = &self.plans[part.transport];
                let bucket = bucket.map(|bucket| bucket_of(&bucket, plan, part.share, 0.0));
                (at, Scheduled::Bucket { position, bucket })
            };
            (0..).zip(parts).map(of_node)
        };
        changes.into_iter().flat_map(of_nodes).collect()
    }

    fn node(&self, at: NodeAt, Part { transport, share }: Part) -> Node {
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
            access: Some(share.rate(spec.access.stated_rate())),
            phase: random.unit(),
        };
        let host = self.deployment.transports()[transport].node(&env);
        Node::new(host, reading)
    }

    fn node_mut(&mut self, node: NodeAt) -> &mut Node {
        self.lanes[node.machine()].machine.node_mut(node.position)
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
        let machines = [low, high].map(NodeAt::machine);
        let stops = self.faults.stops_before(machines, self.from);
        let key = (low, high, per_circuit.then_some(circuit), stops);
        let mut link = match self.links.get(&key) {
            Some(link) => *link,
            None => self.add_link([low, high], transport),
        };
        let Some(circuits) = link.circuits.checked_add(1) else {
            let [low, high] = [low, high].map(|node| &self.lanes[node.machine()].machine.name);
            let text = format!("{low} and {high} share more than 65535 circuits");
            return Err(SpecError(text));
        };
        link.circuits = circuits;
        link.opens = link.opens.min(self.from);
        self.links.insert(key, link);
        Ok(link)
    }

    /// A new link between two nodes, with a connection if the transport uses streams.
    fn add_link(&mut self, nodes: [NodeAt; 2], transport: usize) -> SharedLink {
        let ends = nodes.map(|node| LinkEnd {
            node,
            link: self.node_mut(node).host.add_link(),
        });
        let link = &self.plans[transport].link;
        let (carrier, kist) = (link.carrier, link.scheduler.kist.is_some());
        let config = &self.spec.tcp;
        let connection =
            (carrier == Carrier::Stream).then(|| self.add_connection(ends, kist, config));
        self.join(ends, connection);
        SharedLink {
            ends: ends.map(|end| end.link),
            circuits: 0,
            connection,
            opens: self.from,
        }
    }

    /// Lets each connection open with the first circuit that is carried by it: users are added one after the other,
    /// each with the circuits that it will have later, so that the first to be added may be a late one.
    fn schedule_openings(&mut self) {
        for (&(low, high, ..), link) in &self.links {
            if link.opens == Instant::ZERO {
                continue;
            }
            let ends = link.connection.into_iter().flatten();
            for (node, end) in [low, high].into_iter().zip(ends) {
                let lane = &mut self.lanes[node.machine()];
                lane.connections.open_at(end, link.opens);
                lane.schedule.add(link.opens, Scheduled::Open(end));
            }
        }
    }

    /// A TCP connection that the first end opens.
    fn add_connection(
        &mut self,
        ends: [LinkEnd; 2],
        kist: bool,
        config: &TcpConfig,
    ) -> [ConnectionEnd; 2] {
        let machines = ends.map(|end| end.node.machine());
        let numbers = machines.map(|machine| self.lanes[machine].connections.next_end());
        for (side, tcp) in [Connection::connect(config), Connection::listen(config)]
            .into_iter()
            .enumerate()
        {
            let peer = ConnectionAt {
                machine: machines[1 - side] as u32,
                end: numbers[1 - side],
            };
            let mut end = TcpEnd::new([ends[side], ends[1 - side]], peer, kist, tcp);
            end.set_records(self.spec.tls.then_some(Records::TOR));
            self.lanes[machines[side]].connections.add(end);
        }
        numbers
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
    fn add_cross(&mut self, number: u32, spec: &CrossSpec) {
        let machines = [spec.from, spec.to].map(NodeId::index);
        let ends = machines.map(|machine| {
            let node = NodeAt::new(machine, 0);
            let link = self.node_mut(node).host.add_link();
            LinkEnd { node, link }
        });
        let config = TcpConfig {
            algorithm: spec.algorithm.unwrap_or(self.spec.tcp.algorithm),
            ..self.spec.tcp
        };
        let connection = self.add_connection(ends, false, &config);
        let from = Instant::ZERO + self.spec.sampling.from;
        let flow = CrossEnd::Receiver(CrossFlow::new(number, from));
        for (side, cross) in [CrossEnd::Sender, flow].into_iter().enumerate() {
            let lane = &mut self.lanes[machines[side]];
            lane.connections.carry(connection[side], cross);
        }
        self.join(ends, Some(connection));
        let start = Instant::ZERO + spec.start;
        let schedule = &mut self.lanes[machines[0]].schedule;
        schedule.add(start, Scheduled::Connect(connection[0]));
    }

    /// Opens a circuit of a user at all nodes of its path.
    fn add_leg(&mut self, user: u32, path: &[NodeId], transport: usize) -> Result<Leg, SpecError> {
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
            (node, self.node_mut(node).open_circuit(user, side))
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
        let user = index as u32;
        let first = self.add_turn(user, 0, spec.paths().collect(), spec)?;
        let mut later = VecDeque::new();
        for (turn, rebuilt) in (1..).zip(&spec.rebuilt) {
            self.from = Instant::ZERO + rebuilt.from;
            let (endpoint, server) = self.add_turn(user, turn, rebuilt.paths().collect(), spec)?;
            later.push_back(Later {
                endpoint,
                server,
                after: rebuilt.after,
                from: self.from,
            });
        }
        self.from = Instant::ZERO;
        let (endpoint, server) = first;
        let measured = spec.workload.measured();
        let sink = (measured == Direction::Backward).then(|| Sink::new(user, spec.class, measured));
        let random = self.random.stream("user", u64::from(user));
        let session = spec.workload.session();
        let lane = &mut self.lanes[spec.path[0].index()];
        let number = lane.clients.len() as u32;
        let client = Client::new(endpoint, server, session, random, sink, later);
        lane.clients.push(client);
        let start = Instant::ZERO + spec.start;
        lane.schedule.add(start, Scheduled::Request(number));
        if let Some(leave) = spec.leave {
            let leave = Instant::ZERO + leave;
            lane.schedule.add(leave, Scheduled::Leave(number));
        }
        Ok(())
    }

    /// Adds one of the circuits that a user has one after the other, with its server. Returns what the
    /// next client has of it.
    fn add_turn(
        &mut self,
        user: u32,
        turn: u32,
        paths: Vec<&[NodeId]>,
        spec: &CircuitSpec,
    ) -> Result<(Endpoint, UserAt), SpecError> {
        let transport = self.deployment.of(user as usize);
        let legs = paths.into_iter();
        let legs = legs.map(|path| self.add_leg(user, path, transport));
        let legs = legs.collect::<Result<Vec<_>, _>>()?;
        let ends = [CircuitEnd::Client, CircuitEnd::Exit].map(|end| self.user_at(end, &legs));
        let of = (user, turn);
        let [client, server] = ends.map(|at| self.endpoint(of, at, &legs, transport));
        let measured = spec.workload.measured();
        let sink = (measured == Direction::Forward).then(|| Sink::new(user, spec.class, measured));
        let lane = &mut self.lanes[ends[1].machine as usize];
        lane.servers.push(Server::new(server, sink));
        self.users.push(Directions {
            user,
            turn,
            from: self.from,
            legs,
            ends,
            measured,
        });
        Ok((client, ends[1]))
    }

    /// Where one end of the next user is.
    fn user_at(&self, end: CircuitEnd, legs: &[Leg]) -> UserAt {
        let machine = legs[0].end(end).0.machine();
        let lane = &self.lanes[machine];
        let index = match end {
            CircuitEnd::Client => lane.clients.len(),
            CircuitEnd::Exit => lane.servers.len(),
        };
        UserAt {
            machine: machine as u32,
            end,
            index: index as u32,
        }
    }

    /// Opens a user's stream at one end.
    fn endpoint(
        &mut self,
        (user, turn): (u32, u32),
        at: UserAt,
        legs: &[Leg],
        transport: usize,
    ) -> Endpoint {
        // What waits for the cells of other circuits is bounded as a circuit's queue is.
        let hold = match legs.len() {
            1 => Cells::ZERO,
            _ => self.plans[transport].link.queue_limit,
        };
        let circuits: Vec<_> = legs.iter().map(|leg| leg.end(at.end).1).collect();
        let position = legs[0].end(at.end).0.position;
        let node = self.node_mut(NodeAt::new(at.machine as usize, position));
        let stream = node.host.open_stream(&StreamSpec {
            id: STREAM,
            legs: circuits.clone(),
            hold,
        });
        let stream = stream.expect("a circuit that was just opened is open");
        if node.ends.len() <= stream.index() {
            node.ends.resize(stream.index() + 1, None);
        }
        node.ends[stream.index()] = Some((at.end, at.index));
        Endpoint {
            user,
            turn,
            position,
            stream,
            circuits,
            closed: false,
        }
    }

    /// Adds samplers wherever there is something to sample.
    fn add_samplers(&mut self) {
        let sampling = &self.spec.sampling;
        if sampling.circuits.is_none() && sampling.hops.is_none() {
            return;
        }
        for lane in &mut self.lanes {
            if !lane.clients.is_empty() || !lane.servers.is_empty() {
                lane.records.sampler = Some(Box::new(Sampler::new(sampling)));
            }
        }
        // Hops of further circuits of a user follow, circuit after circuit.
        let mut hops = vec![0; self.spec.circuits.len()];
        for user in &self.users {
            let senders = |leg: &Leg| leg.senders(user.measured);
            for (node, circuit) in user.legs.iter().flat_map(senders) {
                let next = &mut hops[user.user as usize];
                let hop = *next;
                *next += 1;
                let sampler = &mut self.lanes[node.machine()].records.sampler;
                let sampler = sampler.get_or_insert_with(|| Box::new(Sampler::new(sampling)));
                sampler.watched.push(WatchedHop {
                    user: user.user,
                    hop,
                    position: node.position,
                    circuit,
                    direction: user.measured,
                    from: user.from,
                });
            }
        }
        self.lanes.iter_mut().for_each(Lane::plan_sample);
    }

    /// The least delays between lanes.
    fn least(&self) -> Least {
        let least = |of: fn(&Machine) -> Duration| {
            let delays = self.lanes.iter().map(|lane| of(&lane.machine));
            delays.min().unwrap_or(Duration::ZERO)
        };
        let messages = self.plans.iter().filter_map(|plan| plan.hop.out_of_band);
        Least {
            up: least(|machine| machine.up.least_delay()),
            down: least(|machine| machine.down.least_delay()),
            message: messages.min(),
        }
    }

    fn finish(mut self) -> World {
        self.add_samplers();
        self.schedule_openings();
        stops::schedule(&self.faults, &mut self.lanes, &self.users);
        let least = self.least();
        let routes = Routes::new(&self.spec.backbone, self.lanes.len());
        let waits = routes.wait();
        let mut grid = Grid {
            lockstep: least.window(),
            window: least.window(),
            ahead: false,
            least_up: least.up,
            least_message: least.message,
            end: Instant::ZERO + self.spec.end,
            routes: Arc::new(routes),
            places: Arc::default(),
        };
        let circuits = self.spec.circuits.iter();
        World {
            from: Instant::ZERO + self.spec.sampling.from,
            partitions: vec![balance::join(self.lanes, &mut grid)],
            trunks: waits.then(|| Trunks::new(&self.spec.backbone, self.random, grid.shared())),
            grid,
            circuits: circuits.map(circuit_outcome).collect(),
            users: self.users,
            watched: None,
            now: Instant::ZERO,
            wanted: Partitions::UpTo(1),
            balance: None,
            measured: None,
        }
    }
}

/// What is known of a circuit before the simulation.
fn circuit_outcome(spec: &CircuitSpec) -> CircuitOutcome {
    CircuitOutcome {
        class: spec.class,
        hops: spec.path.len() as u32 - 1,
        packaged: Bytes::ZERO,
        delivered: Bytes::ZERO,
        delivered_cells: Cells::ZERO,
        latency: LatencyHistogram::default(),
        closed: false,
    }
}
