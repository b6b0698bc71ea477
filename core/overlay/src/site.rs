//! Names of flows: one circuit in one direction, as one node sees it.

use std::fmt;

use hopflow_units::{CircuitId, LinkId};

/// The direction of a flow along its circuit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Direction {
    /// From the client to the exit: requests.
    Forward,
    /// From the exit to the client: responses.
    Backward,
}

/// A flow, as its node numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(u32);

/// What a node is to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Packages application data into cells.
    Source,
    /// Passes cells on.
    Relay,
    /// Delivers data to the application.
    Sink,
}

/// Where a flow is: its number, role and neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The flow.
    pub flow: FlowId,
    /// What the node is to the flow.
    pub role: Role,
    /// The flow's direction along the circuit.
    pub direction: Direction,
    /// The link to the predecessor, whence cells come; none at the source.
    pub prev: Option<LinkId>,
    /// The link to the successor, where cells go; none at the sink.
    pub next: Option<LinkId>,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

impl FlowId {
    pub(crate) const fn new(circuit: u32, direction: Direction) -> Self {
        Self(circuit * 2 + direction as u32)
    }

    /// The number as an index into a dense table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The flow of the same circuit in the other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    pub(crate) const fn circuit(self) -> u32 {
        self.0 / 2
    }

    pub(crate) const fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) {
            Direction::Forward
        } else {
            Direction::Backward
        }
    }
}

impl fmt::Debug for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.0)
    }
}

/// A flow's end of a link: the link, and the circuit's name there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) link: LinkId,
    pub(crate) circuit: CircuitId,
}
