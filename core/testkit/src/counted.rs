//! Payloads of real bytes that are counted.

use std::cell::Cell;

use hopflow_units::Instant;
use hopflow_wire::{CELL_PAYLOAD, CellAck, DecodeError, Payload, RawPayload, RelayHeader};

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// A payload of real bytes; [`Counted::live`] tells how many exist, that is how many cells all
/// queues together hold.
#[derive(Debug)]
pub struct Counted(RawPayload);

impl Counted {
    /// A payload of these bytes.
    pub fn new(raw: RawPayload) -> Self {
        LIVE.with(|live| live.set(live.get() + 1));
        Self(raw)
    }

    /// Payloads that exist on this thread. A test and its nodes stay on one thread.
    pub fn live() -> i64 {
        LIVE.with(Cell::get)
    }

    /// The application bytes of a data cell.
    ///
    /// # Errors
    /// If the header is malformed.
    pub fn data(&self) -> Result<&[u8], DecodeError> {
        self.0.data()
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.with(|live| live.set(live.get() - 1));
    }
}

impl Payload for Counted {
    type Data = <RawPayload as Payload>::Data;

    fn append(data: &mut Self::Data, more: Self::Data) {
        RawPayload::append(data, more);
    }

    fn cut(header: RelayHeader, data: &mut Self::Data, now: Instant) -> Self {
        Self::new(RawPayload::cut(header, data, now))
    }

    fn control(header: RelayHeader, now: Instant) -> Self {
        Self::new(RawPayload::control(header, now))
    }

    fn header(&self) -> Result<RelayHeader, DecodeError> {
        self.0.header()
    }

    fn acknowledgement(ack: &CellAck) -> Self {
        Self::new(RawPayload::acknowledgement(ack))
    }

    fn read_acknowledgement(&self) -> Result<CellAck, DecodeError> {
        self.0.read_acknowledgement()
    }

    fn write(&self, out: &mut [u8; CELL_PAYLOAD]) {
        self.0.write(out);
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        self.0.append_to(out);
    }

    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self {
        Self::new(RawPayload::read(bytes))
    }
}
