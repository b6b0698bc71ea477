//! A node's end of a link to a neighbour.

use hopflow_units::{Bytes, CircuitId};
use hopflow_wire::{Carrier, Frame, Message, Payload};

use super::control::ControlQueue;
use super::reports::Reports;
use crate::{FlowId, MAX_DATAGRAM};

/// What a node keeps per link.
#[derive(Clone, Debug)]
pub(crate) struct Link<P> {
    pub(crate) carrier: Carrier,
    /// Circuits on the link by their name there, with the flow in whose direction cells arrive.
    pub(crate) arriving: Vec<Option<FlowId>>,
    /// Room that the stream offers; datagrams always go.
    pub(crate) room: i64,
    /// Whether a flow found the link full and waits for room.
    pub(crate) starved: bool,
    /// Whether the stream was too full for feedback or control frames that were to leave.
    pub(crate) stuck: bool,
    /// With node scope, flows that found the carrier full.
    pub(crate) parked: Vec<FlowId>,
    /// Cells chosen for the next datagram or write.
    pub(crate) outbox: Vec<Frame<P>>,
    pub(crate) control: ControlQueue<P>,
    pub(crate) reports: Reports,
    /// Whether the link stands in the list of links to be flushed.
    pub(crate) flushing: bool,
}

impl<P: Payload> Link<P> {
    pub(crate) fn new(carrier: Carrier, feedback_len: Bytes) -> Self {
        Self {
            carrier,
            arriving: Vec::new(),
            room: 0,
            starved: false,
            stuck: false,
            parked: Vec::new(),
            outbox: Vec::new(),
            control: ControlQueue::new(carrier),
            reports: Reports::new(feedback_len),
            flushing: false,
        }
    }

    /// Bytes that the carrier takes at present, if it has a limit.
    pub(crate) fn room(&self) -> Option<Bytes> {
        let room = Bytes::new(self.room.max(0) as u64);
        (self.carrier == Carrier::Stream).then_some(room)
    }

    /// Whether the carrier takes another cell.
    #[inline]
    pub(crate) fn fits(&self, cell: Bytes) -> bool {
        match self.carrier {
            Carrier::Datagram => true,
            // What is owed comes first, or a busy stream would never let it go.
            Carrier::Stream => self.room >= cell.get() as i64 + self.owed(),
        }
    }

    /// Bytes of control frames and feedback that wait, at most.
    fn owed(&self) -> i64 {
        (self.control.bytes() + self.reports.bytes()).get() as i64
    }

    /// Whether the datagram being filled can hold no other cell.
    #[inline]
    pub(crate) fn outbox_is_full(&self, cell: Bytes) -> bool {
        let cells = self.outbox.len() as u64;
        self.carrier == Carrier::Datagram && (cells + 1) * cell.get() > MAX_DATAGRAM.get()
    }

    /// Drops the cells of a circuit that have not left.
    pub(crate) fn drop_cells(&mut self, circuit: CircuitId, cell: Bytes) {
        let before = self.outbox.len();
        self.outbox
            .retain(|frame| !matches!(frame, Frame::Cell(cell) if cell.circuit == circuit));
        self.room += cell.get() as i64 * (before - self.outbox.len()) as i64;
    }

    /// Queues a layer's message. What it sent before about the same flow, and has not left, is old.
    pub(crate) fn push_message(&mut self, message: Message) {
        // Datagrams always leave, so that there only a full stream can hold an older one.
        if self.stuck {
            self.control.replace(message);
        } else {
            self.control.push(Frame::Message(Box::new(message)));
        }
    }

    /// Whether anything waits to leave.
    pub(crate) fn has_output(&self) -> bool {
        !self.outbox.is_empty() || !self.control.is_empty() || self.reports.may_leave()
    }

    /// Bytes that a datagram or a write can hold, if its `cells` bytes of cells are paid for.
    #[inline]
    pub(crate) fn capacity(&self, cells: Bytes) -> Bytes {
        match self.carrier {
            Carrier::Datagram => MAX_DATAGRAM,
            Carrier::Stream => cells + Bytes::new(self.room.max(0) as u64),
        }
    }

    /// Notes how much the stream takes, of which the cells in the outbox have a part already.
    pub(crate) fn set_room(&mut self, room: Bytes, cell: Bytes) {
        let promised = cell * self.outbox.len() as u64;
        self.room = room.get().min(i64::MAX as u64) as i64 - promised.get() as i64;
    }

    /// The flow of a circuit, as cells arrive from this link.
    #[inline]
    pub(crate) fn flow(&self, circuit: CircuitId) -> Option<FlowId> {
        self.arriving.get(circuit.index()).copied().flatten()
    }

    /// The circuits on the link, as the node numbers them.
    pub(crate) fn circuits(&self) -> Vec<u32> {
        let flows = self.arriving.iter().flatten();
        flows.map(|flow| flow.circuit()).collect()
    }

    /// Sets the flow of a circuit. The neighbour chooses its name, so the table is no longer than needed.
    pub(crate) fn set_flow(&mut self, circuit: CircuitId, flow: Option<FlowId>) {
        if flow.is_none() && self.arriving.len() <= circuit.index() {
            return;
        }
        if self.arriving.len() <= circuit.index() {
            self.arriving.resize(circuit.index() + 1, None);
        }
        self.arriving[circuit.index()] = flow;
        if flow.is_none() {
            let last = self.arriving.iter().rposition(Option::is_some);
            self.arriving.truncate(last.map_or(0, |last| last + 1));
            // Some room stays: circuits come and go.
            let room = 2 * self.arriving.len();
            if self.arriving.capacity() > 2 * room {
                self.arriving.shrink_to(room);
            }
        }
    }
}
