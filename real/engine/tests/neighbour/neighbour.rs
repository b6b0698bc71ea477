//! Somebody with an open link to a relay, who says whatever a test wants. Shared with a fuzz
//! target.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use hopflow_channel::{DatagramChannel, Fingerprint, Identity, State, StreamChannel};
use hopflow_engine::{
    Action, ConnId, Engine, EngineConfig, Event, Limits, RelayIdentity, StreamHandle, Via,
};
use hopflow_onion::setup::{HopMessage, SetupMessage};
use hopflow_onion::{HopKeys, Initiator, OnionPayload, OnionSecret};
use hopflow_overlay::Plan;
use hopflow_units::{Cells, CircuitId, Duration, Instant};
use hopflow_wire::{CELL_PAYLOAD, Carrier, Cell, Frame, Payload, Setup};

use crate::far::{self, Far, Numbers};

static RELAY: LazyLock<Arc<RelayIdentity>> = LazyLock::new(|| {
    Arc::new(RelayIdentity {
        certificate: Identity::generate(),
        onion: OnionSecret::generate(),
    })
});

/// Whence the neighbour speaks.
const ADDRESS: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9)),
    2000,
);
/// Bytes that the neighbour's connection takes at a time.
const ROOM: usize = 64 * 1024;

enum Channel {
    Datagram(Box<DatagramChannel>),
    Stream(Box<StreamChannel>, ConnId),
}

/// The origin of virtual time.
#[expect(
    clippy::disallowed_methods,
    reason = "the library wants some clock's time"
)]
pub(crate) fn epoch() -> std::time::Instant {
    static EPOCH: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    *EPOCH
}

/// What the neighbour knows of a circuit that it opened.
#[derive(Default)]
struct Known {
    initiator: Option<Initiator>,
    keys: Option<HopKeys>,
    counter: u32,
    numbers: Numbers,
}

/// A relay, and its neighbour.
pub(crate) struct Neighbour {
    pub(crate) now: Instant,
    pub(crate) engine: Engine,
    pub(crate) plan: Plan,
    pub(crate) carrier: Carrier,
    channel: Channel,
    circuits: BTreeMap<u16, Known>,
    /// Bytes of a frame whose end has not arrived.
    partial: Vec<u8>,
    /// Streams that began at the relay.
    pub(crate) begun: Vec<StreamHandle>,
    /// Frames that the relay said, by what begins them: set-up messages, and others.
    pub(crate) heard: [usize; 2],
    /// Circuits that the relay closed since the neighbour opened them.
    pub(crate) closed: BTreeSet<u16>,
    /// Whether the neighbour, or the network to it, takes nothing more.
    pub(crate) clogged: bool,
    /// Bytes that the relay gave it all the same.
    pub(crate) backlog: usize,
    /// The relay's next hop, if there is one.
    pub(crate) far: Option<Far>,
    /// The relay's cells, opened, if the neighbour reads them: over a connection, with one circuit.
    pub(crate) read: Option<Vec<OnionPayload>>,
}

impl Neighbour {
    /// A relay with this transport, and an open link to it.
    pub(crate) fn of(transport: &str, limits: Limits) -> Self {
        let options = "".parse().expect("it is TOML");
        let factory = hopflow_real_hosts::build(transport, &options).expect("it is known");
        let epoch = epoch();
        let config = EngineConfig {
            relay: Some(RELAY.clone()),
            extend_to: None,
            bucket: None,
            access: None,
            limits,
            worker: 0,
            epoch,
        };
        let mut engine = Engine::new(config, &*factory).expect("engines offer all");
        let (now, plan) = (Instant::ZERO, factory.plan());
        let carrier = plan.link.carrier;
        let expected = RELAY.certificate.fingerprint();
        let channel = match carrier {
            Carrier::Datagram => {
                Channel::Datagram(Box::new(DatagramChannel::connect(expected, epoch)))
            }
            Carrier::Stream => {
                let conn = engine
                    .accept(now, [10, 0, 0, 1].into())
                    .expect("there is room");
                engine.set_room(now, conn, ROOM);
                Channel::Stream(Box::new(StreamChannel::connect(expected)), conn)
            }
        };
        let mut neighbour = Self {
            now,
            engine,
            plan,
            carrier,
            channel,
            circuits: BTreeMap::new(),
            partial: Vec::new(),
            begun: Vec::new(),
            heard: [0; 2],
            closed: BTreeSet::new(),
            clogged: false,
            backlog: 0,
            far: None,
            read: None,
        };
        for _ in 0..10 {
            neighbour.speak();
        }
        assert_eq!(*neighbour.state(), State::Open);
        neighbour
    }

