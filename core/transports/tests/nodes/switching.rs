//! Circuit switching: who is moved, and that nothing is lost on the way.

use std::sync::Arc;

use hopflow_overlay::{Direction, Factory, HopSpec, StreamHandle, StreamSpec};
use hopflow_sim::spec::{CircuitSpec, Exchange, NodeSpec, Workload, WorldSpec};
use hopflow_sim::{Outcome, Simulated};
use hopflow_testkit::{Bench, Counted};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, Rate, StreamId};
use hopflow_wire::{
    Destroy, Frame, Message, Neighbour, Payload, Reason, RelayCommand, RelayHeader,
};
use toml::Table;

use crate::world::{circuit, node, run, world};

const ENTRY: u32 = 2;
const NARROW: u32 = 3;
const SPARES: [u32; 2] = [4, 5];
const EXIT: u32 = 6;

/// Circuit switching that samples every second.
fn switching<P: Payload>(preset: &str, more: &str) -> Box<dyn Factory<P>> {
    let options = format!("switch-interval = \"1 s\"\n{more}");
    let options: Table = options.parse().expect("it is TOML");
    hopflow_transports::build(preset, &options).expect("the options are allowed")
}

/// A user that sends `size` at a time, over a narrow middle and a spare one.
fn upload(client: u32, spare: u32, size: u64, think: u64) -> CircuitSpec {
    CircuitSpec {
        legs: vec![[client, ENTRY, spare, EXIT].map(NodeId::new).to_vec()],
        workload: Arc::new(Exchange {
            workload: Workload {
                response: Some(Bytes::new(498)),
                think: [think; 2].map(Duration::from_millis).into(),
                server_delay: Duration::ZERO,
                server_delay_max: Duration::ZERO,
            },
            request: Some(Bytes::new(size)),
            measured: Direction::Forward,
        }),
        ..circuit(&[client, ENTRY, NARROW, EXIT], None)
    }
}

/// A user that uploads without end, and one that sends a little now and then, over one entry and a
/// middle that is narrow.
fn uploads(change: impl FnOnce(&mut [NodeSpec])) -> WorldSpec {
    let circuits = vec![
        upload(0, SPARES[0], 1 << 30, 0),
        upload(1, SPARES[1], 498, 200),
    ];
    let mut nodes: Vec<NodeSpec> = (0..7).map(node).collect();
    nodes[NARROW as usize].access.rate = Rate::from_megabits_per_sec(2);
    change(&mut nodes);
    let mut spec = world(nodes, circuits, Duration::from_secs(40));
    spec.tcp.send_buffer = Bytes::new(16 << 10);
    spec
}

fn cells_of(outcome: &Outcome, circuit: u32, leg: u32) -> u64 {
    let mut uses = outcome.legs.iter();
    let used = uses.find(|used| (used.circuit, used.leg, used.hop) == (circuit, leg, 0));
    used.map_or(0, |used| used.cells.get())
}

#[test]
fn the_bulk_circuit_moves_and_the_light_one_stays() {
    for preset in ["switching", "switching-pctcp"] {
        for hold in [true, false] {
            let factory = switching::<Simulated>(preset, &format!("switch-hold = {hold}"));
            let outcome = run(&uploads(|_| {}), factory.as_ref());
            let [bulk, light] =
                [0, 1].map(|circuit| [0, 1].map(|leg| cells_of(&outcome, circuit, leg)));
            assert!(bulk[1] > 4 * bulk[0] && bulk[0] > 100, "{preset}: {bulk:?}");
            assert!(light[0] > 50 && light[1] == 0, "{preset}: {light:?}");
        }
    }
}

/// In turns a buffer holds as much of either queue, however long they are; in proportion the longer
/// one shows.
#[test]
fn equal_uploads_move_only_if_the_buffer_shows_how_long_their_queues_are() {
    let mut spec = uploads(|_| {});
    for (circuit, spare) in spec.circuits.iter_mut().zip(SPARES) {
        let client = circuit.path[0].index() as u32;
        *circuit = upload(client, spare, 1 << 30, 0);
    }
    for (fill, moves) in [("in-turns", false), ("in-proportion", true)] {
        let options = format!("buffer-fill = \"{fill}\"");
        let outcome = run(&spec, switching("switching", &options).as_ref());
        let moved = (0..2).any(|circuit| cells_of(&outcome, circuit, 1) > 0);
        assert_eq!(moved, moves, "{fill}: {:?}", outcome.legs);
    }
}

