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

/// One side of a TCP connection: connection `n` has the ends `2 n` and `2 n + 1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionEnd(u32);

impl ConnectionEnd {
    pub(crate) const fn new(number: usize) -> Self {
        Self(number as u32)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The other side.
    #[inline]
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The two ends of a circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CircuitEnd {
    Client,
    Exit,
}

impl CircuitEnd {
    /// The end where what flows in `direction` begins.
    pub(crate) const fn source(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Client,
            Direction::Backward => Self::Exit,
        }
    }

    /// The direction of what arrives here.
    pub(crate) const fn incoming(self) -> Direction {
        match self {
            Self::Client => Direction::Backward,
            Self::Exit => Direction::Forward,
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

    #[test]
    fn what_arrives_at_an_end_begins_at_the_other() {
        for end in [CircuitEnd::Client, CircuitEnd::Exit] {
            assert_ne!(CircuitEnd::source(end.incoming()), end);
        }
    }
}
