//! Whose cells the machine's nodes send and receive.

use std::collections::BTreeMap;

use hopflow_overlay::{CircuitHandle, Direction, StreamHandle};
use hopflow_units::{CircuitId, LinkId};

use crate::world::address::LinkEnd;

/// A hop of a circuit of a user, in one direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FlowAt {
    pub(crate) user: u32,
    /// Which of the circuits that the user has one after the other.
    pub(crate) turn: u32,
    pub(crate) direction: Direction,
    /// Which of the user's legs.
    pub(crate) leg: u32,
    /// Nodes from the source to the hop's sender.
    pub(crate) hop: u32,
}

/// Cells that arrive at a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    /// The hop over which they come.
    pub(crate) flow: FlowAt,
    /// The circuit, where the node passes them on.
    pub(crate) relay: Option<CircuitHandle>,
}

/// An end of a user's stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamAt {
    pub(crate) user: u32,
    pub(crate) turn: u32,
    /// Where the data flows that begins here.
    pub(crate) direction: Direction,
    /// The circuits that carry it, by leg.
    pub(crate) circuits: Vec<CircuitHandle>,
    /// The offset behind what was written so far.
    pub(crate) written: u32,
}

/// What cells and packets at a machine belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowIndex {
    /// By position of the node, link, and the circuit's name there.
    pub(crate) senders: BTreeMap<(u16, LinkId, CircuitId), FlowAt>,
    pub(crate) receivers: BTreeMap<(u16, LinkId, CircuitId), Arriving>,
    pub(crate) streams: BTreeMap<(u16, StreamHandle), StreamAt>,
    /// The machine's ends of links, by the other ends.
    pub(crate) peers: BTreeMap<LinkEnd, (u16, LinkId)>,
}

impl FlowIndex {
    /// Whose cells arrive at the end of a link under a circuit's name.
    pub(super) fn arriving(&self, to: LinkEnd, circuit: CircuitId) -> Option<&Arriving> {
        self.receivers.get(&(to.node.position, to.link, circuit))
    }
}
