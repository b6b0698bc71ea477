//! Nodes in memory: a small graph of links, circuits and streams over them, and a virtual clock.

mod agenda;
mod apps;
mod cargo;
mod checks;
mod circuits;
mod drive;
mod manner;
mod node;
mod streams;
mod watch;
mod wires;

use hopflow_overlay::{
    BucketConfig, CircuitSpec, ConfigError, Direction, Factory, FlowView, HopSpec, Measured,
    Multiplexing, NodeCounters, NodeEnv, Plan, StreamHandle, StreamSpec, StreamView,
};
use hopflow_units::{Cells, CircuitId, Instant, NodeId, StreamId};
use hopflow_wire::{Carrier, Reason};

use crate::{Counted, Medium};
use agenda::Agenda;
pub use circuits::CircuitNo;
use circuits::{CircuitState, Circuits};
use manner::Choices;
pub use manner::Manner;
use node::NodeState;
use streams::StreamState;
pub use streams::{End, StreamNo};
pub use watch::Watch;
use wires::{Between, Wires};

/// Nodes, what lies between them, and a clock.
///
/// Every step checks what must always hold (see [`Watch`]); delivered bytes are compared with those
/// written. A node that closes a circuit fails the test, unless [`Chain::expect_closures`] was
/// called.
#[derive(Debug)]
pub struct Chain<'f> {
    factory: &'f dyn Factory<Counted>,
    plan: Plan,
    choices: Choices,
    now: Instant,
    nodes: Vec<NodeState>,
    wires: Wires,
    agenda: Agenda,
    circuits: Circuits,
    streams: Vec<StreamState>,
    watch: Watch,
    losses: Losses,
}

/// What is lost on purpose, by its number among all of its kind, from zero.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    feedback: Option<u64>,
    packet: Option<u64>,
}

impl<'f> Chain<'f> {
    /// `nodes` nodes without links; `seed` decides all chance.
    pub fn new(factory: &'f dyn Factory<Counted>, nodes: usize, manner: Manner, seed: u64) -> Self {
        let mut chain = Self {
            factory,
            plan: factory.plan(),
            choices: Choices::new(manner, seed),
            now: Instant::ZERO,
            nodes: Vec::new(),
            wires: Wires::new(),
            agenda: Agenda::default(),
            circuits: Circuits::default(),
            streams: Vec::new(),
            watch: Watch::default(),
            losses: Losses::default(),
        };
        for _ in 0..nodes {
            chain.add_node(None);
        }
        chain
    }

    /// Sets what links are like that are made from now on.
    pub fn with_medium(mut self, medium: Medium) -> Self {
        self.wires.set_medium(medium);
        self
    }

    /// Sets what links are like that are made from now on.
    pub const fn set_medium(&mut self, medium: Medium) {
        self.wires.set_medium(medium);
    }

    /// Adds a node with a token bucket or without; returns its number.
    pub fn add_node(&mut self, bucket: Option<BucketConfig>) -> usize {
        let env = NodeEnv {
            node: NodeId::new(self.nodes.len() as u32),
            bucket,
            access: None,
            phase: self.choices.rng().unit(),
        };
        self.nodes.push(NodeState::new(self.factory.node(&env)));
        self.nodes.len() - 1
    }

    /// Opens a circuit over the nodes of `path`, from the client to the exit, and links where there
    /// are none.
    pub fn circuit(&mut self, path: &[usize]) -> CircuitNo {
        let number = self.circuits.next_number();
        let mut sides = vec![(None, None); path.len()];
        for hop in 0..path.len() - 1 {
            let (near, far) = self.hop(path[hop], path[hop + 1], number);
            sides[hop].1 = Some(near);
            sides[hop + 1].0 = Some(far);
        }
        let hops = path.iter().zip(sides).map(|(&node, (prev, next))| {
            let spec = CircuitSpec { prev, next };
            (node, self.nodes[node].host.open_circuit(&spec))
        });
        let hops = hops.collect();
        self.circuits.add(hops)
    }

    /// The link of a circuit between two nodes, as each of them sees it.
    fn hop(&mut self, from: usize, to: usize, circuit: CircuitNo) -> (HopSpec, HopSpec) {
        let own = (self.plan.link.multiplexing == Multiplexing::PerCircuit).then_some(circuit.0);
        let between = (from.min(to), from.max(to), own);
        if !self.wires.has(&between) {
            self.join(between);
        }
        let joint = self.wires.add_circuit(&between);
        let side = |end: usize| HopSpec {
            link: joint.ends[end],
            circuit: CircuitId::new(joint.circuits),
            queue_limit: self.plan.link.queue_limit,
        };
        let near = usize::from(from > to);
        (side(near), side(1 - near))
    }

