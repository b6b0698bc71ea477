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
    /// A node sent the cell, for the first time or again.
    Sent {
        cell: Followed,
        /// The mark under which the cell came to the node.
        before: u16,
        machine: u32,
        at: Instant,
        /// Cells that the node has sent so far.
        total: u64,
        /// How the cell spent its time there, unless it was sent before.
        stay: Option<Box<Stay>>,
    },
    /// Its connection sent the cell's last byte for the first time.
    First { cell: Followed, at: Instant },
    /// The packet with the cell's last byte will be at the sender's router at that time.
    Departed {
        cell: Followed,
        at: Instant,
        least: Least,
        /// When the segment was sent, on a connection.
        segment: Option<Instant>,
    },
    /// The next node has the cell.
    Received {
        cell: Followed,
        /// Whether the circuit ends there.
        last: bool,
        machine: u32,
        at: Instant,
        crossing: Crossing,
    },
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
