//! What leaves a lane for others.

use std::cmp::Ordering;

use hopflow_units::Instant;
use hopflow_wire::{Frame, Message};

use super::address::{ConnectionAt, LinkEnd, UserAt};
use super::packets::Packet;
use crate::payload::Simulated;
use crate::spec::Fetch;

/// What a lane has sent to others and nobody has delivered yet.
///
/// Nothing of it is used by its destination before the next window begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    /// Packets that will be at the routers of their destinations.
    pub(crate) arrivals: Vec<Arrival>,
    /// Packets that will reach the first of several routers.
    pub(crate) entries: Vec<Arrival>,
    /// Frames written onto connections.
    pub(crate) written: Vec<(ConnectionAt, Written)>,
    /// What users have asked their servers for.
    pub(crate) requests: Vec<(UserAt, Request)>,
    /// Messages out of band.
    pub(crate) messages: Vec<Envelope>,
    /// When cells of users left their sources.
    pub(crate) left: Vec<(UserAt, Left)>,
}

/// A packet on its way to a router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// When it will be there.
    pub(crate) at: Instant,
    /// How it comes there: 0 from an access link of the same router, else one more than the number
    /// of the last link between routers.
    pub(crate) via: u32,
    /// The machine that sent it; the greatest number if it comes from a link between routers on which
    /// it may have waited.
    pub(crate) from: u32,
    /// Packets of that machine, or of all such links, before this one.
    pub(crate) order: u64,
    pub(crate) packet: Packet,
}

/// A frame of a connection, with the stream offset of its end.
pub(crate) type Written = (u64, Frame<Simulated>);

/// A fetch that a user begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) at: Instant,
    pub(crate) fetch: Fetch,
}

/// A message out of band.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    /// When it arrives.
    pub(crate) at: Instant,
    /// The machine that sent it.
    pub(crate) from: u32,
    /// What that machine scheduled or sent before it.
    pub(crate) order: u64,
    pub(crate) to: LinkEnd,
    pub(crate) message: Message,
}

/// When a cell left its source, for the first time or again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) at: Instant,
    /// The cell's offset in its stream.
    pub(crate) offset: u32,
    /// Which of the user's circuits it left on.
    pub(crate) turn: u32,
}

impl Arrival {
    /// Simultaneous packets come in the order of the links that bring them, and on one link in the
    /// order of sending.
    #[inline]
    const fn rank(&self) -> (Instant, u32, u32, u64) {
        (self.at, self.via, self.from, self.order)
    }
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Arrival {}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}
