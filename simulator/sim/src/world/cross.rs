//! Applications on the nodes' machines that use TCP beside the overlay.

use hopflow_units::{Bytes, Instant};

use super::World;
use super::streams::ConnectionEnd;

/// A connection that transfers data without end.
#[derive(Debug)]
pub(super) struct CrossFlow {
    ends: [ConnectionEnd; 2],
    /// Bytes received while measurements are taken.
    measured: Bytes,
}

impl CrossFlow {
    pub(super) fn new(ends: [ConnectionEnd; 2]) -> Self {
        Self {
            ends,
            measured: Bytes::ZERO,
        }
    }

    /// The end that sends.
    pub(super) const fn sender(&self) -> ConnectionEnd {
        self.ends[0]
    }

    /// Bytes received while measurements are taken.
    pub(super) const fn measured(&self) -> Bytes {
        self.measured
    }
}

impl World {
    /// Opens the connection of a flow.
    pub(super) fn connect(&mut self, sender: ConnectionEnd) {
        self.connections.fill(sender);
        self.pump_connection(sender);
    }

    /// A segment of a flow has reached an end: the sender writes what fits, the receiver counts.
    pub(super) fn on_cross_data(&mut self, flow: usize, end: ConnectionEnd, bytes: Bytes) {
        let state = &mut self.cross[flow];
        if state.sender() == end {
            self.connections.fill(end);
        } else if self.now >= Instant::ZERO + self.recorder.from() {
            state.measured += bytes;
        }
    }
}
