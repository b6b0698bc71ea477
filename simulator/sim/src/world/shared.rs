//! What all parts of a world use.

use hopflow_units::Instant;
use hopflow_wire::Frame;

use super::packets::Packets;
use super::timeline::Timeline;
use crate::payload::Simulated;

/// The time with its pending events, the contents of packets, and scratch space.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) timeline: Timeline,
    pub(crate) packets: Packets,
    /// What a node sends or receives at the moment.
    pub(crate) frames: Vec<Frame<Simulated>>,
}

impl Shared {
    pub(crate) fn new(timeline: Timeline) -> Self {
        Self {
            timeline,
            packets: Packets::default(),
            frames: Vec::new(),
        }
    }

    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.timeline.now()
    }
}
