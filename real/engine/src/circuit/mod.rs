//! A circuit at this node, from its first message to its last.

use hopflow_onion::{Handshake, HopKeys, Initiator};
use hopflow_overlay::CircuitHandle;
use hopflow_units::{Cells, CircuitId as Name, Duration, Instant, LinkId};
use hopflow_wire::CELL_PAYLOAD;

use crate::Hop;
use crate::crypt::Crypt;

slotmap::new_key_type! {
    /// A circuit, as its engine numbers it.
    pub struct CircuitKey;
}

pub(crate) type Body = Box<[u8; CELL_PAYLOAD]>;

/// A circuit's end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) link: LinkId,
    pub(crate) name: Name,
    /// Cells that the neighbour queues; known once it has answered.
    pub(crate) queue_limit: Cells,
}

/// A circuit.
#[derive(Debug)]
pub(crate) struct Circuit {
    pub(crate) prev: Option<Side>,
    pub(crate) next: Option<Side>,
    pub(crate) phase: Phase,
    /// At a relay, the handshake message that began it: another one is another circuit's.
    pub(crate) created_by: Option<Handshake>,
    /// When the engine looks at it again.
    pub(crate) alarm: Option<Instant>,
}

/// How far a circuit has come.
#[derive(Debug)]
pub(crate) enum Phase {
    /// We build it.
    Building(Box<Building>),
    /// A client builds it through us.
    Nascent(Box<Nascent>),
    /// It is about to be closed.
    Closing,
    /// It carries data.
    Open {
        handle: CircuitHandle,
        crypt: Box<Crypt>,
        /// Names of its streams that were given out; the client gives them.
        next_stream: u16,
    },
}

/// What a client keeps of a circuit that it builds.
#[derive(Debug)]
pub(crate) struct Building {
    pub(crate) path: Vec<Hop>,
    /// Of the hops that have answered.
    pub(crate) keys: Vec<HopKeys>,
    /// The handshake with the hop that is asked.
    pub(crate) initiator: Option<Initiator>,
    /// What was sent last, to be repeated.
    pub(crate) message: Body,
    /// Numbers the messages to last hops.
    pub(crate) counter: u32,
    pub(crate) tries: u32,
    pub(crate) patience: Duration,
}

/// What a relay keeps of a circuit that is being built.
#[derive(Debug)]
pub(crate) struct Nascent {
    pub(crate) keys: Box<HopKeys>,
    /// The answer to the client's handshake, to be repeated.
    pub(crate) created: Body,
    /// The counter of the client's last message for us.
    pub(crate) counter: Option<u32>,
    /// The answer to it, to be repeated.
    pub(crate) answer: Option<Body>,
    /// What we asked the next hop and have no answer to.
    pub(crate) asked: Option<Body>,
}

impl Nascent {
    /// Whether the next hop is known and has answered.
    pub(crate) fn is_extended(&self, next: Option<&Side>) -> bool {
        next.is_some() && self.asked.is_none()
    }
}
