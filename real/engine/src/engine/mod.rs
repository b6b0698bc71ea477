//! The engine: takes inputs to its parts and gives their outputs to the driver.

mod client;
mod links;
mod receive;
mod relay;
mod transmit;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use bytes::BytesMut;
use hopflow_channel::Fingerprint;
use hopflow_onion::OnionPayload;
use hopflow_overlay::{
    CircuitSpec, Direction, Factory, FlowView, HopSpec, Host, NodeCounters, NodeEnv, Plan,
    StreamHandle, StreamSpec, StreamView,
};
use hopflow_units::{Bytes, Cells, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::{Frame, Payload, Reason, RelayCommand};
use slotmap::SlotMap;

use crate::EngineConfig;
use crate::circuit::{Circuit, CircuitKey, Phase, Side};
use crate::crypt::Crypt;
use crate::link::{Link, Peer};

/// Application bytes of a stream that wait to be cut into cells at most.
const STREAM_BUFFER: u64 = 128 * 1024;
/// Below this many the driver hears that a stream takes more.
const STREAM_LOW: u64 = 64 * 1024;

/// One of the sockets of a worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Via {
    /// The one whose address the directory lists.
    Listening,
    /// The one from which links are opened.
    Outgoing,
}

/// A connection of a stream carrier, as engine and driver name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(u64);

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

/// Something that the driver shall do with a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open it, and call [`Engine::connected`] or [`Engine::closed`].
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
    /// A hop did not answer, or proved to be somebody else, `hop` counted from zero.
    Hop {
        /// The hop.
        hop: usize,
    },
    /// A hop, or we, closed it after it was built.
    Closed(Reason),
    /// Its cells were altered on the way.
    Forged,
}

/// A link that we opened, or wanted to, and that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostLink {
    /// The neighbour.
    pub to: Fingerprint,
    /// Why, if the channel knows; or else the neighbour is silent or its connection gone.
    pub why: Option<hopflow_channel::Error>,
}

/// Lost links that are kept until the driver asks for them.
const MOST_LOST: usize = 64;

/// Something that the driver shall know.
#[derive(Debug)]
pub enum Event {
    /// A circuit that we build is ready.
    Built {
        /// The circuit.
        circuit: CircuitKey,
    },
    /// A circuit that we built, or wanted to, is gone.
    Closed {
        /// The circuit.
        circuit: CircuitKey,
        /// Why.
        why: Failure,
    },
    /// A client began a stream at this exit.
    Begin {
        /// The stream.
        stream: StreamHandle,
        /// Where it shall lead, as the client put it.
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
    /// Circuits that are there, built or not.
    pub circuits: u64,
    /// Handshakes of circuits that succeeded here, as a relay or as a client.
    pub handshakes: u64,
    /// Those that failed.
    pub handshakes_failed: u64,
    /// Links that were refused because there were too many.
    pub links_refused: u64,
    /// Circuits closed because a cell was not from the other end.
    pub forged: u64,
    /// Circuits closed because cells took too much memory.
    pub out_of_memory: u64,
    /// Datagrams and pieces of streams that could not be read.
    pub garbage: u64,
}

/// A relay's or client's worker without its sockets.
///
/// The driver's duties:
/// 1. It passes in what happens, with the time `now`, which never goes back: datagrams, bytes and
///    the state of connections, calls for circuits and streams. It may pass in several things
///    before it does the next.
/// 2. It drains what follows: [`poll_event`](Self::poll_event), [`poll_action`](Self::poll_action),
///    [`poll_lost`](Self::poll_lost), [`poll_datagrams`](Self::poll_datagrams) and
///    [`poll_bytes`](Self::poll_bytes), in any order, until none of them has anything. It may stop
///    polling datagrams while its uplink is full, and goes on when that is over.
/// 3. It calls [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout),
///    which it asks for after draining.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    plan: Plan,
    host: Box<dyn Host<OnionPayload>>,
    /// By their numbers in the node.
    links: Vec<Option<Link>>,
    by_peer: BTreeMap<Peer, LinkId>,
    /// Links that we opened and that carry any number of circuits.
    by_target: BTreeMap<(SocketAddr, Fingerprint), LinkId>,
    circuits: SlotMap<CircuitKey, Circuit>,
    /// Circuits that carry data, by their numbers in the node.
    by_handle: Vec<Option<CircuitKey>>,
    /// Circuits of streams; some of these streams may be gone.
    streams: BTreeMap<StreamHandle, CircuitKey>,
    alarms: BTreeSet<(Instant, CircuitKey)>,
    /// Links whose channel wants to hear the time.
    timed: BTreeSet<(Instant, LinkId)>,
    /// Links whose handshake is not over.
    handshaking: usize,
    /// Links with something to send.
    sending: VecDeque<LinkId>,
    /// Last datagrams of links that are gone.
    farewells: VecDeque<(Transmit, Vec<u8>)>,
    next_conn: u64,
    next_upkeep: Instant,
    actions: VecDeque<Action>,
    lost: VecDeque<LostLink>,
    events: VecDeque<Event>,
    counters: Counters,
    /// Buffers that keep their memory.
    frames: Vec<Frame<OnionPayload>>,
    plain: Vec<u8>,
}

