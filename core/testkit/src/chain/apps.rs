//! What the applications at both ends of a stream do.

use hopflow_overlay::StreamHandle;
use hopflow_units::{Bytes, Instant};

use super::{Chain, CircuitNo, StreamNo};
use crate::Counted;
use crate::rng::mix;

/// The two ends of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Where the circuits begin.
    Client,
    /// Where they end.
    Exit,
}

#[derive(Debug)]
pub(super) struct StreamState {
    number: usize,
    /// The client's and the exit's.
    pub(super) ends: [(usize, StreamHandle); 2],
    /// Bytes that each end wrote, and that arrived from it.
    written: [u64; 2],
    arrived: [u64; 2],
    last_arrival: Instant,
}

impl End {
    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Exit,
            Self::Exit => Self::Client,
        }
    }
}

impl StreamState {
    pub(super) const fn new(number: usize, ends: [(usize, StreamHandle); 2]) -> Self {
        Self {
            number,
            ends,
            written: [0; 2],
            arrived: [0; 2],
            last_arrival: Instant::ZERO,
        }
    }

    /// The byte at `offset` of what `from` sends: each stream and direction has its own pattern.
    const fn byte(&self, from: End, offset: u64) -> u8 {
        let key = ((self.number as u64) << 1 | from as u64) << 40;
        (mix(key ^ (offset / 8)) >> (8 * (offset % 8))) as u8
    }

    /// Compares what arrives at an end with what the other end wrote.
    pub(super) fn take(&mut self, now: Instant, at: End, payload: &Counted) {
        let data = payload.data().expect("delivered cells can be read");
        let from = at.other();
        for &byte in data {
            let offset = self.arrived[from as usize];
            assert!(
                offset < self.written[from as usize],
                "more arrives than was written"
            );
            assert_eq!(
                byte,
                self.byte(from, offset),
                "byte {offset} of stream {} from {from:?}",
                self.number
            );
            self.arrived[from as usize] += 1;
        }
        self.last_arrival = now;
    }
}

impl Chain<'_> {
    /// An end writes `len` bytes more.
    pub fn write(&mut self, stream: StreamNo, from: End, len: Bytes) {
        let state = &mut self.streams[stream.0];
        let start = state.written[from as usize];
        state.written[from as usize] += len.get();
        let data = (start..start + len.get())
            .map(|offset| state.byte(from, offset))
            .collect();
        let (node, handle) = state.ends[from as usize];
        let now = self.now;
        self.input(node, |host| host.write(now, handle, data, len));
    }

    /// An end stops reading, or begins again.
    pub fn set_reading(&mut self, stream: StreamNo, at: End, reading: bool) {
        let (node, handle) = self.end(stream, at);
        let now = self.now;
        self.input(node, |host| host.set_reading(now, handle, reading));
    }

    /// An end sends over one circuit only, or over all.
    pub fn pin(&mut self, stream: StreamNo, from: End, leg: Option<CircuitNo>) {
        let (node, handle) = self.end(stream, from);
        let leg = leg.map(|leg| self.circuits[leg.0].at(from).1);
        let now = self.now;
        self.input(node, |host| host.pin_stream(now, handle, leg));
    }

    /// The node at hop number `hop` of a circuit closes it.
    pub fn close(&mut self, circuit: CircuitNo, hop: usize) {
        let (node, handle) = self.circuits[circuit.0].hops[hop];
        self.input(node, |host| {
            host.close_circuit(handle, hopflow_wire::Reason::Requested);
        });
    }

    /// Bytes that an end has sent and the other one has got.
    pub fn arrived(&self, stream: StreamNo, from: End) -> Bytes {
        Bytes::new(self.streams[stream.0].arrived[from as usize])
    }

    /// When the last cell of a stream arrived, at either end.
    pub fn last_arrival(&self, stream: StreamNo) -> Instant {
        self.streams[stream.0].last_arrival
    }

    /// Whether everything that was written has arrived.
    pub fn all_arrived(&self) -> bool {
        self.streams
            .iter()
            .all(|state| state.written == state.arrived)
    }
}
