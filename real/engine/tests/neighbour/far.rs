//! A relay to which an engine opens links, and which does what it likes: the next hop of a relay, or
//! all hops of a client.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::LazyLock;

use hopflow_channel::{DatagramChannel, Identity, State, StreamChannel};
use hopflow_engine::{ConnId, Engine, Hop, Via};
use hopflow_onion::setup::{HopMessage, SetupMessage};
use hopflow_onion::{Handshake, HopKeys, OnionPayload, OnionSecret, answer};
use hopflow_overlay::Plan;
use hopflow_units::{Cells, CircuitId, Instant};
use hopflow_wire::{
    CELL_PAYLOAD, Carrier, Cell, CellFlags, CellSeq, Frame, Payload, RelayCommand, Setup,
};

static IDENTITY: LazyLock<Identity> = LazyLock::new(Identity::generate);
static ONION: LazyLock<OnionSecret> = LazyLock::new(OnionSecret::generate);

/// Where it listens.
pub(crate) const ADDRESS: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 9, 9)),
    1000,
);
/// Bytes that its connection takes at a time.
const ROOM: usize = 64 * 1024;

/// What a directory says of it.
pub(crate) fn hop() -> Hop {
    Hop {
        address: ADDRESS,
        fingerprint: IDENTITY.fingerprint(),
        onion: ONION.public(),
    }
}

enum Channel {
    Datagram(Box<DatagramChannel>),
    Stream(Box<StreamChannel>, ConnId),
}

/// What it knows of a circuit.
#[derive(Default)]
struct Known {
    /// The handshake that it has not answered.
    asked: Option<Handshake>,
    /// The last message for its last hop that it has not answered.
    forward: Option<(u32, Box<[u8; hopflow_onion::SEALED_SETUP]>)>,
    /// Its keys at each hop, the nearest first.
    keys: Vec<HopKeys>,
    numbers: Numbers,
}

/// How many cells there were, and how many by which the ends of a circuit speak about the others.
#[derive(Default)]
pub(crate) struct Numbers([u64; 2]);

impl Numbers {
    /// The tag of a cell with this inside, and the index under which it is sealed. It is the next one, if it is
    /// not one of those behind it, or before it. Where hops number cells there is one kind.
    pub(crate) fn of(
        &mut self,
        by_ends: bool,
        plain: &[u8],
        ahead: i64,
    ) -> (CellFlags, CellSeq, u64) {
        let command = plain.first().map(|code| RelayCommand::from_code(*code));
        let of_connection = command.is_some_and(|it| it.is_ok_and(RelayCommand::is_of_connection));
        let control = by_ends && of_connection;
        let next = &mut self.0[usize::from(control)];
        let count = next.saturating_add_signed(ahead);
        *next += u64::from(ahead == 0);
        let seq = CellSeq::of(count);
        if control {
            (CellFlags::CONTROL, seq, 1 << 63 | count)
        } else {
            (CellFlags::default(), seq, count)
        }
    }
}

/// The relay.
pub(crate) struct Far {
    carrier: Carrier,
    by_ends: bool,
    epoch: std::time::Instant,
    channel: Option<Channel>,
    circuits: BTreeMap<u16, Known>,
    partial: Vec<u8>,
    /// The head of the caller's last opening.
    opening: Vec<u8>,
    /// What it has to say.
    out: Vec<Vec<u8>>,
    /// Messages for its last hop, or later ones, that it was sent.
    pub(crate) forwards: usize,
    /// Cells that it was sent.
    pub(crate) cells: Vec<(CellFlags, CellSeq)>,
}

impl Far {
    /// A relay whose neighbour goes by this plan.
    pub(crate) fn new(plan: &Plan, epoch: std::time::Instant) -> Self {
        Self {
            carrier: plan.link.carrier,
            by_ends: plan.connection().is_some(),
            epoch,
            channel: None,
            circuits: BTreeMap::new(),
            partial: Vec::new(),
            opening: Vec::new(),
            out: Vec::new(),
            forwards: 0,
            cells: Vec::new(),
        }
    }

    /// A connection to it is there.
    pub(crate) fn connect(&mut self, now: Instant, engine: &mut Engine, conn: ConnId) {
        let channel = StreamChannel::accept(&IDENTITY);
        self.channel = Some(Channel::Stream(Box::new(channel), conn));
        self.partial.clear();
        engine.connected(now, conn);
        engine.set_room(now, conn, ROOM);
    }