impl Engine {
    /// An engine whose node has the transport of `factory`.
    pub fn new(config: EngineConfig, factory: &dyn Factory<OnionPayload>) -> Self {
        let env = NodeEnv {
            node: NodeId::new(0),
            bucket: config.bucket,
            access: config.access,
            phase: 0.0,
        };
        Self {
            plan: factory.plan(),
            host: factory.node(&env),
            config,
            links: Vec::new(),
            by_peer: BTreeMap::new(),
            by_target: BTreeMap::new(),
            circuits: SlotMap::with_key(),
            by_handle: Vec::new(),
            streams: BTreeMap::new(),
            alarms: BTreeSet::new(),
            timed: BTreeSet::new(),
            handshaking: 0,
            sending: VecDeque::new(),
            farewells: VecDeque::new(),
            next_conn: 0,
            next_upkeep: Instant::ZERO,
            actions: VecDeque::new(),
            lost: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
            frames: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// Closes a circuit and tells the neighbours.
    pub fn close_circuit(&mut self, now: Instant, circuit: CircuitKey) {
        self.end_circuit(now, circuit, Reason::Requested, None, Failure::Requested);
    }

    /// Begins a stream on a circuit that we built; `target` says where it shall lead and fits one
    /// cell. `None` if it does not fit, or the circuit is not ready or has no place for a stream.
    pub fn open_stream(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        target: &[u8],
    ) -> Option<StreamHandle> {
        let Phase::Open {
            handle,
            next_stream,
            ..
        } = &mut self.circuits.get_mut(circuit)?.phase
        else {
            return None;
        };
        // A name comes up again after 65,535 streams; so long no circuit is kept.
        if target.len() > OnionPayload::capacity(RelayCommand::Begin) {
            return None;
        }
        *next_stream = next_stream.checked_add(1)?;
        let spec = StreamSpec {
            id: StreamId::new(*next_stream),
            legs: vec![*handle],
            hold: Cells::ZERO,
        };
        let stream = self.host.open_stream(&spec)?;
        let len = Bytes::new(target.len() as u64);
        self.host
            .begin_stream(now, stream, BytesMut::from(target), len);
        self.streams.insert(stream, circuit);
        Some(stream)
    }

    /// Takes data for a stream and returns how much; [`Event::Writable`] follows if that was not
    /// all.
    pub fn write(&mut self, now: Instant, stream: StreamHandle, data: &[u8]) -> usize {
        let Some(view) = self.host.stream_view(stream) else {
            return data.len();
        };
        let room = STREAM_BUFFER.saturating_sub(view.pending.get()) as usize;
        let taken = room.min(data.len());
        if taken > 0 {
            let len = Bytes::new(taken as u64);
            self.host
                .write(now, stream, BytesMut::from(&data[..taken]), len);
        }
        if taken < data.len() {
            self.host.notify_below(stream, Bytes::new(STREAM_LOW));
        }
        taken
    }

    /// Says that no more data of a stream follows. [`Event::Writable`] follows once all of it is
    /// on its way: a stream that is closed earlier is broken off.
    pub fn finish(&mut self, now: Instant, stream: StreamHandle) {
        self.host.finish_stream(now, stream);
        self.host.notify_below(stream, Bytes::new(1));
    }

    /// Ends a stream; breaks it off unless both ends have finished.
    pub fn close_stream(&mut self, now: Instant, stream: StreamHandle) {
        self.streams.remove(&stream);
        self.host.close_stream(now, stream);
    }

    /// Says whether a stream's data is taken; it is at first.
    pub fn set_reading(&mut self, now: Instant, stream: StreamHandle, reading: bool) {
        self.host.set_reading(now, stream, reading);
    }

    /// The present state of a stream; `None` if there is none.
    pub fn stream_view(&self, stream: StreamHandle) -> Option<StreamView> {
        self.host.stream_view(stream)
    }

    /// The circuits that carry data, with the present state of both of their flows.
    pub fn flows(&self) -> impl Iterator<Item = (CircuitKey, [Option<FlowView>; 2])> + '_ {
        self.circuits.iter().filter_map(|(key, circuit)| {
            let Phase::Open { handle, .. } = &circuit.phase else {
                return None;
            };
            let view = |direction| self.host.flow_view(*handle, direction);
            Some((key, [view(Direction::Forward), view(Direction::Backward)]))
        })
    }

    /// What the engine has done, and what it holds.
    pub fn counters(&self) -> Counters {
        Counters {
            node: self.host.counters(),
            links: self.by_peer.len() as u64,
            circuits: self.circuits.len() as u64,
            ..self.counters
        }
    }

    /// Something that the driver shall know.
    pub fn poll_event(&mut self, now: Instant) -> Option<Event> {
        if self.events.is_empty() {
            self.take_events(now);
        }
        self.events.pop_front()
    }

    /// Something that the driver shall do with a connection.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// A link that failed, for the operator: its circuits have been told of.
    pub fn poll_lost(&mut self) -> Option<LostLink> {
        self.lost.pop_front()
    }

    /// Lets a circuit carry data: gives it to the node.
    fn open_circuit(&mut self, now: Instant, key: CircuitKey, crypt: Crypt) {
        // The node may give the circuit the number of one whose end we have not heard of.
        self.take_events(now);
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        let spec = |side: Side| HopSpec {
            link: side.link,
            circuit: side.name,
            queue_limit: side.queue_limit,
        };
        let handle = self.host.open_circuit(&CircuitSpec {
            prev: circuit.prev.map(spec),
            next: circuit.next.map(spec),
        });
        circuit.phase = Phase::Open {
            handle,
            crypt: Box::new(crypt),
            next_stream: 0,
        };
        if self.by_handle.len() <= handle.index() {
            self.by_handle.resize(handle.index() + 1, None);
        }
        self.by_handle[handle.index()] = Some(key);
        self.set_alarm(key, None);
    }

    /// Closes a circuit, tells the neighbours but the one that `told` us, and tells the driver of
    /// `why` if the circuit was ours.
    fn end_circuit(
        &mut self,
        now: Instant,
        key: CircuitKey,
        reason: Reason,
        told: Option<LinkId>,
        why: Failure,
    ) {
        let Some(circuit) = self.circuits.get(key) else {
            return;
        };
        if let Phase::Open { handle, .. } = circuit.phase {
            // The node tells the neighbours, and then us, see `take_events`.
            self.host.close_circuit(handle, reason);
            return self.forget_circuit(now, key, why);
        }
        for side in [circuit.prev, circuit.next].into_iter().flatten() {
            if told != Some(side.link) {
                self.send_destroy(now, side.link, side.name, reason);
            }
        }
        self.forget_circuit(now, key, why);
    }

    /// Forgets a circuit whose neighbours know that it is gone.
    fn forget_circuit(&mut self, now: Instant, key: CircuitKey, why: Failure) {
        self.set_alarm(key, None);
        let Some(circuit) = self.circuits.remove(key) else {
            return;
        };
        if let Phase::Open { handle, .. } = circuit.phase
            && let Some(place) = self.by_handle.get_mut(handle.index())
            && *place == Some(key)
        {
            *place = None;
        }
        for side in [circuit.prev, circuit.next].into_iter().flatten() {
            self.free_name(now, side);
        }
        if circuit.prev.is_none() {
            self.events.push_back(Event::Closed { circuit: key, why });
        }
    }

    /// Takes what the node has to say.
    fn take_events(&mut self, now: Instant) {
        use hopflow_overlay::Event as Said;
        while let Some(event) = self.host.poll_event() {
            let event = match event {
                Said::Delivered { stream, payload } => Event::Data { stream, payload },
                Said::Begun {
                    stream,
                    circuit,
                    target,
                } => {
                    if let Some(key) = self.by_handle.get(circuit.index()).copied().flatten() {
                        self.streams.insert(stream, key);
                    }
                    Event::Begin { stream, target }
                }
                Said::Finished { stream } => Event::Finished { stream },
                Said::Drained { stream } => Event::Writable { stream },
                Said::StreamClosed { stream } => {
                    self.streams.remove(&stream);
                    Event::Reset { stream }
                }
                // Transports whose nodes talk beside their links run in the simulator only.
                Said::Message { .. } => continue,
                Said::Closed { circuit, reason } => {
                    let place = self.by_handle.get(circuit.index()).copied().flatten();
                    if let Some(key) = place
                        && let Some(Circuit {
                            phase: Phase::Open { handle, .. },
                            ..
                        }) = self.circuits.get(key)
                        && *handle == circuit
                    {
                        self.forget_circuit(now, key, Failure::Closed(reason));
                    }
                    continue;
                }
            };
            self.events.push_back(event);
        }
    }

    /// Sets, moves or takes away the time at which a circuit is looked at.
    fn set_alarm(&mut self, key: CircuitKey, at: Option<Instant>) {
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        if let Some(old) = std::mem::replace(&mut circuit.alarm, at) {
            self.alarms.remove(&(old, key));
        }
        if let Some(at) = at {
            self.alarms.insert((at, key));
        }
    }
}
