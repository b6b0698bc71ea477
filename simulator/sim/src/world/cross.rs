//! Applications on the machines that use TCP outside the overlay.

use hopflow_units::{Bytes, Instant};

use super::address::ConnectionEnd;

/// A connection that transfers data without end.
#[derive(Debug)]
pub(crate) struct CrossFlow {
    sender: ConnectionEnd,
    /// When measurements begin.
    from: Instant,
    /// Bytes received since then.
    measured: Bytes,
}

impl CrossFlow {
    pub(crate) const fn new(sender: ConnectionEnd, from: Instant) -> Self {
        Self {
            sender,
            from,
            measured: Bytes::ZERO,
        }
    }

    /// The end that sends.
    pub(crate) const fn sender(&self) -> ConnectionEnd {
        self.sender
    }

    /// Bytes received since measurements began.
    pub(crate) const fn measured(&self) -> Bytes {
        self.measured
    }

    /// Counts what the receiver has received.
    pub(crate) fn count(&mut self, now: Instant, bytes: Bytes) {
        if now >= self.from {
            self.measured += bytes;
        }
    }
}