    /// Whether a connection leads to it.
    pub(crate) fn has(&self, conn: ConnId) -> bool {
        matches!(&self.channel, Some(Channel::Stream(_, own)) if *own == conn)
    }

    /// Takes what the engine says.
    pub(crate) fn hear(&mut self, now: Instant, bytes: &[u8]) {
        if self.carrier == Carrier::Datagram {
            let known = match &self.channel {
                Some(Channel::Datagram(channel)) => channel.is_of(bytes),
                _ => false,
            };
            if !known {
                self.opening = bytes[..25.min(bytes.len())].to_vec();
                let channel = DatagramChannel::accept(&IDENTITY, self.epoch);
                self.channel = Some(Channel::Datagram(Box::new(channel)));
                self.circuits.clear();
            }
        }
        let plain = &mut self.partial;
        let mut take = |piece: &[u8]| plain.extend_from_slice(piece);
        match &mut self.channel {
            Some(Channel::Datagram(channel)) => channel.receive(now, bytes, &mut take),
            Some(Channel::Stream(channel, _)) => channel.receive(now, bytes, &mut take),
            None => {}
        }
        let plain = std::mem::take(&mut self.partial);
        let mut rest = &plain[..];
        while !rest.is_empty() {
            if let Ok(Some((setup, behind))) = Setup::decode(rest) {
                self.on_setup(&setup);
                rest = behind;
            } else if let Ok((frame, behind)) = Frame::<OnionPayload>::decode(rest, self.carrier) {
                if let Frame::Cell(cell) = frame {
                    self.cells.push((cell.flags, cell.seq));
                }
                rest = behind;
            } else {
                assert_eq!(self.carrier, Carrier::Stream, "an engine says frames only");
                break;
            }
        }
        self.partial = rest.to_vec();
        self.speak(now);
    }

    fn on_setup(&mut self, setup: &Setup) {
        let message = SetupMessage::decode(&setup.body).expect("an engine says messages only");
        let known = self.circuits.entry(setup.circuit.get()).or_default();
        match message {
            SetupMessage::Create { handshake, .. } => {
                *known = Known {
                    asked: Some(handshake),
                    ..Known::default()
                };
            }
            SetupMessage::Forward { counter, sealed } => {
                known.forward = Some((counter, sealed));
                self.forwards += 1;
            }
            SetupMessage::Created { .. } | SetupMessage::Backward { .. } => {
                panic!("nobody asked for that")
            }
        }
    }

    /// What the channel itself has to say.
    fn speak(&mut self, now: Instant) {
        let mut bytes = Vec::new();
        loop {
            let more = match &mut self.channel {
                Some(Channel::Datagram(channel)) => channel.poll_transmit(now, &mut bytes),
                Some(Channel::Stream(channel, _)) => channel.poll_transmit(now, &mut bytes),
                None => false,
            };
            if !more {
                return;
            }
            self.out.push(std::mem::take(&mut bytes));
        }
    }

    /// Brings the engine what there is to say; true if there was something.
    pub(crate) fn deliver(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let out = std::mem::take(&mut self.out);
        for bytes in &out {
            match &self.channel {
                Some(Channel::Stream(_, conn)) => engine.receive_bytes(now, *conn, bytes),
                _ => engine.receive_datagram(now, Via::Outgoing, ADDRESS, bytes),
            }
        }
        !out.is_empty()
    }

