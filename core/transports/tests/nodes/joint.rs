//! Joint control: the rates that nodes tell are max-min fair, and reach sources with requests.

use std::sync::Arc;

use hopflow_sim::spec::{BucketSpec, CircuitSpec, CrossSpec, QueueSpec, Workload, WorldSpec};
use hopflow_sim::{Outcome, Simulated};
use hopflow_testkit::{Bench, Counted, Sent};
use hopflow_units::{Bytes, Duration, Instant, NodeId, Rate};
use hopflow_wire::{Feedback, Frame};
use toml::Table;

use crate::world::{circuit, node, preset, run, world};

/// Bytes per second of the relay that all circuits share, and of the slow client.
const SHARED: u64 = 1_000_000;
const SLOW: u64 = 125_000;

/// Clients 0 to 2 download over the relay 3 from the exit 4; client 2 is slow.
fn shared_relay(response: Option<Bytes>) -> WorldSpec {
    let mut nodes: Vec<_> = (0..5).map(node).collect();
    nodes[2].access.rate = Rate::from_bytes_per_sec(SLOW).unwrap();
    nodes[3].bucket = Some(BucketSpec {
        rate: Rate::from_bytes_per_sec(SHARED).unwrap(),
        depth: None,
        interval: None,
        reading: false,
    });
    let circuits = (0..3).map(|client| circuit(&[client, 3, 4], response));
    world(nodes, circuits.collect(), Duration::from_secs(20))
}

