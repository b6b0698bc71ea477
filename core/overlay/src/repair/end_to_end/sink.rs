//! The receiving end: what has arrived, and telling so.

use hopflow_tcp::{Connection, Segment};
use hopflow_units::{Bytes, Instant};
use hopflow_wire::{Cell, CellAck, CellSeq};

use super::segment::{CELL, EndToEnd, Tag};
use crate::circuit::CellQueue;
use crate::repair::per_hop::{Accepted, Receiver};

/// The receiving end of a circuit's connection. Cells in order go to the flow's queue.
#[derive(Clone, Debug)]
pub(crate) struct Sink<P> {
    connection: Connection,
    /// Cells beyond those taken that are accepted.
    buffer: u64,
    /// Cells that were taken out of the queue.
    taken: u64,
    receiver: Receiver<P>,
}

impl<P: Clone> Sink<P> {
    pub(crate) fn new(config: &EndToEnd) -> Self {
        Self {
            connection: Connection::established(&config.tcp),
            buffer: config.receive_buffer.get(),
            taken: 0,
            receiver: Receiver::default(),
        }
    }

    /// Takes a numbered cell that has arrived; cells in order go to the queue.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        cell: Cell<P>,
        queue: &mut CellQueue<P>,
    ) -> Accepted {
        let tag = Tag::of(&cell);
        let number = tag.number.widen(self.receiver.expected());
        let accepted = self
            .receiver
            .accept(cell.seq, cell.payload, queue, self.buffer);
        if accepted != Accepted::Excess {
            self.receive(now, number, tag);
        }
        accepted
    }

    /// The connection has received a cell.
    fn receive(&mut self, now: Instant, number: u64, tag: Tag) {
        // Among the cells that may be answered it grows with every transmission, as a time would.
        let timestamp = Instant::from_nanos(number << 8 | u64::from(tag.flags.earlier()));
        let segment = Segment::with_data(CELL * number, CELL, timestamp);
        self.connection.receive(now, &segment);
    }

    /// The number of the next cell expected, and how many arrived beyond a gap since the last call.
    pub(crate) fn acknowledgement(&mut self) -> (u64, u8) {
        (self.receiver.expected(), self.receiver.take_out_of_order())
    }

    /// Cells that wait for those before them.
    pub(crate) fn held(&self) -> u64 {
        self.receiver.held()
    }

    /// The source asks how far cells have come.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.connection.receive(now, &Segment::asking());
    }

    /// As many cells as `taken` have left the queue so far.
    pub(crate) fn on_taken(&mut self, taken: u64) {
        self.connection.read(CELL * (taken - self.taken));
        self.taken = taken;
    }

    /// The next acknowledgement.
    pub(crate) fn next(&mut self, now: Instant) -> Option<CellAck> {
        let segment = self.connection.poll_transmit(now)?;
        let next = segment.acknowledged();
        let answered = segment.echo().as_nanos();
        // TCP answers a segment at or before the last acknowledgement, so it is within a buffer.
        let back = cells(next).saturating_sub(answered >> 8);
        let mut ack = CellAck {
            next: CellSeq::of(cells(next)),
            window: cells(segment.window()) as u16,
            answered: u16::try_from(back).unwrap_or(u16::MAX),
            attempt: answered as u8,
            ..CellAck::default()
        };
        for (place, (start, end)) in ack.arrived.iter_mut().zip(segment.arrived()) {
            *place = (cells(start - next) as u16, cells(end - next) as u16);
        }
        Some(ack)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
    }
}

const fn cells(bytes: Bytes) -> u64 {
    bytes.get() / CELL.get()
}