    pub(crate) fn state(&self) -> &State {
        match &self.channel {
            Channel::Datagram(channel) => channel.state(),
            Channel::Stream(channel, _) => channel.state(),
        }
    }

    /// Brings the relay what the channel itself has to say.
    fn speak(&mut self) {
        let mut bytes = Vec::new();
        loop {
            let more = match &mut self.channel {
                Channel::Datagram(channel) => channel.poll_transmit(self.now, &mut bytes),
                Channel::Stream(channel, _) => channel.poll_transmit(self.now, &mut bytes),
            };
            if !more {
                break;
            }
            self.bring(&bytes);
            bytes.clear();
        }
        self.drain();
    }

    /// Brings the relay bytes as they are.
    pub(crate) fn bring(&mut self, bytes: &[u8]) {
        match &self.channel {
            Channel::Datagram(_) => {
                let via = Via::Listening(None);
                self.engine.receive_datagram(self.now, via, ADDRESS, bytes);
            }
            Channel::Stream(_, conn) => self.engine.receive_bytes(self.now, *conn, bytes),
        }
        self.drain();
    }

    /// Says bytes on the link.
    pub(crate) fn say(&mut self, plain: &[u8]) {
        let mut bytes = Vec::new();
        match &mut self.channel {
            Channel::Datagram(channel) => channel.seal(self.now, plain, &mut bytes),
            Channel::Stream(channel, _) => channel.seal(self.now, plain, &mut bytes),
        };
        if !bytes.is_empty() {
            self.bring(&bytes);
        }
    }

    /// Says a frame.
    pub(crate) fn frame(&mut self, frame: &Frame<OnionPayload>) {
        let mut bytes = Vec::new();
        frame.encode(self.carrier, &mut bytes);
        self.say(&bytes);
    }

    /// Says a set-up message.
    pub(crate) fn setup(&mut self, circuit: u16, message: &SetupMessage) {
        let mut bytes = Vec::new();
        let setup = Setup {
            circuit: CircuitId::new(circuit),
            body: Box::new(message.encode()),
        };
        setup.encode(&mut bytes);
        self.say(&bytes);
    }

    /// Opens a circuit; returns the message that does so.
    pub(crate) fn create(&mut self, circuit: u16) -> SetupMessage {
        let (initiator, handshake) = Initiator::start(&RELAY.onion.public(), &[]);
        let known = Known {
            initiator: Some(initiator),
            ..Known::default()
        };
        self.circuits.insert(circuit, known);
        self.closed.remove(&circuit);
        let create = SetupMessage::Create {
            queue_limit: Cells::new(100),
            handshake,
            introduction: None,
        };
        self.setup(circuit, &create);
        create
    }

    /// Asks for a next hop, at an address of the neighbour's choice.
    pub(crate) fn extend(&mut self, circuit: u16, to: SocketAddr) {
        self.extend_to(circuit, to, Fingerprint::from_bytes([7; 32]));
    }

    /// Asks for a next hop that proves itself so.
    pub(crate) fn extend_to(&mut self, circuit: u16, to: SocketAddr, fingerprint: Fingerprint) {
        let (_, handshake) = Initiator::start(&RELAY.onion.public(), &[]);
        let extend = HopMessage::Extend {
            address: to,
            fingerprint: fingerprint.to_bytes(),
            handshake,
        };
        let Some(known) = self.circuits.get_mut(&circuit) else {
            return;
        };
        known.counter += 1;
        let counter = known.counter;
        if let Some(keys) = &known.keys {
            let sealed = Box::new(keys.forward.seal_setup(counter, &extend.encode()));
            self.setup(circuit, &SetupMessage::Forward { counter, sealed });
        }
    }

    /// Sends a cell with this inside: command, stream, length, data. It is the next one, if it is
    /// not one of those behind it, or before it.
    pub(crate) fn cell(&mut self, circuit: u16, plain: &[u8], ahead: i64) {
        let Some(known) = self.circuits.get_mut(&circuit) else {
            return;
        };
        let Some(keys) = &known.keys else { return };
        let by_ends = self.plan.connection().is_some();
        let (flags, seq, index) = known.numbers.of(by_ends, plain, ahead);
        let mut body = [0; CELL_PAYLOAD];
        let len = plain.len().min(CELL_PAYLOAD - 16);
        body[16..16 + len].copy_from_slice(&plain[..len]);
        keys.forward.seal(index, &mut body);
        let cell = Cell {
            circuit: CircuitId::new(circuit),
            flags,
            seq,
            payload: OnionPayload::read(&body),
        };
        self.frame(&Frame::Cell(cell));
    }

