//! A hostile life of a node, read from bytes: for fuzzing and for property tests.
//!
//! One node has three neighbours, circuits in all roles and a stream over two legs. The bytes decide
//! what neighbours send (frames that look right, frames that do not, and anything that decodes),
//! what the application does, when time passes and when output is taken. Whatever it is, the node
//! must not panic, must keep within its bounds and must come to rest.

use std::collections::VecDeque;

use hopflow_overlay::{
    BucketConfig, CircuitHandle, CircuitSpec, Direction, Event, Factory, HopSpec, Host,
    MAX_DATAGRAM, NodeCounters, NodeEnv, Plan, StreamHandle, StreamSpec,
};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, Rate, StreamId};
use hopflow_wire::{
    CELL_PAYLOAD, Carrier, Cell, CellFlags, CellSeq, Destroy, Feedback, Frame, Frames, Message,
    Neighbour, Payload, RawPayload, Reason, RelayCommand, RelayHeader, Sack,
};

use crate::Counted;

const LINKS: u32 = 3;
/// Circuits' names on a link, some of which are in use.
const CIRCUIT_NAMES: u32 = 8;
/// Circuits that are opened at most.
const CIRCUITS: usize = 12;
/// Packets in a row after which a node counts as mad.
const TOO_MANY: u32 = 100_000;

/// Lives through what `bytes` say; returns what the node did.
///
/// # Panics
/// If the node does something that it must not do.
pub fn any_life(factory: &dyn Factory<Counted>, bytes: &[u8]) -> NodeCounters {
    let before = Counted::live();
    let mut life = Life::new(factory);
    let mut script = Script(bytes);
    while !script.0.is_empty() {
        life.act(&mut script);
        life.check(before);
    }
    life.take_output(u32::MAX);
    life.check(before);
    for circuit in std::mem::take(&mut life.circuits) {
        life.host
            .close_circuit(life.now, circuit, Reason::Requested);
    }
    life.take_output(u32::MAX);
    let counters = life.host.counters();
    drop(life);
    assert_eq!(Counted::live(), before);
    counters
}

/// Bytes that are read from the front; zeros when they are used up.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    fn coin(&mut self) -> bool {
        self.byte().is_multiple_of(2)
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::from(self.byte()) % bound
    }

    fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// A number that is mostly small, sometimes near the edges of its type.
    fn number(&mut self) -> u32 {
        match self.byte() {
            small @ 0..=199 => u32::from(small),
            200..=229 => u32::from(self.word()),
            230..=245 => u32::from(self.word()) << 16,
            near => u32::MAX - u32::from(near),
        }
    }
}

struct Life {
    host: Box<dyn Host<Counted>>,
    plan: Plan,
    now: Instant,
    circuits: Vec<CircuitHandle>,
    opened: usize,
    streams: Vec<StreamHandle>,
    /// Room that each stream carrier has left.
    room: [Bytes; LINKS as usize],
    /// What honest neighbours would know, by link and circuit.
    hops: [[Hop; CIRCUIT_NAMES as usize]; LINKS as usize],
}

/// One circuit on one link, as the neighbour sees it.
#[derive(Clone, Copy, Default)]
struct Hop {
    /// Cells that the neighbour has sent.
    sent: u32,
    /// Cells that the node has sent.
    seen: u32,
    /// The stream whose data arrives here, and which of its two legs this is.
    stream: u16,
    leg: Option<u32>,
}

impl Life {
    fn new(factory: &dyn Factory<Counted>) -> Self {
        let mut life = Self {
            host: factory.node(&NodeEnv {
                node: NodeId::new(0),
                bucket: None,
                access: None,
                phase: 0.25,
            }),
            plan: factory.plan(),
            now: Instant::ZERO,
            circuits: Vec::new(),
            opened: 0,
            streams: Vec::new(),
            room: [Bytes::new(1 << 14); LINKS as usize],
            hops: Default::default(),
        };
        for room in life.room {
            let link = life.host.add_link();
            if life.plan.link.carrier == Carrier::Stream {
                life.host.set_room(life.now, link, room);
            }
        }
        life.open(Some((0, 1)), Some((1, 1)));
        let client = life.open(None, Some((1, 2)));
        let exit = life.open(Some((0, 2)), None);
        let legs = [(1, 3), (2, 1)].map(|hop| life.open(None, Some(hop)));
        for (link, name, stream, leg) in [
            (1, 2, 1, None),
            (0, 2, 2, None),
            (1, 3, 3, Some(0)),
            (2, 1, 3, Some(1)),
        ] {
            let hop: &mut Hop = &mut life.hops[link][name];
            (hop.stream, hop.leg) = (stream, leg);
        }
        for legs in [vec![client], vec![exit], legs.to_vec()] {
            life.open_stream(legs);
        }
        life
    }