    fn join(&mut self, between: Between) {
        let stream = self.plan.link.carrier == Carrier::Stream;
        let nodes = [between.0, between.1];
        let ends = nodes.map(|node| self.nodes[node].host.add_link());
        let pipes = self.wires.lay(between, ends, stream);
        for (node, pipe) in nodes.into_iter().zip(pipes) {
            self.nodes[node].add_out(pipe);
        }
        for (node, link) in nodes.into_iter().zip(ends) {
            self.tell_room(node, link);
        }
    }

    /// Opens a stream over circuits of the same two ends.
    pub fn stream(&mut self, circuits: &[CircuitNo]) -> StreamNo {
        let number = self.streams.len();
        let id = StreamId::new(number as u16 + 1);
        let ends = [End::Client, End::Exit].map(|end| {
            let legs = circuits
                .iter()
                .map(|circuit| self.circuits.get(*circuit).at(end));
            let legs: Vec<_> = legs.collect();
            let node = legs[0].0;
            let state = &mut self.nodes[node];
            let handle = state.host.open_stream(&StreamSpec {
                id,
                legs: legs.iter().map(|(_, handle)| *handle).collect(),
                hold: HOLD,
            });
            let handle = handle.expect("the stream's circuits are open");
            state.add_stream(handle, number, end);
            (node, handle)
        });
        self.streams.push(StreamState::new(number, ends));
        StreamNo(number)
    }

    /// Lets all nodes go on with the options of another factory.
    ///
    /// # Errors
    /// If a node refuses; those before it have them then.
    pub fn reconfigure(&mut self, factory: &dyn Factory<Counted>) -> Result<(), ConfigError> {
        let now = self.now;
        for node in 0..self.nodes.len() {
            let mut taken = Ok(());
            self.input(node, |host| taken = host.reconfigure(now, factory));
            taken?;
        }
        Ok(())
    }

    /// Circuits may be closed from now on.
    pub const fn expect_closures(&mut self) {
        self.circuits.expect_closures();
    }

    /// Loses the feedback message with this number, counted over all nodes from zero; datagrams
    /// only.
    pub const fn lose_feedback(&mut self, number: u64) {
        self.losses.feedback = Some(number);
    }

    /// Loses the packet with this number, counted over all nodes from zero; datagrams only.
    pub const fn lose_packet(&mut self, number: u64) {
        self.losses.packet = Some(number);
    }

    /// The time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// What was seen so far.
    pub const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What a node has done.
    pub fn counters(&self, node: usize) -> NodeCounters {
        self.nodes[node].host.counters()
    }

    /// A circuit's flow at its hop number `hop`, counted from the client.
    pub fn flow(&self, circuit: CircuitNo, hop: usize, direction: Direction) -> Option<FlowView> {
        self.flow_of(self.circuits.get(circuit), hop, direction)
    }

    /// What the layers measure of a circuit's flow at its hop number `hop`.
    pub fn measured(&self, circuit: CircuitNo, hop: usize, direction: Direction) -> Vec<Measured> {
        let mut measured = Vec::new();
        if let Some((node, handle)) = self.circuits.get(circuit).open_hop(hop) {
            let host = &self.nodes[node].host;
            host.measure(handle, direction, &mut measured);
        }
        measured
    }

    fn flow_of(
        &self,
        circuit: &CircuitState,
        hop: usize,
        direction: Direction,
    ) -> Option<FlowView> {
        let (node, handle) = circuit.open_hop(hop)?;
        self.nodes[node].host.flow_view(handle, direction)
    }

    /// One end of a stream.
    pub fn stream_view(&self, stream: StreamNo, end: End) -> Option<StreamView> {
        let (node, handle) = self.end(stream, end);
        if self.nodes[node].stream_end(handle) != Some((stream.0, end)) {
            return None;
        }
        self.nodes[node].host.stream_view(handle)
    }

    /// Why each hop closed a circuit, from the client to the exit; `None` where it did not.
    pub fn closures(&self, circuit: CircuitNo) -> &[Option<Reason>] {
        &self.circuits.get(circuit).closed
    }

    fn end(&self, stream: StreamNo, end: End) -> (usize, StreamHandle) {
        self.streams[stream.0].ends[end as usize]
    }
}

/// Cells that the sink of a stream with several legs holds at most.
const HOLD: Cells = Cells::new(64);
