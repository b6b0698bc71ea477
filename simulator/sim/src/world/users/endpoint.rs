//! What a user has at the machine of one of its ends.

use hopflow_overlay::{CircuitHandle, StreamHandle};
use hopflow_units::Bytes;

/// What a user has at the machine of one of its ends.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The user's number.
    pub(crate) user: u32,
    /// How many circuits the user had before this one.
    pub(crate) turn: u32,
    /// Which of the machine's nodes it is.
    pub(crate) position: u16,
    pub(crate) stream: StreamHandle,
    /// The circuits that the stream has.
    pub(crate) circuits: Vec<CircuitHandle>,
    /// Whether one of them has closed: then the user stops.
    pub(crate) closed: bool,
}

/// What a user or its server writes onto its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamWrite {
    pub(crate) position: u16,
    pub(crate) stream: StreamHandle,
    pub(crate) len: Bytes,
}

impl Endpoint {
    /// Notes that a circuit at a node of the machine is closed; returns whether it is the first one
    /// of the user.
    pub(crate) fn on_closed(&mut self, position: u16, circuit: CircuitHandle) -> bool {
        let first = !self.closed && self.position == position && self.circuits.contains(&circuit);
        self.closed |= first;
        first
    }

    pub(super) fn write(&self, len: Bytes) -> StreamWrite {
        StreamWrite {
            position: self.position,
            stream: self.stream,
            len,
        }
    }
}
