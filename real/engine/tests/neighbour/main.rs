//! What one neighbour with an open link can say, and what it costs a relay.

#[path = "../../../../fuzz/explore.rs"]
mod explore;
mod far;
mod far_life;
mod life;
mod neighbour;
mod sendmes;
#[path = "../engine/support.rs"]
#[expect(dead_code, reason = "shared with the tests in `engine`")]
mod support;

use hopflow_engine::{Limits, Pace};
use hopflow_onion::setup::SetupMessage;
use hopflow_onion::{Handshake, OnionPayload, SEALED_SETUP};
use hopflow_units::{Bytes, Cells, CircuitId, Duration};
use hopflow_wire::{CELL_PAYLOAD, Cell, CellAck, CellFlags, CellSeq, Frame, Payload, RelayCommand};
use proptest::prelude::*;

use far::Far;
use neighbour::{Neighbour, epoch};
use support::Random;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_relay_survives_any_neighbour(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        life::any_bytes(&bytes);
    }

    #[test]
    fn a_client_survives_any_hops(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        far_life::client(&bytes);
    }

    #[test]
    fn a_relay_survives_any_next_hop(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        far_life::relay(&bytes);
    }
}

#[test]
fn random_hops_bring_a_client_about_all_that_can_happen() {
    let (mut random, mut done) = (Random::new(5), [0; 3]);
    for _ in 0..400 {
        let len = random.below(1000);
        let seen = far_life::client(&random.bytes(len));
        for (done, seen) in done.iter_mut().zip(seen) {
            *done += seen;
        }
    }
    assert!(done.iter().all(|count| *count > 5), "{done:?}");
}

#[test]
fn random_lives_go_through_all_that_can_happen() {
    let mut random = Random::new(4);
    let mut done = [0; 9];
    for _ in 0..1000 {
        let len = random.below(1000);
        let (life, streams) = life::any_bytes(&random.bytes(len));
        let seen = [
            streams as u64,
            life.handshakes,
            life.handshakes_failed,
            life.forged,
            life.garbage,
            life.node.cells_sent,
            life.node.duplicates,
            life.node.violations,
            life.node.strays,
        ];
        for (done, seen) in done.iter_mut().zip(seen) {
            *done += seen;
        }
    }
    assert!(done.iter().all(|count| *count > 5), "{done:?}");
}

#[test]
fn fuzzing_relays_and_clients_finds_nothing() {
    explore::explore("relay", |bytes| {
        life::any_bytes(bytes);
    });
    explore::explore("client", |bytes| {
        far_life::client(bytes);
    });
    explore::explore("next_hop", |bytes| {
        far_life::relay(bytes);
    });
}

#[test]
fn circuits_are_opened_and_streams_begun() {
    for transport in ["backtap", "vanilla"] {
        let mut relay = Neighbour::of(transport, Limits::default());
        relay.create(1);
        relay.cell(1, &life::BEGIN, 0);
        assert_eq!(relay.begun.len(), 1, "{transport}");
        assert_eq!(relay.engine.counters().circuits, 1, "{transport}");
        assert_eq!(
            relay.heard[0], 1,
            "{transport}: the answer to the handshake"
        );
    }
}

/// A next hop's answer. Only the client could tell that its handshake is none.
fn created() -> SetupMessage {
    SetupMessage::Created {
        queue_limit: Cells::new(100),
        handshake: Handshake::new(vec![7; 60]).expect("it is short"),
    }
}

/// Any cell.
fn cell(circuit: u16, (flags, seq): (u8, u32)) -> Frame<OnionPayload> {
    Frame::Cell(Cell {
        circuit: CircuitId::new(circuit),
        flags: CellFlags(flags),
        seq: CellSeq::from_wire(seq),
        payload: OnionPayload::read(&[9; CELL_PAYLOAD]),
    })
}

#[test]
fn a_relay_passes_cells_on_whatever_numbers_the_ends_of_their_circuit_gave_them() {
    let mut relay = Neighbour::of("udp-or", Limits::default());
    relay.far = Some(Far::new(&relay.plan, epoch()));
    relay.create(1);
    relay.extend_to(1, far::ADDRESS, far::hop().fingerprint);
    let now = relay.now;
    let far = relay.far.as_mut().expect("it is there");
    far.setup(now, far.circuit(0), &created());
    relay.drain();
    let half = 1 << 31;
    let tags = [
        (0x83, 7),
        (0, 5),
        (0, 4),
        (1, 5),
        (0x80, half),
        (0, u32::MAX),
        (0x7f, half),
        (0xff, u32::MAX),
        (0, half - 1),
        (0, 0),
        (0x80, 0),
    ];
    for tag in tags {
        relay.frame(&cell(1, tag));
    }
    let passed = relay.far.as_ref().map(|far| far.cells.iter());
    let passed = passed.into_iter().flatten();
    let passed: Vec<_> = passed
        .map(|(flags, seq)| (flags.0, seq.to_wire()))
        .collect();
    assert_eq!(passed, tags);
    assert_eq!(relay.engine.counters().circuits, 1);
}

