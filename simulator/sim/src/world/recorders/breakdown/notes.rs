//! What machines note of marked cells.

use hopflow_overlay::Direction;
use hopflow_units::Instant;

use super::account::Stay;
use super::index::FlowAt;
use crate::payload::Simulated;
use crate::world::marks::{Crossing, Least};

/// One transmission of a marked cell over a hop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Followed {
    pub(crate) flow: FlowAt,
    /// The offset behind the cell's last byte.
    pub(crate) end: u32,
    pub(crate) mark: u16,
}

impl Followed {
    pub(super) const fn of(flow: FlowAt, cell: &Simulated) -> Self {
        Self {
            flow,
            end: cell.end(),
            mark: cell.mark(),
        }
    }
}

/// A node sent a cell, for the first time or again.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(super) cell: Followed,
    /// The mark under which the cell came to the node.
    pub(super) before: u16,
    pub(super) machine: u32,
    pub(super) at: Instant,
    /// Cells that the node has sent so far.
    pub(super) total: u64,
    /// How the cell spent its time there, unless it was sent before.
    pub(super) stay: Option<Box<Stay>>,
}

/// The packet with a cell's last byte will be at the sender's router at that time.
#[derive(Clone, Debug)]
pub(crate) struct Departed {
    pub(super) cell: Followed,
    pub(super) at: Instant,
    pub(super) least: Least,
    /// When the segment was sent, on a connection.
    pub(super) segment: Option<Instant>,
}

/// The next node has a cell.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(super) cell: Followed,
    /// Whether the circuit ends there.
    pub(super) last: bool,
    pub(super) machine: u32,
    pub(super) at: Instant,
    pub(super) crossing: Crossing,
}

/// Something that happened to a marked cell, or to the data that it will hold.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// A user or server wrote the data of a transfer.
    Written {
        user: u32,
        turn: u32,
        direction: Direction,
        /// The offset behind it.
        end: u32,
        at: Instant,
    },
    Sent(Sent),
    /// Its connection sent the cell's last byte for the first time.
    First {
        cell: Followed,
        at: Instant,
    },
    Departed(Departed),
    Received(Received),
    /// An end of the circuit took the cell that came to it with that mark.
    Delivered {
        user: u32,
        turn: u32,
        direction: Direction,
        end: u32,
        mark: u16,
        machine: u32,
        at: Instant,
    },
}
