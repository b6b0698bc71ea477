//! How a cell comes from one machine to the next.

use hopflow_netem::LinkConfig;
use hopflow_units::{Bytes, Duration, Instant};

/// What a link takes at least for a packet that finds it idle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Least {
    pub(crate) serialise: Duration,
    pub(crate) propagate: Duration,
}

impl Least {
    pub(crate) fn of(link: &LinkConfig, size: Bytes) -> Self {
        Self {
            serialise: link.rate.map_or(Duration::ZERO, |rate| rate.time_for(size)),
            propagate: link.delay,
        }
    }
}

/// The last part of a cell's way to a machine, as that saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// When the packet was at the machine's router.
    pub(crate) router: Instant,
    /// When it reached the machine.
    pub(crate) arrived: Instant,
    /// What the link between the two takes at least.
    pub(crate) least: Least,
    /// What is known of the segment with the cell's last byte, on a connection.
    pub(crate) segment: Option<SegmentTimes>,
}

/// A segment with the last byte of a cell, the first one that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentTimes {
    /// When it was sent.
    pub(crate) sent: Instant,
    /// When all bytes up to the cell's last one had arrived.
    pub(crate) ready: Instant,
}

impl Crossing {
    /// A datagram that was at the router and then at the machine.
    pub(crate) const fn datagram(router: Instant, arrived: Instant, least: Least) -> Self {
        Self {
            router,
            arrived,
            least,
            segment: None,
        }
    }
}
