//! What engine and driver exchange, and names that its parts share.

use std::net::{IpAddr, SocketAddr};

use hopflow_channel::Fingerprint;
use hopflow_onion::OnionPayload;
use hopflow_overlay::{NodeCounters, StreamHandle};
use hopflow_wire::{CELL_PAYLOAD, Reason};

use crate::origin::Prefix;

slotmap::new_key_type! {
    /// A circuit, as its engine numbers it.
    pub struct CircuitKey;
}

/// Who began a circuit, as far as its relay can tell: a network, or a relay of the directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Network(pub(crate) Prefix);

impl Network {
    /// The network of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(Prefix::of(address))
    }

    /// The relay of the directory whose certificate has this fingerprint.
    pub const fn of_relay(fingerprint: Fingerprint) -> Self {
        Self(Prefix::Relay(fingerprint))
    }

    /// How many times as much as others it may ask for and have: relays of the directory do so for many clients.
    pub const fn share(self) -> usize {
        self.0.share()
    }

    /// How much so many are of it, beside what others have: for each share that it has.
    pub const fn weight(self, count: usize) -> usize {
        self.0.weight(count)
    }
}

/// A relay that a link is opened to: where it listens, and its certificate's fingerprint.
pub(crate) type Target = (SocketAddr, Fingerprint);

/// The body of a set-up message.
pub(crate) type Body = Box<[u8; CELL_PAYLOAD]>;

/// One of the sockets of a worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Via {
    /// The one whose address the directory lists. Where it has no address of its own, a neighbour is answered from
    /// the host's address at which it called: answers from another one would not reach it.
    Listening(Option<IpAddr>),
    /// The one from which links are opened.
    Outgoing,
}

/// A connection of a stream carrier, as engine and driver name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(pub(crate) u64);

/// A link that the engine opened, as engine and driver name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OpenedLink {
    /// Where the relay takes links.
    pub to: SocketAddr,
    /// The connection that carries it; `None` with datagrams.
    pub conn: Option<ConnId>,
}

/// Where datagrams are to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The neighbour.
    pub to: SocketAddr,
    /// The socket to send from.
    pub via: Via,
    /// The length of each datagram but the last, which may be shorter.
    pub segment: usize,
}

/// What the driver is to do with a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open it, and call [`Engine::connected`](crate::Engine::connected) or
    /// [`Engine::closed`](crate::Engine::closed).
    Connect {
        /// Its name.
        conn: ConnId,
        /// The neighbour.
        to: SocketAddr,
    },
    /// Close it.
    Close {
        /// Its name.
        conn: ConnId,
    },
}

/// Why a circuit that we built, or wanted to, is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// We closed it.
    Requested,
    /// A hop, counted from zero, did not answer, proved to be somebody else, or does not go on; or the one
    /// before it says so.
    Hop {
        /// The hop.
        hop: usize,
    },
    /// While a hop was asked an answer did not come, or somebody closed the circuit: whoever is on the way to
    /// that hop can bring this about in the place of another.
    OnTheWay {
        /// The hop that was asked.
        hop: usize,
    },
    /// A hop, or we, closed it after it was built.
    Closed(Reason),
    /// Its cells were altered on the way.
    Forged,
    /// Our address is another one.
    Moved,
    /// This host has no way to the first hop at present, so that nothing was sent.
    NoRoute,
}

impl Failure {
    /// Of a circuit that ended without a word of its last hop while this one was asked. Of the first two hops
    /// one is to blame, or both.
    pub(crate) const fn of_asked(hop: usize) -> Self {
        match hop {
            0 | 1 => Self::Hop { hop },
            _ => Self::OnTheWay { hop },
        }
    }
}

/// A link that we opened, or wanted to, and that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostLink {
    /// The neighbour.
    pub to: Fingerprint,
    /// Why, if the channel knows; or else the neighbour is silent or its connection gone.
    pub why: Option<hopflow_channel::Error>,
}

/// What the engine reports to its driver.
#[derive(Debug)]
pub enum Event {
    /// A circuit that we build is ready.
    Built {
        /// The circuit.
        circuit: CircuitKey,
    },
    /// The exit answered whether a circuit is a leg of a linked set.
    Linked {
        /// The circuit.
        circuit: CircuitKey,
        /// The worker of the exit at which it is one.
        worker: Option<u16>,
    },
    /// A circuit that we built, or wanted to, is gone.
    Closed {
        /// The circuit.
        circuit: CircuitKey,
        /// Why.
        why: Failure,
    },
    /// A client began a stream at this exit. Its data waits until it [is taken](crate::Engine::set_credit).
    Begin {
        /// The stream.
        stream: StreamHandle,
        /// The target, as the client wrote it.
        target: OnionPayload,
    },
    /// Data of a stream: [`OnionPayload::data`].
    Data {
        /// The stream.
        stream: StreamHandle,
        /// The cell that carries it.
        payload: OnionPayload,
    },
    /// A stream takes data again, or all of one that has finished is on its way.
    Writable {
        /// The stream.
        stream: StreamHandle,
    },
    /// The other end has finished; all that it said has been delivered.
    Finished {
        /// The stream.
        stream: StreamHandle,
    },
    /// A stream is gone; what was under way is lost.
    Reset {
        /// The stream.
        stream: StreamHandle,
    },
}

/// What an engine has done, and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// What its node has done.
    pub node: NodeCounters,
    /// Links that are there.
    pub links: u64,
    /// Of those that others opened, the ones whose handshake is not over.
    pub half_open_links: u64,
    /// Circuits that are there, built or not.
    pub circuits: u64,
    /// Of those that others began, the ones that carry no data yet.
    pub nascent_circuits: u64,
    /// Handshakes of circuits that succeeded here, as a relay or as a client.
    pub handshakes: u64,
    /// Those that failed, and circuits that ended here before we had built them, unless because of this host: it has
    /// another address or no route, or the engine was [shut down](crate::Engine::shut_down). Those that the driver
    /// [closes](crate::Engine::close_circuit) count.
    pub handshakes_failed: u64,
    /// Links that were refused, or not opened, because there were too many.
    pub links_refused: u64,
    /// Links of the network that had most, closed because there were too many.
    pub links_evicted: u64,
    /// Circuits that were refused because their network asked too often or broke rules, or the neighbour takes no
    /// answers.
    pub circuits_refused: u64,
    /// Circuits of the network that had most, closed because there were too many.
    pub circuits_evicted: u64,
    /// Messages that build circuits, dropped because the bucket has nothing left for them: who sent one repeats it.
    pub setup_dropped: u64,
    /// Links and circuits that were refused because the relay drains or hibernates.
    pub refused_at_rest: u64,
    /// Circuits closed because a cell was not from the other end.
    pub forged: u64,
    /// Circuits and links closed because they took too much memory.
    pub out_of_memory: u64,
    /// Datagrams and pieces of streams that could not be read.
    pub garbage: u64,
}
