//! What a connection's segments are: cells, with tags by which the ends know them.

use hopflow_units::{Bytes, Cells};
use hopflow_wire::{CELL_DATA, Cell, CellFlags, CellSeq};

/// Bytes of the connection's stream that a cell stands for.
pub(super) const CELL: Bytes = Bytes::new(CELL_DATA as u64);

/// The connection that the two ends of every circuit keep.
#[derive(Clone, Copy, Debug)]
pub struct EndToEnd {
    /// TCP's parameters. [`EndToEnd::new`] sets those that follow from cells and buffers.
    pub(crate) tcp: hopflow_tcp::Config,
    /// Cells that a source keeps at most for being sent, or sent again.
    pub(crate) send_buffer: Cells,
    /// Cells that a sink holds at most that the application did not take.
    pub(crate) receive_buffer: Cells,
}

impl EndToEnd {
    /// The largest receive buffer: a window has 16 bits.
    pub const MAX_RECEIVE_BUFFER: Cells = Cells::new(u16::MAX as u64);

    /// A connection with TCP's parameters, but for the buffers and the size of a segment.
    pub fn new(tcp: hopflow_tcp::Config, send_buffer: Cells, receive_buffer: Cells) -> Self {
        let receive_buffer = receive_buffer.min(Self::MAX_RECEIVE_BUFFER);
        let tcp = hopflow_tcp::Config {
            mss: CELL,
            // What a source keeps is bounded before it is written.
            send_buffer: Bytes::new(1 << 31),
            receive_buffer: CELL * receive_buffer.get(),
            ..tcp
        };
        Self {
            tcp,
            send_buffer,
            receive_buffer,
        }
    }

    /// Cells that a sink holds at most that the application did not take.
    pub const fn receive_buffer(&self) -> Cells {
        self.receive_buffer
    }
}

/// By which the ends know a cell, and relays pass it on: its number, among those of the connection's
/// stream or among control cells, and how often it had been sent before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    pub(crate) number: CellSeq,
    pub(crate) flags: CellFlags,
}

impl Tag {
    pub(crate) const fn of<P>(cell: &Cell<P>) -> Self {
        Self {
            number: cell.seq,
            flags: cell.flags,
        }
    }

    /// The tag of a control cell before which so many began here.
    pub(crate) const fn of_control(before: u64) -> Self {
        Self {
            number: CellSeq::of(before),
            flags: CellFlags::CONTROL,
        }
    }
}