#[test]
fn a_bulk_circuit_beside_a_light_one_moves_however_the_buffer_is_filled() {
    let factory = switching::<Simulated>("switching", "buffer-fill = \"in-turns\"");
    let outcome = run(&uploads(|_| {}), factory.as_ref());
    assert!(cells_of(&outcome, 0, 1) > 100, "{:?}", outcome.legs);
    assert_eq!(cells_of(&outcome, 1, 1), 0, "{:?}", outcome.legs);
}

#[test]
fn what_was_left_behind_arrives_first_although_packets_are_lost() {
    for preset in ["switching", "switching-pctcp"] {
        let lossy = |nodes: &mut [NodeSpec]| {
            for node in nodes {
                node.access.loss = 0.005;
            }
        };
        let factory = switching::<Simulated>(preset, "");
        // The simulator compares every byte with its place.
        let outcome = run(&uploads(lossy), factory.as_ref());
        assert!(
            cells_of(&outcome, 0, 1) > 500,
            "{preset}: {:?}",
            outcome.legs
        );
        let uploaded = outcome.circuits[0].delivered.get();
        assert!(uploaded > 500 * 498, "{preset}: {uploaded}");
        assert!(!outcome.circuits[0].closed, "{preset}");
    }
}

#[test]
fn streams_stay_where_they_are_when_the_spare_circuit_does_not_answer() {
    let deaf = |nodes: &mut [NodeSpec]| nodes[SPARES[0] as usize].access.loss = 0.999;
    let slow = |nodes: &mut [NodeSpec]| {
        nodes[SPARES[0] as usize].access.delay = Duration::from_secs(2);
    };
    for spec in [uploads(deaf), uploads(slow)] {
        for preset in ["switching", "switching-pctcp"] {
            let factory = switching::<Simulated>(preset, "");
            let outcome = run(&spec, factory.as_ref());
            assert_eq!(cells_of(&outcome, 0, 1), 0, "{preset}");
            let uploaded = outcome.circuits[0].delivered.get();
            // Nothing is sent for two seconds of 40.
            assert!(uploaded > 250_000 * 30, "{preset}: {uploaded}");
            assert!(!outcome.circuits[0].closed, "{preset}");
        }
    }
}

/// The two paths share neither entry nor exit, and a receiver behind both exits joins them.
#[test]
fn paths_over_other_entries_and_exits_meet_at_their_receiver() {
    let mut spec = uploads(|_| {});
    let receiver = spec.nodes.len() as u32;
    spec.nodes.extend((7..10).map(node));
    for circuit in &mut spec.circuits {
        circuit.path.push(NodeId::new(receiver));
        let leg = &mut circuit.legs[0];
        leg[1] = NodeId::new(receiver + 1);
        leg[3] = NodeId::new(receiver + 2);
        leg.push(NodeId::new(receiver));
    }
    let factory = switching::<Simulated>("switching", "");
    let outcome = run(&spec, factory.as_ref());
    assert!(cells_of(&outcome, 0, 1) > 1000, "{:?}", outcome.legs);
    assert_eq!(cells_of(&outcome, 1, 1), 0);
}

fn message(sender: Neighbour, body: &[u8]) -> Frame<Counted> {
    Frame::Message(Box::new(Message {
        circuit: Bench::CIRCUIT,
        sender,
        body: body.to_vec(),
    }))
}

