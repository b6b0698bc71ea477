//! What the applications at both ends of a stream do.

use hopflow_units::{Bytes, Cells, Instant};
use hopflow_wire::Reason;

use super::Chain;
use super::circuits::CircuitNo;
use super::streams::{End, StreamNo, StreamState};

impl Chain<'_> {
    /// An end writes `len` bytes more.
    pub fn write(&mut self, stream: StreamNo, from: End, len: Bytes) {
        let data = self.streams[stream.0].write(from, len);
        let (node, handle) = self.end(stream, from);
        let now = self.now;
        self.input(node, |host| host.write(now, handle, data, len));
    }

    /// An end stops reading, or begins again.
    pub fn set_reading(&mut self, stream: StreamNo, at: End, reading: bool) {
        let (node, handle) = self.end(stream, at);
        let now = self.now;
        let credit = if reading { Cells::MAX } else { Cells::ZERO };
        self.input(node, |host| host.set_credit(now, handle, credit));
    }

    /// An end sends over one circuit only, or over all.
    pub fn pin(&mut self, stream: StreamNo, from: End, leg: Option<CircuitNo>) {
        let (node, handle) = self.end(stream, from);
        let leg = leg.map(|leg| self.circuits.get(leg).at(from).1);
        let now = self.now;
        self.input(node, |host| host.pin_stream(now, handle, leg));
    }

    /// The node at hop number `hop` of a circuit closes it.
    pub fn close(&mut self, circuit: CircuitNo, hop: usize) {
        let (node, handle) = self.circuits.get(circuit).hops[hop];
        let now = self.now;
        self.input(node, |host| {
            host.close_circuit(now, handle, Reason::Requested);
        });
    }

    /// Bytes that an end has sent and the other one has got.
    pub fn arrived(&self, stream: StreamNo, from: End) -> Bytes {
        Bytes::new(self.streams[stream.0].arrived(from))
    }

    /// When the last cell of a stream arrived, at either end.
    pub fn last_arrival(&self, stream: StreamNo) -> Instant {
        self.streams[stream.0].last_arrival()
    }

    /// Whether everything that was written has arrived.
    pub fn all_arrived(&self) -> bool {
        self.streams.iter().all(StreamState::all_arrived)
    }
}