    /// Says bytes that are nothing in particular.
    pub(crate) fn bring(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.out.push(bytes.to_vec());
        }
    }

    /// Says that the address must be proven.
    pub(crate) fn demand_cookie(&mut self, cookie: u8) {
        if let [_, nonce @ ..] = &self.opening[..]
            && let Some(nonce) = nonce.first_chunk::<8>()
        {
            self.out.push([&[2], &nonce[..], &[cookie; 16]].concat());
        }
    }

    /// Says plaintext on the link.
    pub(crate) fn say(&mut self, now: Instant, plain: &[u8]) {
        let mut bytes = Vec::new();
        match &mut self.channel {
            Some(Channel::Datagram(channel)) if *channel.state() == State::Open => {
                channel.seal(now, plain, &mut bytes);
            }
            Some(Channel::Stream(channel, _)) => {
                channel.seal(now, plain, &mut bytes);
            }
            _ => {}
        }
        self.bring(&bytes);
    }

    pub(crate) fn frame(&mut self, now: Instant, frame: &Frame<OnionPayload>) {
        let mut bytes = Vec::new();
        frame.encode(self.carrier, &mut bytes);
        self.say(now, &bytes);
    }

    pub(crate) fn setup(&mut self, now: Instant, circuit: u16, message: &SetupMessage) {
        let mut bytes = Vec::new();
        let circuit = CircuitId::new(circuit);
        let body = Box::new(message.encode());
        Setup { circuit, body }.encode(&mut bytes);
        self.say(now, &bytes);
    }

    /// The name of a circuit that is there, or now and then of another one.
    pub(crate) fn circuit(&self, which: u8) -> u16 {
        let nth = usize::from(which) % self.circuits.len().max(1);
        let known = self.circuits.keys().nth(nth).filter(|_| which < 230);
        known.copied().unwrap_or(u16::from(which % 6))
    }

    /// Whether a question about a circuit has no answer.
    pub(crate) fn is_asked(&self, circuit: u16) -> bool {
        let known = self.circuits.get(&circuit);
        known.is_some_and(|known| known.asked.is_some() || known.forward.is_some())
    }

    /// Answers what was asked last about a circuit, as a relay should.
    pub(crate) fn answer(&mut self, now: Instant, circuit: u16, queue_limit: Cells) {
        let Some(known) = self.circuits.get_mut(&circuit) else {
            return;
        };
        let said = if let Some(asked) = known.asked.take() {
            let Ok((keys, handshake)) = answer(&ONION, &asked, |_| Some(Vec::new())) else {
                return;
            };
            known.keys = vec![keys];
            Some(SetupMessage::Created {
                queue_limit,
                handshake,
            })
        } else {
            known.extend(queue_limit)
        };
        if let Some(said) = said {
            self.setup(now, circuit, &said);
        }
    }

    /// Sends the client a message of the last hop.
    pub(crate) fn backward(
        &mut self,
        now: Instant,
        circuit: u16,
        counter: u32,
        message: &HopMessage,
    ) {
        let known = self.circuits.get(&circuit);
        if let Some(said) = known.and_then(|known| known.backward(counter, message)) {
            self.setup(now, circuit, &said);
        }
    }

    /// Sends a cell with this inside; it is the next one, if it is not one of those behind it, or
    /// before it.
    pub(crate) fn cell(&mut self, now: Instant, circuit: u16, plain: &[u8], ahead: i64) {
        let known = self.circuits.entry(circuit).or_default();
        let (flags, seq, index) = known.numbers.of(self.by_ends, plain, ahead);
        let mut body = [0; CELL_PAYLOAD];
        let len = plain.len().min(CELL_PAYLOAD - 16);
        body[16..16 + len].copy_from_slice(&plain[..len]);
        if let Some((last, before)) = known.keys.split_last_mut() {
            last.backward.seal(index, &mut body);
            for hop in before {
                hop.backward.apply_layer(index, &mut body);
            }
        }
        let cell = Cell {
            circuit: CircuitId::new(circuit),
            flags,
            seq,
            payload: OnionPayload::read(&body),
        };
        self.frame(now, &Frame::Cell(cell));
    }
}

impl Known {
    /// Makes the circuit longer by one hop, as asked.
    fn extend(&mut self, queue_limit: Cells) -> Option<SetupMessage> {
        let (counter, mut sealed) = self.forward.take()?;
        let (last, before) = self.keys.split_last()?;
        for hop in before {
            hop.forward.apply_setup_layer(counter, &mut sealed);
        }
        let plain = last.forward.open_setup(counter, &sealed).ok()?;
        let Ok(HopMessage::Extend { handshake, .. }) = HopMessage::decode(&plain) else {
            return None;
        };
        let (keys, handshake) = answer(&ONION, &handshake, |_| Some(Vec::new())).ok()?;
        let extended = HopMessage::Extended {
            queue_limit,
            handshake,
        };
        let said = self.backward(counter, &extended);
        self.keys.push(keys);
        said
    }

    fn backward(&self, counter: u32, message: &HopMessage) -> Option<SetupMessage> {
        let (last, before) = self.keys.split_last()?;
        let mut sealed = Box::new(last.backward.seal_setup(counter, &message.encode()));
        for hop in before {
            hop.backward.apply_setup_layer(counter, &mut sealed);
        }
        Some(SetupMessage::Backward { counter, sealed })
    }
}
