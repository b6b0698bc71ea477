//! A circuit of a user, on its path through the network.

use hopflow_overlay::{CircuitHandle, Direction};
use hopflow_units::{CircuitId, LinkId};

use crate::world::address::{CircuitEnd, LinkEnd, NodeAt};

/// One of the circuits that carry a user's stream, and the path that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    /// The circuit at each of its nodes, from the client to the exit.
    hops: Vec<(NodeAt, CircuitHandle)>,
    /// For each direction, the link and the circuit's name there of each node that sends, from the
    /// source on.
    names: [Vec<(LinkId, CircuitId)>; 2],
}

impl Leg {
    pub(crate) fn new(
        hops: Vec<(NodeAt, CircuitHandle)>,
        names: [Vec<(LinkId, CircuitId)>; 2],
    ) -> Self {
        Self { hops, names }
    }

    /// The circuit at each of its nodes, from the client to the exit.
    pub(crate) fn hops(&self) -> &[(NodeAt, CircuitHandle)] {
        &self.hops
    }

    /// The circuit at one of its ends.
    pub(crate) fn end(&self, end: CircuitEnd) -> (NodeAt, CircuitHandle) {
        match end {
            CircuitEnd::Client => self.hops[0],
            CircuitEnd::Exit => self.hops[self.hops.len() - 1],
        }
    }

    /// The circuit at the nodes that send what flows in `direction`, from its source on.
    pub(crate) fn senders(&self, direction: Direction) -> Vec<(NodeAt, CircuitHandle)> {
        match direction {
            Direction::Forward => self.hops[..self.hops.len() - 1].to_vec(),
            Direction::Backward => self.hops[1..].iter().rev().copied().collect(),
        }
    }

    /// The names under which these nodes send it.
    pub(crate) fn names(&self, direction: Direction) -> impl Iterator<Item = (LinkEnd, CircuitId)> {
        let senders = self.senders(direction).into_iter();
        let names = &self.names[direction as usize];
        senders
            .zip(names)
            .map(|((node, _), &(link, circuit))| (LinkEnd { node, link }, circuit))
    }
}