    fn open(&mut self, prev: Option<(u32, u16)>, next: Option<(u32, u16)>) -> CircuitHandle {
        let hop = |(link, circuit)| HopSpec {
            link: LinkId::new(link),
            circuit: CircuitId::new(circuit),
            queue_limit: self.plan.link.queue_limit,
        };
        let circuit = self.host.open_circuit(&CircuitSpec {
            prev: prev.map(hop),
            next: next.map(hop),
        });
        self.opened += 1;
        self.circuits.push(circuit);
        circuit
    }

    fn open_stream(&mut self, legs: Vec<CircuitHandle>) {
        let id = StreamId::new(self.streams.len() as u16 + 1);
        let hold = Cells::new(8);
        let stream = self.host.open_stream(&StreamSpec { id, legs, hold });
        self.streams.extend(stream);
    }

    fn act(&mut self, script: &mut Script<'_>) {
        match script.below(16) {
            0..=5 => self.receive(script),
            6 => self.receive_bytes(script),
            7 => {
                let len = u64::from(script.word() / 8);
                let data = std::iter::repeat_n(7, len as usize).collect();
                let stream = self.stream(script);
                self.host.write(self.now, stream, data, Bytes::new(len));
            }
            8 => {
                let credit = match script.below(3) {
                    0 => Cells::ZERO,
                    1 => Cells::new(u64::from(script.word())),
                    _ => Cells::MAX,
                };
                let stream = self.stream(script);
                self.host.set_credit(self.now, stream, credit);
            }
            9 => self.give_room(script),
            10 | 11 => {
                let exponent = script.below(35);
                self.now += Duration::from_nanos(1 << exponent);
                self.host.handle_timeout(self.now);
            }
            12 => self.close_or_open(script),
            13 => {
                let leg = match script.below(self.circuits.len() as u32 + 1) {
                    0 => None,
                    n => Some(self.circuits[n as usize - 1]),
                };
                let stream = self.stream(script);
                self.host.pin_stream(self.now, stream, leg);
            }
            14 => {
                let link = LinkId::new(script.below(LINKS));
                let circuit = CircuitId::new(script.below(CIRCUIT_NAMES) as u16);
                let message = message(circuit, script);
                self.host.receive_message(self.now, link, &message);
            }
            _ => self.act_on_streams(script),
        }
        if !script.byte().is_multiple_of(4) {
            self.take_output(u32::MAX);
        }
    }

    /// What applications and operators do less often; half of the time only output is taken.
    fn act_on_streams(&mut self, script: &mut Script<'_>) {
        let (what, stream) = (script.below(16), self.stream(script));
        match what {
            0 => self.host.close_stream(self.now, stream),
            1 => self.host.finish_stream(self.now, stream),
            2 => {
                let low = Bytes::new(script.number().into());
                self.host.notify_below(stream, low);
            }
            3 => {
                let rate = Rate::from_bytes_per_sec(1000 * (1 + u64::from(script.word())));
                let bucket = rate.filter(|_| script.coin()).map(|rate| BucketConfig {
                    rate,
                    depth: Bytes::new(20_000),
                    interval: Duration::from_millis(10),
                    phase: Duration::ZERO,
                });
                self.host.set_bucket(self.now, bucket);
            }
            4..=6 if !self.circuits.is_empty() => {
                // Names are given again, and a stream may have any circuits, even one twice.
                let id = StreamId::new(script.below(6) as u16 + 1);
                let legs = (0..=script.below(2)).map(|_| {
                    let which = script.below(self.circuits.len() as u32);
                    self.circuits[which as usize]
                });
                let (legs, hold) = (legs.collect::<Vec<_>>(), Cells::new(8));
                let begins = what == 4;
                let opened = self.host.open_stream(&StreamSpec { id, legs, hold });
                if let Some(stream) = opened.filter(|_| begins) {
                    let target = vec![7; script.below(100) as usize];
                    let len = Bytes::new(target.len() as u64);
                    self.host.begin_stream(self.now, stream, target.into(), len);
                }
                self.streams.extend(opened);
            }
            7 if !self.circuits.is_empty() => {
                let legs: Vec<_> = (0..2).map(|_| self.circuit(script)).collect();
                self.host.link_circuits(&legs, Cells::new(8));
            }
            8 if !self.circuits.is_empty() => {
                let circuit = self.circuit(script);
                let len = Bytes::new(34);
                self.host
                    .send_link(self.now, circuit, vec![7; 34].into(), len);
            }
            _ => self.take_output(script.below(8)),
        }
    }

