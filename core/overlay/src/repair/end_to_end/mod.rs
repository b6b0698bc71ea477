//! One TCP connection from a circuit's source to its sink, over hops that repair nothing.
//!
//! A cell is a segment: it counts as [`CELL`] bytes however much data it holds. The source numbers
//! its cells and keeps them until they are acknowledged; relays pass cells on with their tags; the
//! sink restores the order and returns acknowledgements as cells of the reverse flow. There is no
//! handshake, for building the circuit was one, and the two directions of a circuit do not
//! acknowledge each other's data on the way.

mod sink;
mod source;

use std::collections::VecDeque;

use hopflow_units::{Bytes, Cells, Instant};
use hopflow_wire::{CELL_DATA, Cell, CellFlags, CellSeq, Payload};

use crate::Role;
pub(crate) use sink::Sink;
pub(crate) use source::Source;

/// Bytes of the connection's stream that a cell stands for.
const CELL: Bytes = Bytes::new(CELL_DATA as u64);

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

/// By which the ends know a transmission: the cell's number on the circuit, and how often it had
/// been sent before. An acknowledgement returns the tag of the cell that it answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tag {
    pub(crate) number: CellSeq,
    pub(crate) attempt: u8,
}

impl Tag {
    pub(crate) const fn of<P>(cell: &Cell<P>) -> Self {
        Self {
            number: cell.seq,
            attempt: cell.flags.0,
        }
    }

    pub(crate) const fn flags(self) -> CellFlags {
        CellFlags(self.attempt)
    }
}

/// What a flow keeps of its circuit's connection.
#[derive(Debug)]
pub(crate) struct Connected<P> {
    /// The tags of the cells in the flow's queue, in its order.
    pub(crate) tags: VecDeque<Tag>,
    pub(crate) part: Part<P>,
    /// The earliest pending timer that serves the connection.
    pub(crate) alarm: Option<Instant>,
}

/// A node's part in a connection.
#[derive(Debug)]
pub(crate) enum Part<P> {
    Source(Source<P>),
    Relay,
    Sink(Sink<P>),
}

impl<P: Payload> Connected<P> {
    pub(crate) fn new(config: &EndToEnd, role: Role) -> Self {
        let part = match role {
            Role::Source => Part::Source(Source::new(config)),
            Role::Relay => Part::Relay,
            Role::Sink => Part::Sink(Sink::new(config)),
        };
        Self {
            tags: VecDeque::new(),
            part,
            alarm: None,
        }
    }

    pub(crate) fn source(&mut self) -> Option<&mut Source<P>> {
        match &mut self.part {
            Part::Source(source) => Some(source),
            Part::Relay | Part::Sink(_) => None,
        }
    }

    pub(crate) fn sink(&mut self) -> Option<&mut Sink<P>> {
        match &mut self.part {
            Part::Sink(sink) => Some(sink),
            Part::Relay | Part::Source(_) => None,
        }
    }

    /// The number of the next cell expected at this end, and how many cells arrived beyond a gap.
    pub(crate) fn acknowledgement(&mut self) -> (u64, u8) {
        self.sink().map_or((0, 0), Sink::acknowledgement)
    }

    /// Cells at this end that wait for those before them.
    pub(crate) fn held(&self) -> u64 {
        match &self.part {
            Part::Sink(sink) => sink.held(),
            Part::Source(_) | Part::Relay => 0,
        }
    }

    /// Cells outstanding at a source, and those that departed; a source counts each cell once, the
    /// other nodes each transmission, `departed` so far.
    pub(crate) fn progress(&self, departed: u64) -> (u64, u64) {
        match &self.part {
            Part::Source(source) => (source.outstanding(), source.sent()),
            Part::Relay | Part::Sink(_) => (0, departed),
        }
    }

    /// When the connection wants to be looked after, if ever.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.part {
            Part::Source(source) => source.deadline(),
            Part::Relay => None,
            Part::Sink(sink) => sink.deadline(),
        }
    }

    /// Does what is due by the time.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.part {
            Part::Source(source) => source.handle_timeout(now),
            Part::Relay => {}
            Part::Sink(sink) => sink.handle_timeout(now),
        }
    }
}
