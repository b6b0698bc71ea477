//! What all lanes of a partition use in turn.

use std::sync::Arc;

use hopflow_units::Instant;
use hopflow_wire::Frame;

use super::marks::Read;
use super::outbox::Outbox;
use super::packets::Packets;
use super::routes::Routes;
use crate::payload::Simulated;

/// The time, the contents of packets, what leaves the lane at work, and scratch space.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The time in the lane at work.
    pub(crate) now: Instant,
    /// When the simulation ends.
    pub(crate) end: Instant,
    pub(crate) packets: Packets,
    /// What a node sends or receives at the moment.
    pub(crate) frames: Vec<Frame<Simulated>>,
    /// Marked cells that connections have passed to nodes of the lane at work.
    pub(crate) read: Vec<Read>,
    pub(crate) out: Outbox,
    pub(crate) routes: Arc<Routes>,
}

impl Shared {
    pub(crate) fn new(end: Instant, routes: Arc<Routes>) -> Self {
        Self {
            now: Instant::ZERO,
            end,
            packets: Packets::default(),
            frames: Vec::new(),
            read: Vec::new(),
            out: Outbox::default(),
            routes,
        }
    }

    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }
}