#[test]
fn who_forges_the_number_of_a_cell_loses_its_own_circuit() {
    for tag in [
        (0, 0),
        (0, 1),
        (0, u32::MAX),
        (0x80, 0),
        (0x80, 1),
        (0xff, 1 << 31),
    ] {
        let mut relay = Neighbour::of("udp-or", Limits::default());
        for circuit in [1, 2] {
            relay.create(circuit);
            relay.cell(circuit, &life::BEGIN, 0);
        }
        relay.frame(&cell(1, tag));
        assert!(relay.closed.contains(&1), "{tag:?}");
        let counters = relay.engine.counters();
        assert_eq!((counters.forged, counters.circuits), (1, 1), "{tag:?}");
        relay.cell(2, &[RelayCommand::Data as u8, 0, 1, 0, 0], 0);
        assert!(!relay.closed.contains(&2), "{tag:?}");
    }
}

#[test]
fn what_ends_say_of_cells_may_come_again_late_and_not_at_all() {
    let mut relay = Neighbour::of("udp-or", Limits::default());
    relay.create(1);
    relay.cell(1, &life::BEGIN, 0);
    let ack = CellAck {
        window: 2000,
        ..CellAck::default()
    };
    let head = [RelayCommand::Ack as u8, 0, 0, 0, CellAck::LEN as u8];
    let ack = [&head[..], &[0; 4], &ack.body()].concat();
    let ask = [RelayCommand::Ask as u8, 0, 0, 0, 0];
    for said in [&ack[..], &ask] {
        relay.cell(1, said, 0);
        relay.cell(1, said, -1);
        relay.cell(1, said, 5);
        relay.cell(1, said, 0);
    }
    assert!(relay.closed.is_empty());
    // A cell of data that says to be none is no mistake of an honest end.
    relay.cell(1, &[RelayCommand::Ack as u8, 0, 0, 0, 3], 0);
    assert!(relay.closed.contains(&1));
    assert_eq!(relay.engine.counters().forged, 0);
}

#[test]
fn a_circuit_that_takes_the_name_of_an_open_one_lives() {
    for transport in ["backtap", "vanilla"] {
        let mut relay = Neighbour::of(transport, Limits::default());
        for turn in 1..4 {
            relay.create(1);
            // The neighbour would take the word that the old one is closed for that of the new one.
            assert!(!relay.closed.contains(&1), "{transport}, turn {turn}");
            relay.cell(1, &life::BEGIN, 0);
            assert_eq!(relay.begun.len(), turn, "{transport}: the circuit lives");
            assert_eq!(relay.engine.counters().circuits, 1, "{transport}");
        }
    }
}

#[test]
fn a_second_question_waits_for_the_answer_to_the_first() {
    let mut relay = Neighbour::of("backtap", Limits::default());
    relay.create(1);
    for host in 0..50 {
        relay.extend(1, ([10, 0, 1, host], 1000).into());
    }
    let links = relay.engine.counters().links;
    assert_eq!(
        links, 2,
        "one to the neighbour, one to where it asked first"
    );
    relay.wait(Duration::from_secs(1200));
    let counters = relay.engine.counters();
    assert_eq!((counters.circuits, counters.links), (0, 0));
}

#[test]
fn a_question_is_answered_as_often_as_an_honest_neighbour_asks_it() {
    for transport in ["vanilla", "backtap"] {
        let mut relay = Neighbour::of(transport, Limits::default());
        let create = relay.create(1);
        for _ in 0..100 {
            relay.setup(1, &create);
        }
        assert_eq!(relay.heard[0], 5, "{transport}");
    }
}

#[test]
fn messages_that_are_passed_on_count_like_circuits_that_are_begun() {
    let limits = Limits {
        creates: Pace {
            per_second: 1,
            burst: 10,
        },
        ..Limits::default()
    };
    for transport in ["backtap", "vanilla"] {
        let mut relay = Neighbour::of(transport, limits);
        relay.far = Some(Far::new(&relay.plan, epoch()));
        relay.create(1);
        relay.extend_to(1, far::ADDRESS, far::hop().fingerprint);
        let now = relay.now;
        let far = relay.far.as_mut().expect("it is there");
        let name = far.circuit(0);
        assert!(far.is_asked(name), "{transport}");
        far.setup(now, name, &created());
        relay.drain();
        for counter in 10..18 {
            let sealed = Box::new([0; SEALED_SETUP]);
            let forward = SetupMessage::Forward { counter, sealed };
            for _ in 0..5 {
                relay.setup(1, &forward);
            }
        }
        let passed = relay.far.as_ref().map_or(0, |far| far.forwards);
        assert_eq!(
            passed, 10,
            "{transport}: ten, of which two began it, and two that are free"
        );
    }
}

