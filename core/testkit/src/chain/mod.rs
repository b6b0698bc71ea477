//! Nodes in memory: a small graph of links, circuits and streams over them, and a virtual clock.

mod apps;
mod drive;
mod watch;

use std::collections::BTreeMap;

use hopflow_overlay::{
    BucketConfig, CircuitHandle, CircuitSpec, Direction, Event, Factory, FlowView, HopSpec, Host,
    Multiplexing, NodeCounters, NodeEnv, Plan, StreamHandle, StreamSpec, StreamView,
};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::{Carrier, Frame, Message, Reason};

use crate::medium::Pipe;
use crate::{Counted, Medium, Rng};
pub use apps::End;
use apps::StreamState;
pub use watch::Watch;

/// How the driver treats the nodes, always within the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// Inputs one by one, outputs at once, frames as values.
    Orderly,
    /// Orderly, and every frame is encoded and decoded again.
    WireTrue,
    /// Wire-true, with needless timeouts, outputs that wait, in odd order, and packets that are
    /// split and merged.
    Adversarial,
}

/// A circuit of a [`Chain`], by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CircuitNo(usize);

/// A stream of a [`Chain`], by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamNo(usize);

/// Nodes, what lies between them, and a clock.
///
/// Every step checks what must always hold (see [`Watch`]); delivered bytes are compared with those
/// written. A node that closes a circuit fails the test, unless [`Chain::expect_closures`] was
/// called.
#[derive(Debug)]
pub struct Chain<'f> {
    factory: &'f dyn Factory<Counted>,
    plan: Plan,
    manner: Manner,
    medium: Medium,
    rng: Rng,
    now: Instant,
    nodes: Vec<NodeState>,
    pipes: Vec<Pipe>,
    /// Pairs of nodes, lower first, with the link of all circuits or of one.
    links: BTreeMap<(usize, usize, Option<usize>), Joint>,
    agenda: BTreeMap<(Instant, u64), Due>,
    entered: u64,
    circuits: Vec<CircuitState>,
    streams: Vec<StreamState>,
    watch: Watch,
    closures_expected: bool,
    /// Which of all feedback messages is lost, counted from zero.
    lost_feedback: Option<u64>,
    /// Which of all packets is lost, counted from zero.
    lost_packet: Option<u64>,
}

#[derive(Debug)]
struct NodeState {
    host: Box<dyn Host<Counted>>,
    /// The pipe that leaves on each link.
    out: Vec<usize>,
    /// The ends of streams here, by their handle.
    ends: Vec<Option<(usize, End)>>,
    /// Whether the medium is busy, so that output waits.
    busy: bool,
    events: Vec<Event<Counted>>,
}

/// A link, as its two nodes name it.
#[derive(Clone, Copy, Debug)]
struct Joint {
    ends: [LinkId; 2],
    circuits: u16,
}

#[derive(Debug)]
struct CircuitState {
    /// The nodes from the client to the exit, and what each calls the circuit.
    hops: Vec<(usize, CircuitHandle)>,
    /// Why each hop closed it, if it did.
    closed: Vec<Option<Reason>>,
}

/// Something that will happen.
#[derive(Debug)]
enum Due {
    Arrival {
        pipe: usize,
        cargo: Cargo,
        len: Bytes,
    },
    Room {
        node: usize,
        link: LinkId,
    },
    Message {
        node: usize,
        link: LinkId,
        message: Message,
    },
    /// The medium is free again.
    Free {
        node: usize,
    },
}

/// What a packet holds.
#[derive(Clone, Debug)]
enum Cargo {
    Frames(Vec<Frame<Counted>>),
    Encoded(Vec<u8>),
}

impl<'f> Chain<'f> {
    /// `nodes` nodes without links; `seed` decides all chance.
    pub fn new(factory: &'f dyn Factory<Counted>, nodes: usize, manner: Manner, seed: u64) -> Self {
        let mut chain = Self {
            factory,
            plan: factory.plan(),
            manner,
            medium: Medium::delay(Duration::from_millis(10)),
            rng: Rng::new(seed),
            now: Instant::ZERO,
            nodes: Vec::new(),
            pipes: Vec::new(),
            links: BTreeMap::new(),
            agenda: BTreeMap::new(),
            entered: 0,
            circuits: Vec::new(),
            streams: Vec::new(),
            watch: Watch::default(),
            closures_expected: false,
            lost_feedback: None,
            lost_packet: None,
        };
        for _ in 0..nodes {
            chain.add_node(None);
        }
        chain
    }

    /// Sets what links are like that are made from now on.
    pub fn with_medium(mut self, medium: Medium) -> Self {
        self.medium = medium;
        self
    }

    /// Sets what links are like that are made from now on.
    pub const fn set_medium(&mut self, medium: Medium) {
        self.medium = medium;
    }

    /// Adds a node with a token bucket or without; returns its number.
    pub fn add_node(&mut self, bucket: Option<BucketConfig>) -> usize {
        let env = NodeEnv {
            node: NodeId::new(self.nodes.len() as u32),
            bucket,
            access: None,
            phase: self.rng.unit(),
        };
        self.nodes.push(NodeState {
            host: self.factory.node(&env),
            out: Vec::new(),
            ends: Vec::new(),
            busy: false,
            events: Vec::new(),
        });
        self.nodes.len() - 1
    }

