//! A node's end of a link to a neighbour.

use hopflow_units::{Bytes, CircuitId, Instant};
use hopflow_wire::{Carrier, Frame, Message, Payload};

use crate::{FlowId, MAX_DATAGRAM};

/// Answers to nonsense that wait for a link at most; more are dropped, for all can be repeated.
const MAX_CONTROL: usize = 64;
/// What a node keeps per link.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition of its own, and none follows from others"
)]
pub(crate) struct Link<P> {
    pub(crate) carrier: Carrier,
    /// Encoded bytes of feedback, at most.
    feedback_len: Bytes,
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
    /// Frames other than cells and feedback.
    control: Vec<Frame<P>>,
    /// Encoded bytes of these.
    control_len: Bytes,
    /// Flows that owe the neighbour feedback, and when it is due.
    pub(crate) owing: Vec<FlowId>,
    pub(crate) feedback_at: Option<Instant>,
    /// Whether none of it leaves before.
    pub(crate) holding: bool,
    /// Whether the link stands in the list of links to be flushed.
    pub(crate) flushing: bool,
}

impl<P: Payload> Link<P> {
    pub(crate) fn new(carrier: Carrier, feedback_len: Bytes) -> Self {
        Self {
            carrier,
            feedback_len,
            arriving: Vec::new(),
            room: 0,
            starved: false,
            stuck: false,
            parked: Vec::new(),
            outbox: Vec::new(),
            control: Vec::new(),
            control_len: Bytes::ZERO,
            owing: Vec::new(),
            feedback_at: None,
            holding: false,
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
        let feedback = self.feedback_len * self.owing.len() as u64;
        (self.control_len + feedback).get() as i64
    }

    /// Whether the datagram being filled can hold no other cell.
    #[inline]
    pub(crate) fn outbox_is_full(&self, cell: Bytes) -> bool {
        let cells = self.outbox.len() as u64;
        self.carrier == Carrier::Datagram && (cells + 1) * cell.get() > MAX_DATAGRAM.get()
    }

    /// Feedback messages that fill a datagram on their own.
    #[inline]
    pub(crate) fn owes_a_datagram(&self) -> bool {
        self.owing.len() as u64 >= MAX_DATAGRAM.get() / self.feedback_len.get()
    }

    /// Drops the cells of a circuit that have not left.
    pub(crate) fn drop_cells(&mut self, circuit: CircuitId, cell: Bytes) {
        let before = self.outbox.len();
        self.outbox
            .retain(|frame| !matches!(frame, Frame::Cell(cell) if cell.circuit == circuit));
        self.room += cell.get() as i64 * (before - self.outbox.len()) as i64;
    }

    /// Puts a frame into the queue of control frames.
    pub(crate) fn push_control(&mut self, frame: Frame<P>) {
        self.control_len += frame.wire_len(self.carrier);
        self.control.push(frame);
    }

    /// Puts a transport's message into the queue of control frames. What it said before about the
    /// same flow, and has not left, is old.
    pub(crate) fn push_message(&mut self, message: Message) {
        // Datagrams always leave, so that there only a full stream can hold an older one.
        if self.stuck {
            let carrier = self.carrier;
            let same = |frame: &Frame<P>| match frame {
                Frame::Message(old) => {
                    (old.circuit, old.sender) == (message.circuit, message.sender)
                }
                _ => false,
            };
            if let Some(place) = self.control.iter().position(same) {
                self.control_len -= self.control.remove(place).wire_len(carrier);
            }
        }
        self.push_control(Frame::Message(Box::new(message)));
    }

    /// Puts a frame that the neighbour provoked into the queue of control frames, if few wait.
    pub(crate) fn push_answer(&mut self, frame: Frame<P>) {
        if self.control.len() < MAX_CONTROL {
            self.push_control(frame);
        }
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.outbox.is_empty() || !self.control.is_empty() || self.reports()
    }

    /// Whether feedback may leave.
    #[inline]
    pub(crate) fn reports(&self) -> bool {
        !self.owing.is_empty() && !self.holding
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

    /// Moves control frames to `out` while `used` bytes stay within `most`; returns the bytes used.
    pub(crate) fn take_control(
        &mut self,
        out: &mut Vec<Frame<P>>,
        mut used: Bytes,
        most: Bytes,
    ) -> Bytes {
        if self.control.is_empty() {
            return used;
        }
        let (mut count, before) = (0, used);
        for frame in &self.control {
            let len = frame.wire_len(self.carrier);
            if used + len > most {
                break;
            }
            used += len;
            count += 1;
        }
        self.control_len -= used - before;
        out.extend(self.control.drain(..count));
        used
    }

    /// Moves feedback of flows that owe it to `out` while `used` bytes stay within `most`; returns
    /// the bytes used. Flows that are gone have none.
    #[inline]
    pub(crate) fn take_feedback(
        &mut self,
        out: &mut Vec<Frame<P>>,
        (mut used, most): (Bytes, Bytes),
        mut feedback: impl FnMut(FlowId) -> Option<Frame<P>>,
    ) -> Bytes {
        if !self.reports() {
            return used;
        }
        let mut reported = 0;
        for &id in &self.owing {
            if used + self.feedback_len > most {
                break;
            }
            reported += 1;
            if let Some(frame) = feedback(id) {
                used += frame.wire_len(self.carrier);
                out.push(frame);
            }
        }
        if reported == self.owing.len() {
            self.owing.clear();
            self.feedback_at = None;
        } else {
            self.owing.drain(..reported);
        }
        used
    }

    /// Keeps feedback until `at`, unless some is kept already.
    pub(crate) fn hold_feedback(&mut self, at: Instant) -> bool {
        if self.feedback_at.is_some() {
            return false;
        }
        self.feedback_at = Some(at);
        self.holding = true;
        true
    }

    /// Whether feedback is due that was to leave at `at`; it may leave then.
    pub(crate) fn feedback_is_due(&mut self, at: Instant) -> bool {
        let due = self.feedback_at == Some(at);
        if due {
            self.feedback_at = None;
            self.holding = false;
        }
        due
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

    pub(crate) fn set_flow(&mut self, circuit: CircuitId, flow: Option<FlowId>) {
        if self.arriving.len() <= circuit.index() {
            self.arriving.resize(circuit.index() + 1, None);
        }
        self.arriving[circuit.index()] = flow;
    }
}