#[test]
fn answers_to_probes_take_no_more_than_the_probes() {
    const CIRCUITS: u16 = 100;
    const TURNS: usize = 1000;
    for (transport, len) in [("backtap", 12), ("vanilla", 12), ("n23", 512)] {
        let mut relay = Neighbour::of(transport, Limits::default());
        let mut probes = Vec::new();
        for circuit in 1..=CIRCUITS {
            relay.create(circuit);
            relay.cell(circuit, &life::BEGIN, 0);
            Frame::<OnionPayload>::Probe(CircuitId::new(circuit))
                .encode(relay.carrier, &mut probes);
        }
        assert_eq!(relay.begun.len(), usize::from(CIRCUITS), "{transport}");
        let before = relay.heard[1];
        for _ in 0..TURNS {
            relay.say(&probes);
        }
        let answers = relay.heard[1] - before;
        // Records and the first 64 KiB are not paid for by the probes.
        let most = (TURNS * (probes.len() + 64) + 70_000) / len;
        assert!((100..=most).contains(&answers), "{transport}: {answers}");
        relay.wait(Duration::from_secs(1));
        let before = relay.heard[1];
        relay.frame(&Frame::Probe(CircuitId::new(1)));
        assert!(relay.heard[1] > before, "{transport}: one is answered");
    }
}

#[test]
fn a_neighbour_that_takes_nothing_is_given_little_and_closed_in_the_end() {
    let mut relay = Neighbour::of("vanilla", Limits::default());
    let held = |relay: &mut Neighbour| {
        let now = relay.now;
        relay.engine.keep_within(now, Bytes::new(u64::MAX)).get()
    };
    // About a circuit that is not there: the answer has four bytes, and 26 in a record.
    let forward = SetupMessage::Forward {
        counter: 1,
        sealed: Box::new([0; SEALED_SETUP]),
    };
    // What the handshake left counts until the first message is whole.
    relay.setup(9, &forward);
    let before = held(&mut relay);
    relay.clogged = true;
    for _ in 0..20_000 {
        relay.setup(9, &forward);
    }
    let waits = relay.backlog as u64;
    assert!((4096..4200).contains(&waits), "{waits}");
    let held = held(&mut relay) - before;
    assert!(held >= waits, "{held} B are counted of {waits}");
    relay.wait(Duration::from_secs(60));
    assert_eq!(relay.engine.counters().links, 1);
    relay.wait(Duration::from_secs(300));
    assert_eq!(relay.engine.counters().links, 0);
}

#[test]
fn a_neighbour_that_reads_nothing_begins_no_circuits() {
    const TURNS: u64 = 20_000;
    let often = Pace {
        per_second: 1_000_000,
        burst: 1_000_000,
    };
    let limits = Limits {
        creates: often,
        ..Limits::default()
    };
    let mut relay = Neighbour::of("vanilla", limits);
    relay.clogged = true;
    // A cell that no key fits has the circuit closed, and its name is free again.
    for _ in 0..TURNS {
        relay.create(1);
        relay.frame(&Frame::Cell(Cell {
            circuit: CircuitId::new(1),
            flags: CellFlags::default(),
            seq: CellSeq::of(0),
            payload: OnionPayload::read(&[9; CELL_PAYLOAD]),
        }));
    }
    let counters = relay.engine.counters();
    // The connection has room for 64 KiB, and 4 KiB wait behind it: a word has four bytes.
    assert_eq!(counters.forged, (64 + 4) * 1024 / 4);
    assert_eq!(counters.circuits_refused, TURNS - counters.forged);
}

#[test]
fn a_neighbour_that_asks_and_takes_no_answers_is_kept_little() {
    for transport in ["vanilla", "backtap"] {
        let mut relay = Neighbour::of(transport, Limits::default());
        let first = relay.create(2);
        relay.clogged = true;
        for turn in 0..20_000_u32 {
            match turn % 4 {
                0 => drop(relay.create(1)),
                1 => relay.frame(&Frame::Probe(CircuitId::new(1))),
                2 => relay.setup(2, &first),
                _ => relay.extend(9, ([10, 0, 0, 1], 1).into()),
            }
        }
        while let Some((_, bytes)) = relay.engine.poll_datagrams(relay.now, 3000) {
            relay.backlog += bytes.len();
        }
        let waits = relay.backlog;
        let most = if transport == "vanilla" {
            6000
        } else {
            300_000
        };
        assert!((2000..most).contains(&waits), "{transport}: {waits}");
    }
}
