//! Traces: what happened to circuits at their nodes, event by event, and the packets of nodes.

pub use hopflow_tcp::Segment;
use hopflow_trace::{Event, Place};
use hopflow_units::{Instant, LinkId, NodeId};
use hopflow_wire::Frame;

use crate::payload::Simulated;

/// What happened to a circuit at one of its nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeTrace {
    /// The circuit's number.
    pub circuit: u32,
    /// The node.
    pub node: NodeId,
    /// What the node is to the circuit.
    pub place: Place,
    /// Events in order of time; of simultaneous ones first what was received, then what was written,
    /// packaged, sent and delivered, then how things are.
    pub events: Vec<Event>,
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
