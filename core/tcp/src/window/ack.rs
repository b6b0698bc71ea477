//! What the window learns of an acknowledgement.

use hopflow_units::{Duration, Instant};

/// What an acknowledgement tells the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSample {
    pub(crate) now: Instant,
    /// Bytes newly known to have arrived.
    pub(crate) acked: u64,
    /// The lowest offset not acknowledged.
    pub(crate) una: u64,
    /// The lowest offset never sent.
    pub(crate) nxt: u64,
    /// The latest round-trip time.
    pub(crate) rtt: Duration,
    /// The smallest round-trip time.
    pub(crate) min_rtt: Duration,
}