#[test]
fn orders_that_make_no_sense_close_the_circuit_and_others_do_nothing() {
    for preset in ["switching", "switching-pctcp", "switching-backtap"] {
        let factory = switching::<Counted>(preset, "");
        let closed = |mut bench: Bench, link, frame| bench.receive(link, frame).closed;
        for (sender, body, expected) in [
            (Neighbour::Successor, &[1][..], vec![]),
            (Neighbour::Successor, &[2], vec![Reason::Protocol]),
            (Neighbour::Successor, &[], vec![Reason::Protocol]),
        ] {
            // A client without spare circuits, and a relay, whose successor is on link 1.
            let client = Bench::client(factory.as_ref());
            assert_eq!(closed(client, 0, message(sender, body)), expected);
            let relay = Bench::relay(factory.as_ref());
            assert_eq!(closed(relay, 1, message(sender, body)), expected);
        }
        for link in [0, 1] {
            let order = message(Neighbour::Predecessor, &[1]);
            let relay = Bench::relay(factory.as_ref());
            assert_eq!(closed(relay, link, order), [Reason::Protocol]);
        }
    }
}

#[test]
fn commands_about_switching_where_there_is_nothing_to_switch_close_the_circuit() {
    for preset in [
        "switching",
        "switching-pctcp",
        "switching-backtap",
        "vanilla",
    ] {
        let options = Table::new();
        let factory = hopflow_transports::build::<Counted>(preset, &options).unwrap();
        for command in [
            RelayCommand::Switch,
            RelayCommand::SwitchConn,
            RelayCommand::SwitchAck,
        ] {
            for make in [Bench::client, Bench::exit] {
                let mut bench = make(factory.as_ref());
                let header = RelayHeader::control(command, StreamId::CIRCUIT);
                let cell = Bench::cell(0, Counted::control(header, bench.now));
                let sent = bench.receive(0, cell);
                assert_eq!(sent.closed, [Reason::Protocol], "{preset} {command:?}");
            }
        }
    }
}

/// Gives a bench a second circuit, and a stream over both.
fn with_spare(bench: &mut Bench, client: bool) -> (CircuitId, StreamHandle) {
    let spare = CircuitId::new(2);
    let hop = Some(HopSpec {
        link: LinkId::new(0),
        circuit: spare,
        queue_limit: bench.plan.link.queue_limit,
    });
    let (prev, next) = if client { (None, hop) } else { (hop, None) };
    let circuit = bench
        .host
        .open_circuit(&hopflow_overlay::CircuitSpec { prev, next });
    let spec = StreamSpec {
        id: StreamId::new(7),
        legs: vec![bench.circuit, circuit],
        hold: Cells::new(64),
    };
    let stream = bench.host.open_stream(&spec);
    (spare, stream.expect("both circuits are open"))
}

/// A command about a circuit, as its first cell.
fn command(command: RelayCommand, circuit: CircuitId) -> Frame<Counted> {
    let header = RelayHeader::control(command, StreamId::CIRCUIT);
    let mut frame = Bench::cell(0, Counted::control(header, Instant::ZERO));
    if let Frame::Cell(cell) = &mut frame {
        cell.circuit = circuit;
    }
    frame
}

#[test]
fn what_an_exit_hears_of_a_stream_that_has_just_ended_closes_nothing() {
    for preset in ["switching", "switching-pctcp", "switching-backtap"] {
        for said in [RelayCommand::Switch, RelayCommand::SwitchConn] {
            let mut exit = Bench::exit(switching(preset, "").as_ref());
            let (spare, stream) = with_spare(&mut exit, false);
            exit.host.close_stream(exit.now, stream);
            exit.drain();
            let sent = exit.receive(0, command(said, spare));
            assert_eq!(sent.closed, [], "{preset} {said:?}");
        }
    }
}

#[test]
fn a_spare_may_answer_after_the_circuit_is_gone_that_it_was_to_replace() {
    for preset in ["switching", "switching-pctcp", "switching-backtap"] {
        let mut client = Bench::client(switching(preset, "").as_ref());
        let (spare, _) = with_spare(&mut client, true);
        let sent = client.receive(0, message(Neighbour::Successor, &[1]));
        assert_eq!(sent.cells(0), 1, "the spare is asked");
        let gone = Destroy {
            circuit: Bench::CIRCUIT,
            reason: Reason::Requested,
        };
        let sent = client.receive(0, Frame::Destroy(gone));
        assert_eq!(sent.closed, [Reason::Requested]);
        let sent = client.receive(0, command(RelayCommand::SwitchAck, spare));
        assert_eq!(sent.closed, [], "{preset}");
    }
}
