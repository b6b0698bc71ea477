//! Traces: what happened to circuits at their nodes, event by event, and the packets of nodes.

use hopflow_overlay::{Direction, Hold};
pub use hopflow_tcp::Segment;
use hopflow_units::{Bytes, Cells, Instant, LinkId, NodeId};
use hopflow_wire::{Frame, Reason};

use crate::payload::Simulated;

/// What happened to a circuit at one of its nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeTrace {
    /// The circuit's number.
    pub circuit: u32,
    /// The node.
    pub node: NodeId,
    /// What the node is to the circuit.
    pub place: CircuitPlace,
    /// Events in order of time; of simultaneous ones first what was received, then what was written,
    /// packaged, sent and delivered, then how things are.
    pub events: Vec<TraceEvent>,
}

/// What a node is to a circuit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CircuitPlace {
    /// Its user is there.
    Client,
    /// It passes cells on.
    Relay,
    /// The user's server is there.
    Exit,
}

/// Something that happened to a circuit at a node.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceEvent {
    /// When.
    pub at: Instant,
    /// Which of the circuits that the user has one after the other.
    pub turn: u32,
    /// Which of the paths that the user has side by side.
    pub leg: u32,
    /// The flow that it is about; `None` if it is about the circuit.
    pub direction: Option<Direction>,
    /// What happened.
    pub step: TraceStep,
}

/// What happened to a circuit at a node.
#[derive(Clone, PartialEq, Debug)]
pub enum TraceStep {
    /// The application wrote data: where in its stream, and how much.
    Written(Bytes, Bytes),
    /// Data was packaged into cells.
    Packaged(Bytes, Bytes),
    /// Data reached the application.
    Delivered(Bytes, Bytes),
    /// The node sent a frame; whether it is a cell that the node sent before.
    Sent(Frame<Simulated>, bool),
    /// The node received a frame.
    Received(Frame<Simulated>),
    /// Queue or windows changed.
    Flow(FlowState),
    /// What keeps the first cell of the queue from leaving changed; `None` of an empty queue.
    Queue(Option<Hold>),
    /// What keeps a source from packaging data that waits changed; `None` if none waits.
    Package(Option<Hold>),
    /// The circuit is closed here; the reason that its neighbours learned, if they learned one.
    Closed(Option<Reason>),
}

/// Queue and window of a flow at a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowState {
    /// Cells that wait to be sent, or at the sink to be taken.
    pub queued: Cells,
    /// Cells that passed the gate and were not yet released.
    pub outstanding: Cells,
    /// The hop's window, or at a source without hop control that from end to end, if there is one.
    pub window: Option<Cells>,
}

/// The packets that passed between a node's machine and its access link.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeCapture {
    /// The node.
    pub node: NodeId,
    /// Packets in the order in which they passed.
    pub packets: Vec<CapturedPacket>,
    /// What the TCP connections of the overlay carried.
    pub streams: Vec<CapturedStream>,
}

/// A packet between a node's machine and its access link.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturedPacket {
    /// When the machine handed it to the link, or took it from there.
    pub at: Instant,
    /// Whether the machine sent it.
    pub sent: bool,
    /// The machine's end of the overlay link.
    pub near: LinkAt,
    /// The other end.
    pub far: LinkAt,
    /// What it holds.
    pub content: PacketContent,
}

/// One end of an overlay link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkAt {
    /// The machine.
    pub node: NodeId,
    /// Which of the machine's nodes: each transport there has one.
    pub position: u16,
    /// The link, as that node numbers it.
    pub link: LinkId,
}

/// What a packet holds.
#[derive(Clone, PartialEq, Debug)]
pub enum PacketContent {
    /// Frames in a datagram.
    Datagram(Vec<Frame<Simulated>>),
    /// A segment of a connection of the overlay: part of a [`CapturedStream`].
    Segment(Segment),
    /// A segment of a connection outside the overlay.
    Cross(Segment),
}

/// What a TCP connection of the overlay carried.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturedStream {
    /// The machine's end of the overlay link.
    pub near: LinkAt,
    /// Frames that were written at this end, in order.
    pub sent: Vec<Frame<Simulated>>,
    /// Frames that were written at the other end, in order.
    pub received: Vec<Frame<Simulated>>,
}
