//! Applications on the machines that use TCP outside the overlay.

use hopflow_units::{Bytes, Instant};

/// One end of a connection that transfers data without end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CrossEnd {
    /// Data is written here.
    Sender,
    /// Data is read and counted here.
    Receiver(CrossFlow),
}

/// What the receiver of a connection has counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossFlow {
    /// The number of the connection among all outside the overlay.
    pub(crate) number: u32,
    /// When measurements begin.
    from: Instant,
    /// Bytes received since then.
    pub(crate) measured: Bytes,
}

impl CrossFlow {
    pub(crate) const fn new(number: u32, from: Instant) -> Self {
        Self {
            number,
            from,
            measured: Bytes::ZERO,
        }
    }

    /// Counts what has been received.
    pub(crate) fn count(&mut self, now: Instant, bytes: Bytes) {
        if now >= self.from {
            self.measured += bytes;
        }
    }
}