    /// The neighbour is gone; its connection, if there is one, tells.
    pub(crate) fn hang_up(&mut self) {
        if let Channel::Stream(_, conn) = &self.channel {
            self.engine.closed(self.now, *conn);
        }
        self.drain();
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        // A node that asks again and again without a reason would never end this.
        for _ in 0..10_000 {
            let next = self.engine.poll_timeout().max(self.now);
            if next > end {
                break;
            }
            self.now = next;
            self.engine.handle_timeout(next);
            self.drain();
        }
        self.now = end;
    }

    /// Takes what the relay has to say.
    pub(crate) fn drain(&mut self) {
        loop {
            if let Some(event) = self.engine.poll_event(self.now) {
                if let Event::Begin { stream, .. } = event {
                    self.begun.push(stream);
                    self.engine.set_credit(self.now, stream, Cells::MAX);
                }
            } else if let Some(action) = self.engine.poll_action() {
                if let Action::Connect { conn, to } = action {
                    match &mut self.far {
                        Some(far) if to == far::ADDRESS => {
                            far.connect(self.now, &mut self.engine, conn);
                        }
                        // Nobody else is there.
                        _ => self.engine.closed(self.now, conn),
                    }
                }
            } else if !self.clogged
                && let Some((transmit, bytes)) = self.engine.poll_datagrams(self.now, 3000)
            {
                let bytes = bytes.to_vec();
                for datagram in bytes.chunks(transmit.segment) {
                    if transmit.to == ADDRESS {
                        self.hear(datagram);
                    } else if let Some(far) = &mut self.far
                        && transmit.to == far::ADDRESS
                    {
                        far.hear(self.now, datagram);
                    }
                }
            } else if let Some((conn, bytes)) = self.engine.poll_bytes(self.now) {
                let bytes = bytes.to_vec();
                if let Some(far) = &mut self.far
                    && far.has(conn)
                {
                    self.engine.set_room(self.now, conn, ROOM);
                    far.hear(self.now, &bytes);
                } else if self.clogged {
                    self.backlog += bytes.len();
                } else {
                    self.engine.set_room(self.now, conn, ROOM);
                    self.hear(&bytes);
                }
            } else if !self.far_speaks() {
                return;
            }
        }
    }

    /// The next hop says what it has to say; true if that was something.
    fn far_speaks(&mut self) -> bool {
        let far = self.far.as_mut();
        far.is_some_and(|far| far.deliver(self.now, &mut self.engine))
    }

    fn hear(&mut self, bytes: &[u8]) {
        let plain = &mut self.partial;
        let mut take = |piece: &[u8]| plain.extend_from_slice(piece);
        match &mut self.channel {
            Channel::Datagram(channel) => channel.receive(self.now, bytes, &mut take),
            Channel::Stream(channel, _) => channel.receive(self.now, bytes, &mut take),
        }
        let plain = std::mem::take(&mut self.partial);
        let mut rest = &plain[..];
        while !rest.is_empty() {
            if let Ok(Some((setup, behind))) = Setup::decode(rest) {
                self.heard[0] += 1;
                self.on_setup(&setup);
                rest = behind;
            } else if let Ok((frame, behind)) = Frame::<OnionPayload>::decode(rest, self.carrier) {
                self.heard[1] += 1;
                match frame {
                    Frame::Destroy(destroy) => drop(self.closed.insert(destroy.circuit.get())),
                    Frame::Cell(cell) => self.read(cell),
                    _ => {}
                }
                rest = behind;
            } else {
                assert_eq!(self.carrier, Carrier::Stream, "a relay says frames only");
                break;
            }
        }
        self.partial = rest.to_vec();
    }

    fn read(&mut self, mut cell: Cell<OnionPayload>) {
        let known = self.circuits.get(&cell.circuit.get());
        if let Some(keys) = known.and_then(|known| known.keys.as_ref())
            && let Some(read) = &mut self.read
        {
            let opened = keys
                .backward
                .open(read.len() as u64, cell.payload.bytes_mut());
            assert_eq!(opened, Ok(()), "a relay says cells in their order");
            read.push(cell.payload);
        }
    }

    fn on_setup(&mut self, setup: &Setup) {
        let message = SetupMessage::decode(&setup.body).expect("a relay says messages only");
        let known = self.circuits.get_mut(&setup.circuit.get());
        if let SetupMessage::Created { handshake, .. } = message
            && let Some(known) = known
            && let Some(initiator) = known.initiator.take()
        {
            known.keys = initiator.finish(&handshake).ok().map(|(keys, _)| keys);
        }
    }
}
