//! How the parts of a world name nodes, links, connections and ends of circuits.

use hopflow_overlay::Direction;
use hopflow_units::LinkId;

/// A node: its machine, and which of the machine's nodes it is.
///
/// A machine has one node, at position 0, or one for each transport that runs there. In the order of
/// nodes the first ones of all machines precede the second ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NodeAt {
    pub(crate) position: u16,
    machine: u32,
}

impl NodeAt {
    pub(crate) const fn new(machine: usize, position: u16) -> Self {
        Self {
            position,
            machine: machine as u32,
        }
    }

    /// The machine, as an index.
    #[inline]
    pub(crate) const fn machine(self) -> usize {
        self.machine as usize
    }
}

/// A node's end of an overlay link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LinkEnd {
    pub(crate) node: NodeAt,
    pub(crate) link: LinkId,
}

/// One end of a TCP connection, among those of its machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ConnectionEnd(u32);

impl ConnectionEnd {
    pub(crate) const fn new(number: usize) -> Self {
        Self(number as u32)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One end of a TCP connection: its machine, and which of the machine's ends it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionAt {
    pub(crate) machine: u32,
    pub(crate) end: ConnectionEnd,
}

/// A user at one end of its circuit: the machine, and which of the clients or servers there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UserAt {
    pub(crate) machine: u32,
    pub(crate) end: CircuitEnd,
    pub(crate) index: u32,
}

/// The two ends of a circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CircuitEnd {
    Client,
    Exit,
}

impl CircuitEnd {
    /// The end where what flows in `direction` arrives.
    pub(crate) const fn sink(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Exit,
            Direction::Backward => Self::Client,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_nodes_precede_second_ones() {
        let nodes = [(0, 0), (7, 0), (0, 1), (3, 1)];
        let nodes = nodes.map(|(machine, position)| NodeAt::new(machine, position));
        assert!(nodes.is_sorted());
    }
}