    fn circuit(&self, script: &mut Script<'_>) -> CircuitHandle {
        self.circuits[script.below(self.circuits.len() as u32) as usize]
    }

    fn stream(&self, script: &mut Script<'_>) -> StreamHandle {
        self.streams[script.below(self.streams.len() as u32) as usize]
    }

    fn receive(&mut self, script: &mut Script<'_>) {
        let link = script.below(LINKS);
        let count = 1 + script.below(4);
        let hops = &mut self.hops[link as usize];
        let mut frames: Vec<_> = (0..count).map(|_| frame(script, hops)).collect();
        self.host.receive(self.now, LinkId::new(link), &mut frames);
    }

    /// Whatever decodes is received.
    fn receive_bytes(&mut self, script: &mut Script<'_>) {
        let link = LinkId::new(script.below(LINKS));
        let (bytes, rest) = script.0.split_at(script.0.len().min(64));
        script.0 = rest;
        let mut padded = bytes.to_vec();
        padded.resize(1400, bytes.last().copied().unwrap_or(0));
        let mut frames: Vec<_> = Frames::new(&padded, self.plan.link.carrier)
            .map_while(Result::ok)
            .collect();
        self.host.receive(self.now, link, &mut frames);
    }

    fn give_room(&mut self, script: &mut Script<'_>) {
        let link = script.below(LINKS);
        let room = &mut self.room[link as usize];
        *room += Bytes::new(u64::from(script.word()));
        if self.plan.link.carrier == Carrier::Stream {
            self.host.set_room(self.now, LinkId::new(link), *room);
        }
    }

    fn close_or_open(&mut self, script: &mut Script<'_>) {
        if script.coin() && self.opened < CIRCUITS {
            let link = script.below(LINKS);
            let circuit = 4 + self.opened as u16;
            let leg = self.open(None, Some((link, circuit)));
            self.open_stream(vec![leg]);
        } else if !self.circuits.is_empty() {
            let which = script.below(self.circuits.len() as u32);
            let circuit = self.circuits[which as usize];
            self.host
                .close_circuit(self.now, circuit, Reason::Requested);
            self.take_output(0);
        }
    }

    /// Takes events, and at most `most` packets.
    fn take_output(&mut self, most: u32) {
        let mut frames = Vec::new();
        for sent in 0..most {
            assert!(sent < TOO_MANY, "output never ends");
            let Some((link, len)) = self.host.poll_transmit(self.now, &mut frames) else {
                break;
            };
            let carrier = self.plan.link.carrier;
            let promised: Bytes = frames.iter().map(|frame| frame.wire_len(carrier)).sum();
            assert_eq!(promised, len, "a packet's length is that of its frames");
            self.note_cells(link, &frames);
            let room = &mut self.room[link.index()];
            match carrier {
                Carrier::Datagram => assert!(len <= MAX_DATAGRAM, "{len} in a datagram"),
                Carrier::Stream => {
                    let left = room.checked_sub(len);
                    *room = left.unwrap_or_else(|| panic!("{len} do not fit {room}"));
                }
            }
        }
        while let Some(event) = self.host.poll_event() {
            if let Event::Closed { circuit, .. } = event {
                self.circuits.retain(|&other| other != circuit);
            }
        }
    }

    /// Neighbours count the cells that they get.
    fn note_cells(&mut self, link: LinkId, frames: &[Frame<Counted>]) {
        for frame in frames {
            if let Frame::Cell(cell) = frame
                && let Some(hop) = self.hops[link.index()].get_mut(cell.circuit.index())
            {
                hop.seen = match self.plan.link.carrier {
                    Carrier::Stream => hop.seen + 1,
                    Carrier::Datagram => hop.seen.max(cell.seq.to_wire() + 1),
                };
            }
        }
    }

    fn check(&mut self, before: i64) {
        let mut bound = 0;
        let limit = self.plan.link.queue_limit.get();
        for &circuit in &self.circuits {
            for direction in [Direction::Forward, Direction::Backward] {
                // What waits or is held, and what waits for its acknowledgement.
                bound += 2 * limit + self.plan.end.source_high_water.get();
                let Some(view) = self.host.flow_view(circuit, direction) else {
                    continue;
                };
                let held = (view.queued + view.out_of_order).get();
                assert!(
                    held <= limit + self.plan.end.source_high_water.get(),
                    "{view:?}"
                );
            }
        }
        // Cells chosen for packets that were not taken yet, and those that a resequencer holds.
        bound += u64::from(LINKS) * 64 + 64;
        let live = Counted::live() - before;
        assert!(live <= bound as i64, "{live} cells are held");
    }
}