    /// Opens a circuit over the nodes of `path`, from the client to the exit, and links where there
    /// are none.
    pub fn circuit(&mut self, path: &[usize]) -> CircuitNo {
        let number = self.circuits.len();
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
        let hops: Vec<_> = hops.collect();
        self.circuits.push(CircuitState {
            closed: vec![None; hops.len()],
            hops,
        });
        CircuitNo(number)
    }

    /// The link of a circuit between two nodes, as each of them sees it.
    fn hop(&mut self, from: usize, to: usize, circuit: usize) -> (HopSpec, HopSpec) {
        let own = (self.plan.link.multiplexing == Multiplexing::PerCircuit).then_some(circuit);
        let key = (from.min(to), from.max(to), own);
        if !self.links.contains_key(&key) {
            let joint = self.join(key.0, key.1);
            self.links.insert(key, joint);
        }
        let joint = self.links.get_mut(&key).expect("it was just made");
        joint.circuits += 1;
        let side = |end: usize| HopSpec {
            link: joint.ends[end],
            circuit: CircuitId::new(joint.circuits),
            queue_limit: self.plan.link.queue_limit,
        };
        let near = usize::from(from > to);
        (side(near), side(1 - near))
    }

    fn join(&mut self, low: usize, high: usize) -> Joint {
        let stream = self.plan.link.carrier == Carrier::Stream;
        let ends = [low, high].map(|node| self.nodes[node].host.add_link());
        for (from, to, far) in [(low, high, ends[1]), (high, low, ends[0])] {
            self.nodes[from].out.push(self.pipes.len());
            self.pipes.push(Pipe::new(self.medium, (to, far), stream));
        }
        for (node, link) in [(low, ends[0]), (high, ends[1])] {
            self.tell_room(node, link);
        }
        Joint { ends, circuits: 0 }
    }

    /// Opens a stream over circuits of the same two ends.
    pub fn stream(&mut self, circuits: &[CircuitNo]) -> StreamNo {
        let number = self.streams.len();
        let id = StreamId::new(number as u16 + 1);
        let ends = [End::Client, End::Exit].map(|end| {
            let legs = circuits
                .iter()
                .map(|circuit| self.circuits[circuit.0].at(end));
            let legs: Vec<_> = legs.collect();
            let node = legs[0].0;
            let state = &mut self.nodes[node];
            let handle = state.host.open_stream(&StreamSpec {
                id,
                legs: legs.iter().map(|(_, handle)| *handle).collect(),
                hold: HOLD,
            });
            let handle = handle.expect("the stream's circuits are open");
            if state.ends.len() <= handle.index() {
                state.ends.resize(handle.index() + 1, None);
            }
            state.ends[handle.index()] = Some((number, end));
            (node, handle)
        });
        self.streams.push(StreamState::new(number, ends));
        StreamNo(number)
    }

    /// Circuits may be closed from now on.
    pub const fn expect_closures(&mut self) {
        self.closures_expected = true;
    }

    /// Loses the feedback message with this number, counted over all nodes from zero; datagrams
    /// only.
    pub const fn lose_feedback(&mut self, number: u64) {
        self.lost_feedback = Some(number);
    }

    /// Loses the packet with this number, counted over all nodes from zero; datagrams only.
    pub const fn lose_packet(&mut self, number: u64) {
        self.lost_packet = Some(number);
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
        self.flow_of(&self.circuits[circuit.0], hop, direction)
    }

    fn flow_of(
        &self,
        circuit: &CircuitState,
        hop: usize,
        direction: Direction,
    ) -> Option<FlowView> {
        let (node, handle) = circuit.hops[hop];
        // The node may have given the handle of a closed circuit to another one.
        if circuit.closed[hop].is_some() {
            return None;
        }
        self.nodes[node].host.flow_view(handle, direction)
    }

    /// One end of a stream.
    pub fn stream_view(&self, stream: StreamNo, end: End) -> Option<StreamView> {
        let (node, handle) = self.end(stream, end);
        let taken = self.nodes[node].ends[handle.index()];
        if taken != Some((stream.0, end)) {
            return None;
        }
        self.nodes[node].host.stream_view(handle)
    }

    /// Why each hop closed a circuit, from the client to the exit; `None` where it did not.
    pub fn closures(&self, circuit: CircuitNo) -> &[Option<Reason>] {
        &self.circuits[circuit.0].closed
    }

    fn end(&self, stream: StreamNo, end: End) -> (usize, StreamHandle) {
        self.streams[stream.0].ends[end as usize]
    }
}

impl CircuitState {
    fn at(&self, end: End) -> (usize, CircuitHandle) {
        match end {
            End::Client => self.hops[0],
            End::Exit => self.hops[self.hops.len() - 1],
        }
    }
}

/// Cells that the sink of a stream with several legs holds at most.
const HOLD: Cells = Cells::new(64);
