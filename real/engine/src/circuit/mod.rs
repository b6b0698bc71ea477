//! A circuit at this node, from its first message to its last.

mod ages;
mod building;
mod linked;
mod nascent;
mod table;

use hopflow_onion::{Handshake, LinkRequest};
use hopflow_overlay::{CircuitHandle, HopSpec};
use hopflow_units::{Cells, CircuitId as Name, Instant, LinkId};

use crate::crypt::Crypt;
use crate::origin::Origin;
pub(crate) use ages::Ages;
pub(crate) use building::{Building, Outcome};
pub(crate) use nascent::{Forwarded, MOST_RELAYED, Nascent, Request};
pub(crate) use table::CircuitTable;

/// A circuit's end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) link: LinkId,
    pub(crate) name: Name,
    /// Cells that the neighbour queues; known once it has answered.
    pub(crate) queue_limit: Cells,
}

impl Side {
    /// A side whose neighbour has not answered.
    pub(crate) const fn asked(link: LinkId, name: Name) -> Self {
        Self {
            link,
            name,
            queue_limit: Cells::ZERO,
        }
    }

    /// The side as the node wants it described.
    pub(crate) const fn spec(self) -> HopSpec {
        HopSpec {
            link: self.link,
            circuit: self.name,
            queue_limit: self.queue_limit,
        }
    }
}

/// What an engine keeps of a circuit.
#[derive(Debug)]
pub(crate) struct CircuitState {
    pub(crate) prev: Option<Side>,
    pub(crate) next: Option<Side>,
    pub(crate) phase: Phase,
    /// At a relay, the handshake message that began it: another one is another circuit's.
    pub(crate) created_by: Option<Handshake>,
    /// At a relay, who began it.
    pub(crate) origin: Option<Origin>,
    /// When the engine looks at it again.
    alarm: Option<Instant>,
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
    Open(OpenCircuit),
}

/// A circuit that carries data.
#[derive(Debug)]
pub(crate) struct OpenCircuit {
    pub(crate) handle: CircuitHandle,
    pub(crate) crypt: Box<Crypt>,
    /// Names of its streams that were given out; the client gives them.
    pub(crate) next_stream: u16,
    /// At the exit, the set of which it is a leg.
    pub(crate) link: Option<Box<LinkRequest>>,
    /// How long its cells have waited, in both directions.
    pub(crate) ages: [Ages; 2],
    /// Streams that end here.
    pub(crate) streams: usize,
    /// Since when the one of them that holds data and has stalled longest has moved nothing.
    pub(crate) stalled_since: Option<Instant>,
    /// What its flows counted when they were looked at last, and since when that has not changed.
    moved: Option<(u64, Instant)>,
}

impl OpenCircuit {
    /// A circuit that has carried nothing yet.
    pub(crate) fn new(handle: CircuitHandle, crypt: Crypt) -> Self {
        Self {
            handle,
            crypt: Box::new(crypt),
            next_stream: 0,
            link: None,
            ages: Default::default(),
            streams: 0,
            stalled_since: None,
            moved: None,
        }
    }

    /// Notes what the flows count at present: it changes with each cell.
    pub(crate) fn note_moved(&mut self, now: Instant, count: u64) {
        if self.moved.is_none_or(|(before, _)| before != count) {
            self.moved = Some((count, now));
        }
    }

    /// Since when the circuit has carried nothing, as far as it was looked at.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        self.moved.map(|(_, since)| since)
    }
}

impl CircuitState {
    /// A circuit that we build.
    pub(crate) fn building(building: Building) -> Self {
        Self {
            prev: None,
            next: None,
            phase: Phase::Building(Box::new(building)),
            created_by: None,
            origin: None,
            alarm: None,
        }
    }

    /// A circuit that a client builds through us.
    pub(crate) fn nascent(
        prev: Side,
        nascent: Nascent,
        created_by: Handshake,
        origin: Origin,
    ) -> Self {
        Self {
            prev: Some(prev),
            next: None,
            phase: Phase::Nascent(Box::new(nascent)),
            created_by: Some(created_by),
            origin: Some(origin),
            alarm: None,
        }
    }

    /// Whether its cells come from the client on this link.
    pub(crate) fn comes_from(&self, link: LinkId) -> bool {
        self.prev.is_some_and(|prev| prev.link == link)
    }

    /// Its ends of links.
    pub(crate) fn sides(&self) -> impl Iterator<Item = Side> + use<> {
        [self.prev, self.next].into_iter().flatten()
    }

    /// The neighbour on the way to the exit has answered.
    pub(crate) const fn set_queue_limit(&mut self, queue_limit: Cells) {
        if let Some(next) = &mut self.next {
            next.queue_limit = queue_limit;
        }
    }
}