/// A frame that a neighbour sends: as it should be, nearly so, or any.
fn frame(script: &mut Script<'_>, hops: &mut [Hop]) -> Frame<Counted> {
    let name = script.below(CIRCUIT_NAMES);
    let circuit = CircuitId::new(name as u16);
    let hop = &mut hops[name as usize];
    match script.below(16) {
        0..=4 => {
            hop.sent += 1;
            cell(circuit, hop.sent - 1, hop.data())
        }
        5 | 6 => {
            let seq = (hop.sent + script.below(6)).saturating_sub(2);
            cell(circuit, seq, payload(script))
        }
        7 => cell(circuit, script.number(), payload(script)),
        8..=10 => feedback(circuit, (hop.seen, hop.seen), script),
        11 | 12 => {
            let ack = hop.seen.saturating_sub(script.below(4));
            feedback(circuit, (ack, ack.saturating_sub(script.below(4))), script)
        }
        13 => {
            let numbers = (script.number(), script.number());
            feedback(circuit, numbers, script)
        }
        14 => Frame::Probe(circuit),
        _ => match script.byte() {
            201.. => Frame::Destroy(Destroy {
                circuit,
                reason: Reason::Requested,
            }),
            101.. => Frame::Message(Box::new(message(circuit, script))),
            _ => cell(circuit, hop.sent, payload(script)),
        },
    }
}

fn message(circuit: CircuitId, script: &mut Script<'_>) -> Message {
    let sender = match script.below(2) {
        0 => Neighbour::Predecessor,
        _ => Neighbour::Successor,
    };
    let body = (0..script.below(80)).map(|_| script.byte()).collect();
    Message {
        circuit,
        sender,
        body,
    }
}

fn cell(circuit: CircuitId, seq: u32, payload: Counted) -> Frame<Counted> {
    Frame::Cell(Cell {
        circuit,
        flags: CellFlags(seq as u8),
        seq: CellSeq::from_wire(seq),
        payload,
    })
}

fn feedback(circuit: CircuitId, (ack, fwd): (u32, u32), script: &mut Script<'_>) -> Frame<Counted> {
    let flags = script.byte();
    let feedback = Feedback {
        circuit,
        ack: CellSeq::from_wire(ack),
        fwd: CellSeq::from_wire(fwd),
        out_of_order: flags & Feedback::MAX_OUT_OF_ORDER,
        word: script.coin().then(|| script.word()),
        padded: false,
    };
    if flags <= Feedback::MAX_OUT_OF_ORDER {
        return Frame::Feedback(feedback);
    }
    // Most ranges are near, some far away or the wrong way round.
    let mut edge = || match script.byte() {
        byte @ 0..240 => u16::from(byte / 8),
        _ => script.word(),
    };
    let arrived = std::array::from_fn(|_| (edge(), edge()));
    Frame::Sack(Box::new(Sack { feedback, arrived }))
}

impl Hop {
    /// The data of the last cell sent.
    fn data(&self) -> Counted {
        let mut header = RelayHeader::control(RelayCommand::Data, StreamId::new(self.stream));
        if let Some(leg) = self.leg {
            header.command = RelayCommand::NumberedData;
            header.number = 2 * (self.sent - 1) + leg;
        }
        filled(header, RelayHeader::capacity(header.command) as u16)
    }
}

fn filled(mut header: RelayHeader, len: u16) -> Counted {
    header.len = len;
    let mut data: VecDeque<u8> = std::iter::repeat_n(1, len.into()).collect();
    Counted::cut(header, &mut data, Instant::ZERO)
}

fn payload(script: &mut Script<'_>) -> Counted {
    let command = match script.below(8) {
        0..=2 => RelayCommand::Data,
        3 | 4 => RelayCommand::NumberedData,
        5 => RelayCommand::Sendme,
        6 => RelayCommand::ALL[script.below(RelayCommand::ALL.len() as u32) as usize],
        _ => return Counted::new(RawPayload(Box::new([script.byte(); CELL_PAYLOAD]))),
    };
    let mut header = RelayHeader::control(command, StreamId::new(script.below(5) as u16));
    if command.is_numbered() {
        header.number = script.number();
    }
    let most = RelayHeader::capacity(command) as u16;
    filled(header, script.word() % (most + 1))
}