/// The mean of what the exit was told of a circuit in the second half, in bytes of cells per second.
fn told(outcome: &Outcome, circuit: u32) -> f64 {
    let half = Instant::ZERO + Duration::from_secs(10);
    let samples = outcome.metrics.iter();
    let late = samples.filter(|it| it.circuit == circuit && it.hop == 0 && it.at >= half);
    let values: Vec<f64> = late.map(|it| it.measured.value).collect();
    assert!(values.len() > 50, "{} samples", values.len());
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_rates_that_a_relay_tells_are_max_min_fair() {
    let mut spec = shared_relay(None);
    spec.sampling.hops = Some(Duration::from_millis(100));
    for name in ["joint", "joint-rr"] {
        let relayed: Table = "relayed = true".parse().unwrap();
        let factory = hopflow_transports::build::<Simulated>(name, &relayed).unwrap();
        let outcome = run(&spec, &*factory);
        let [fast, other, slow] = [0, 1, 2].map(|circuit| told(&outcome, circuit));
        // Of the slow client's link a cell takes 547 bytes, and a cell and its feedback take 531
        // of the bucket.
        let least = SLOW as f64 * 517.0 / 547.0;
        assert!(
            (slow / least - 1.0).abs() < 0.01,
            "{name}: {slow} B/s for the slow client"
        );
        let rest = (SHARED as f64 * 517.0 / 531.0 - least) / 2.0;
        for told in [fast, other] {
            assert!(
                (told / rest - 1.0).abs() < 0.05,
                "{name}: {told} B/s of {rest}"
            );
        }
    }
}

#[test]
fn an_exit_is_told_what_the_relay_has_and_not_what_its_client_has() {
    let mut spec = shared_relay(None);
    spec.sampling.hops = Some(Duration::from_millis(100));
    let outcome = run(&spec, &*preset("joint-rr"));
    let [fast, _, slow] = [0, 1, 2].map(|circuit| told(&outcome, circuit));
    assert!((slow / fast - 1.0).abs() < 0.02, "{slow} and {fast} B/s");
}

#[test]
fn a_window_that_was_too_large_does_not_begin_as_large_again() {
    let mut spec = shared_relay(Some(Bytes::new(500_000)));
    spec.circuits.remove(0);
    spec.circuits.remove(0);
    spec.sampling.hops = Some(Duration::from_millis(20));
    let outcome = run(&spec, &*preset("joint"));
    let largest = |from: u64, until: u64| {
        let [from, until] = [from, until].map(|at| Instant::ZERO + Duration::from_secs(at));
        let relay = outcome.hops.iter().filter(|it| it.hop == 1);
        let within = relay.filter(|it| from <= it.at && it.at < until);
        within.map(|it| it.queue.get()).max().unwrap()
    };
    let [first, later] = [largest(0, 5), largest(8, 20)];
    assert!(4 * later < first, "{later} cells wait, {first} at first");
}

#[test]
fn a_response_begins_at_its_rate_if_the_request_brought_it() {
    let spec = shared_relay(Some(Bytes::new(200_000)));
    let seconds = |options: &str| {
        let options: Table = options.parse().unwrap();
        let factory = hopflow_transports::build::<Simulated>("joint", &options).unwrap();
        let outcome = run(&spec, &*factory);
        let mut took = outcome.downloads.iter().filter(|it| it.circuit == 0);
        took.next().expect("it is complete").ttlb.as_secs_f64()
    };
    let [with, without] = ["", "ahead = false"].map(seconds);
    assert!(with < 0.9 * without, "{with} s with, {without} s without");
}

/// An exit whose first cells have come back after a tenth of a second with a word; what it sends then.
fn told_by_hand(word: u16) -> (Bench, Sent) {
    let factory = hopflow_transports::build::<Counted>("joint", &Table::new()).unwrap();
    let mut exit = Bench::exit(factory.as_ref());
    let first = exit.write(Bytes::new(10_000_000)).cells(0) as u64;
    exit.wait(Duration::from_millis(100));
    let sent = exit.receive(0, heard(first, word));
    (exit, sent)
}

fn heard(cells: u64, word: u16) -> Frame<Counted> {
    let Frame::Feedback(feedback) = Bench::feedback(cells, cells) else {
        unreachable!("it is feedback");
    };
    Frame::Feedback(Feedback {
        word: Some(word),
        ..feedback
    })
}

#[test]
fn a_successor_that_says_too_little_slows_its_circuit_and_stops_it_not() {
    // The least rate, and hard: a cell per second.
    let (mut exit, at_once) = told_by_hand(0x8000);
    let later = exit.wait(Duration::from_millis(900));
    let cells = at_once.cells(0) + later.cells(0);
    assert!((1..=2).contains(&cells), "{cells} cells");
    assert_eq!(later.closed, []);
    let back = 16 + cells as u64;
    let sent = exit.receive(0, heard(back, 1000));
    assert!(sent.cells(0) > 16, "{} cells at a fair rate", sent.cells(0));
}

#[test]
fn a_successor_that_says_too_much_gets_what_it_can_queue() {
    // The most that a relay says is a guess at the rest of the path; a client knows.
    for (word, most) in [(0x7fff, Some(768)), (0xf7ff, None)] {
        let (exit, sent) = told_by_hand(word);
        let most = most.unwrap_or_else(|| exit.plan.link.queue_limit.get());
        assert_eq!(sent.cells(0) as u64, most);
        assert_eq!(sent.closed, []);
    }
}

#[test]
fn a_successor_that_grants_too_little_slows_its_circuit_and_stops_it_not() {
    let factory = hopflow_transports::build::<Counted>("joint", &Table::new()).unwrap();
    let mut exit = Bench::exit(factory.as_ref());
    let mut cells = exit.write(Bytes::new(10_000_000)).cells(0);
    exit.wait(Duration::from_millis(10));
    // A hard word of 50000 cells per second, which lets many go ahead of time.
    cells += exit.receive(0, heard(1, 0xae1a)).cells(0);
    // From now on a queue stands, and a sixteenth of a cell is granted.
    let mut late = 0;
    for tenth in 0..220 {
        let mut sent = exit.wait(Duration::from_millis(100));
        sent.append(exit.receive(0, heard(cells as u64, 0xf810)));
        assert_eq!(sent.closed, []);
        cells += sent.cells(0);
        late += if tenth < 20 { 0 } else { sent.cells(0) };
    }
    assert!((5..=20).contains(&late), "{late} cells in 20 s");
}

/// What ten downloads have of a relay's link against five connections of TCP, as a multiple of what a
/// connection has.
fn against_tcp(options: &str) -> f64 {
    // The relay, two entries, two exits, the connections' hosts, and clients.
    let mut nodes: Vec<_> = (0..20).map(node).collect();
    nodes[0].access.rate = Rate::from_bytes_per_sec(SHARED).unwrap();
    nodes[0].access.queue = QueueSpec::DropTail { packets: 30 };
    let circuits = (0..10).map(|it| circuit(&[10 + it, 1 + it % 2, 0, 3 + it % 2], None));
    let mut spec = world(nodes, circuits.collect(), Duration::from_secs(60));
    spec.cross = (5..10)
        .map(|host| CrossSpec {
            from: NodeId::new(host),
            to: NodeId::new(0),
            start: Duration::ZERO,
            algorithm: None,
        })
        .collect();
    let options: Table = options.parse().unwrap();
    let factory = hopflow_transports::build::<Simulated>("joint", &options).unwrap();
    let outcome = run(&spec, &*factory);
    let circuits = outcome.circuits.iter().map(|it| it.delivered.get());
    let connections = outcome.cross.iter().map(|bytes| bytes.get());
    5.0 * circuits.sum::<u64>() as f64 / connections.sum::<u64>() as f64
}

#[test]
fn a_weight_holds_circuits_to_what_so_many_connections_have() {
    let [without, one, two] = ["", "weight = 1", "weight = 2"].map(against_tcp);
    assert!(without > 2.5, "{without} connections without a weight");
    assert!((0.6..1.6).contains(&one), "{one} connections with 1");
    assert!(two > 1.2 * one && two < 3.2, "{two} connections with 2");
}

/// What ten downloads get of a relay's access link whose rate its operator states as `stated` times
/// what it is, as a share of it.
fn stated_at(stated: f64) -> f64 {
    let mut nodes: Vec<_> = (0..15).map(node).collect();
    let rate = 8_000_000;
    nodes[0].access.rate = Rate::from_bytes_per_sec(rate).unwrap();
    nodes[0].access.stated = stated;
    let circuits = (0..10).map(|it| circuit(&[5 + it, 1 + it % 2, 0, 3 + it % 2], None));
    let spec = world(nodes, circuits.collect(), Duration::from_secs(20));
    let outcome = run(&spec, &*preset("joint"));
    let delivered: u64 = outcome.circuits.iter().map(|it| it.delivered.get()).sum();
    delivered as f64 / (20.0 * rate as f64)
}

#[test]
fn circuits_have_little_more_of_a_link_than_its_operator_states() {
    let [half, right] = [0.5, 1.0].map(stated_at);
    // Windows hold 1.25 times what the words say, and four cells.
    assert!((0.4..0.65).contains(&half), "{half} of the link with half");
    assert!(right > 0.8, "{right} of the link with what it is");
}

/// What two endless downloads get over the relay 3 and the exit 4, of which one has a bucket, beside `quiet`
/// circuits with a cell each way some twice a second; bytes per second.
fn beside_quiet(limited: usize, quiet: u32) -> f64 {
    let mut spec = shared_relay(None);
    spec.nodes[2].access = spec.nodes[0].access.clone();
    spec.nodes[limited].bucket = spec.nodes[3].bucket.take();
    let user = CircuitSpec {
        workload: Arc::new(Workload {
            response: Some(Bytes::new(400)),
            think: (Duration::from_millis(300), Duration::from_millis(600)),
            server_delay: Duration::ZERO,
            server_delay_max: Duration::ZERO,
        }),
        ..circuit(&[2, 3, 4], None)
    };
    spec.circuits.truncate(2);
    spec.circuits.extend((0..quiet).map(|_| user.clone()));
    let outcome = run(&spec, &*preset("joint"));
    let bytes: u64 = outcome.circuits[..2]
        .iter()
        .map(|it| it.delivered.get())
        .sum();
    bytes as f64 / 20.0
}

#[test]
fn circuits_with_a_cell_now_and_then_take_no_more_than_their_cells() {
    for limited in [3, 4] {
        let [alone, beside] = [0, 60].map(|quiet| beside_quiet(limited, quiet));
        // Each has at most three cells a second each way; the exit pays for what leaves alone.
        let cells = 60.0 * 3.0 * 531.0 * if limited == 3 { 2.0 } else { 1.0 };
        assert!(
            beside > alone - 1.1 * cells,
            "{limited}: {beside} of {alone} B/s"
        );
    }
}
