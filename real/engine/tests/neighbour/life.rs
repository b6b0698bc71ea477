//! Bytes as the life of a relay with one neighbour. Shared with a fuzz target.

use hopflow_engine::{Counters, Limits};
use hopflow_onion::setup::SetupMessage;
use hopflow_onion::{Handshake, OnionPayload};
use hopflow_units::{Cells, CircuitId, Duration};
use hopflow_wire::{CellAck, CellSeq, Destroy, Feedback, Frame, Reason, RelayCommand};

use crate::neighbour::Neighbour;

/// Begins stream 1, with a target of three bytes.
pub(crate) const BEGIN: [u8; 8] = [RelayCommand::Begin as u8, 0, 1, 0, 3, b'a', b':', b'1'];

/// What the life is made of.
pub(crate) struct Script<'a>(pub(crate) &'a [u8]);

impl Script<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn transport(&mut self) -> &'static str {
        const ALL: [&str; 5] = ["backtap", "vanilla", "marut", "pctcp", "udp-or"];
        ALL[usize::from(self.byte()) % ALL.len()]
    }

    pub(crate) fn take(&mut self, len: usize) -> &[u8] {
        let (piece, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        piece
    }

    /// Feedback about a circuit, whatever it counts.
    pub(crate) fn feedback(&mut self, circuit: u16) -> Frame<OnionPayload> {
        Frame::Feedback(Feedback {
            circuit: CircuitId::new(circuit),
            ack: CellSeq::of(u64::from(self.byte())),
            fwd: CellSeq::of(u64::from(self.byte())),
            out_of_order: self.byte() % 64,
            word: None,
            padded: false,
        })
    }

    /// The header of any relay cell, with what an acknowledgement says behind it, and by how much its counter
    /// is ahead.
    pub(crate) fn relay_cell(&mut self) -> (Vec<u8>, i64) {
        let commands = RelayCommand::ALL;
        let command = commands[usize::from(self.byte()) % commands.len()];
        let (stream, mut len) = (self.byte() % 4, self.byte());
        let mut said = Vec::new();
        if command == RelayCommand::Ack && len < 250 {
            len = CellAck::LEN as u8;
            said = self.take(4 + CellAck::LEN).to_vec();
        }
        let ahead = match self.byte() {
            again @ 0..20 => i64::from(again) - 20,
            beyond @ 200.. => i64::from(beyond) - 200,
            _ => 0,
        };
        let header = [command as u8, 0, stream, 0, len];
        ([&header[..], &said].concat(), ahead)
    }
}

/// Whatever a neighbour says, and in which order: the relay goes on, holds a bounded amount, and
/// has nothing left when the neighbour is gone. Returns what it did, and how many streams began.
pub(crate) fn any_bytes(bytes: &[u8]) -> (Counters, usize) {
    let mut script = Script(bytes);
    let transport = script.transport();
    let limits = limits(script.byte());
    let mut relay = Neighbour::of(transport, limits);
    // A circuit with a stream, one without, and names of others that are free.
    relay.create(0);
    relay.create(1);
    relay.cell(1, &BEGIN, 0);
    let mut said = 2;
    while !script.0.is_empty() {
        act(&mut relay, &mut script);
        said += 1;
        let counters = relay.engine.counters();
        assert!(counters.circuits <= said, "{counters:?}");
        assert!(counters.links <= said + 1, "{counters:?}");
        for (_, views) in relay.engine.flows() {
            for view in views.into_iter().flatten() {
                assert!(view.queued.get() <= 4500, "{view:?}");
            }
        }
    }
    // Connections tell that a neighbour is gone, datagrams do not.
    relay.hang_up();
    for _ in 0..20 {
        relay.wait(Duration::from_secs(60));
    }
    let counters = relay.engine.counters();
    assert_eq!((counters.circuits, counters.links), (0, 0), "{transport}");
    (counters, relay.begun.len())
}

pub(crate) fn act(relay: &mut Neighbour, script: &mut Script<'_>) {
    let (what, circuit) = (script.byte(), u16::from(script.byte() % 4));
    match what % 12 {
        // What is no frame ends a connection, so this is rare.
        0 if script.byte() > 200 => {
            let len = usize::from(script.byte()) * 6;
            relay.say(script.take(len));
        }
        1 => drop(relay.create(circuit)),
        2 => {
            let handshake = Handshake::new(script.take(60).to_vec()).expect("it is short");
            let queue_limit = Cells::new(u64::from(script.byte()));
            let create = SetupMessage::Create {
                queue_limit,
                handshake,
                introduction: None,
            };
            relay.setup(circuit, &create);
        }
        3 => {
            let place = script.byte();
            let port = 1000 + u16::from(place & 3);
            relay.extend(circuit, ([10, 0, 0, 20 + place / 64], port).into());
        }
        0 | 4 => {
            let (header, ahead) = script.relay_cell();
            relay.cell(circuit, &header, ahead);
        }
        5 => {
            let len = usize::from(script.byte() / 8);
            let plain = script.take(len).to_vec();
            relay.cell(circuit, &plain, 0);
        }
        6 => relay.frame(&script.feedback(circuit)),
        7 => relay.frame(&Frame::Probe(CircuitId::new(circuit))),
        8 => {
            let circuit = CircuitId::new(circuit);
            let reason = Reason::Requested;
            relay.frame(&Frame::Destroy(Destroy { circuit, reason }));
        }
        9 => {
            let wait = u64::from(script.byte());
            relay.wait(Duration::from_millis(wait * wait * 10));
        }
        10 => {
            let len = usize::from(script.byte());
            let bytes = script.take(len).to_vec();
            relay.bring(&bytes);
        }
        _ => use_stream(relay, script.byte()),
    }
}

/// Limits of all kinds, the ordinary ones among them.
pub(crate) fn limits(what: u8) -> Limits {
    let usual = Limits::default();
    let few = |bit: u8, usual: usize| {
        if what & bit == 0 {
            usual
        } else {
            1 + usize::from(what % 3)
        }
    };
    Limits {
        links: few(8, usual.links),
        opened: few(16, usual.opened),
        handshakes: few(32, usual.handshakes),
        circuits: few(64, usual.circuits),
        nascent: few(128, usual.nascent),
        creates: usual.creates,
        idle: usual.idle,
    }
}

/// The application at the exit does something with one of the streams.
fn use_stream(relay: &mut Neighbour, what: u8) {
    let (now, count) = (relay.now, relay.begun.len());
    if count == 0 {
        return;
    }
    let stream = relay.begun[usize::from(what / 8) % count];
    match what % 5 {
        0 => relay
            .engine
            .set_credit(now, stream, Cells::new(u64::from(what / 8))),
        1 => relay.engine.set_credit(now, stream, Cells::MAX),
        2 => drop(relay.engine.write(now, stream, &[what; 3000])),
        3 => relay.engine.finish(now, stream),
        _ => relay.engine.close_stream(now, stream),
    }
    relay.drain();
}
