//! Circuits that end at one exit and carry streams together.

use hopflow_engine::{CircuitKey, Failure};
use hopflow_onion::LinkRequest;
use hopflow_overlay::LegUse;
use hopflow_units::{Bytes, Duration};

use crate::network::{Network, bucket};
use crate::support::{pattern, real, transport};

/// Two paths to relay 3 without another relay in common.
const PATHS: [[usize; 3]; 2] = [[1, 2, 3], [4, 5, 3]];
const EXIT: usize = 3;
const SIZE: usize = 1_000_000;
const SET: [u8; 32] = [7; 32];

fn request(leg: u8) -> LinkRequest {
    LinkRequest {
        set: SET,
        leg,
        legs: 2,
    }
}

/// A network, and circuits of a client that its exit links.
fn linked(name: &str) -> (Network, [CircuitKey; 2]) {
    let mut network = Network::new(&*transport(name), 5);
    let legs = build(&mut network);
    (network, legs)
}

fn build(network: &mut Network) -> [CircuitKey; 2] {
    [0, 1].map(|leg| {
        let (circuit, worker) = network.leg(&PATHS[leg], &request(leg as u8));
        assert_eq!(worker, Some(0), "the exit links it");
        circuit
    })
}

/// Cells that a relay has sent.
fn sent(network: &Network, relay: usize) -> u64 {
    network.engine(relay).counters().node.cells_sent
}

#[test]
fn a_download_comes_by_all_legs_in_order() {
    for name in real() {
        let (mut network, legs) = linked(name);
        let (near, (exit, far)) = network.stream_over(&legs);
        assert_eq!(exit, EXIT);
        network.write(EXIT, far, pattern(SIZE, 1), true);
        network.write(0, near, pattern(3000, 2), true);
        network.run_for(Duration::from_secs(60));
        let heard = network.heard(0, near);
        assert!(
            heard.bytes == pattern(SIZE, 1),
            "{name}: all bytes in order"
        );
        assert!(heard.finished && !heard.reset, "{name}");
        let heard = network.heard(EXIT, far);
        assert!(heard.bytes == pattern(3000, 2) && heard.finished, "{name}");
        let open = transport(name).plan().path.legs == LegUse::Open;
        for middle in [2, 5] {
            let many = sent(&network, middle) > 200;
            assert_eq!(many, open || middle == 2, "{name}: relay {middle}");
        }
        network.close_stream(0, near);
        network.close_stream(EXIT, far);
        network.run_for(Duration::from_secs(1));
        assert_eq!(network.closed, [], "{name}: the circuits live on");
        // A second stream of the set begins where the first one has ended.
        let (near, (_, far)) = network.stream_over(&legs);
        network.write(EXIT, far, pattern(SIZE, 3), true);
        network.run_for(Duration::from_secs(60));
        assert!(network.heard(0, near).bytes == pattern(SIZE, 3), "{name}");
    }
}

#[test]
fn an_upload_takes_the_other_legs_once_the_exit_has_answered() {
    let (mut network, legs) = linked("backtap");
    let (near, (_, far)) = network.stream_over(&legs);
    network.write(0, near, pattern(SIZE, 1), false);
    network.run_for(Duration::from_secs(30));
    assert!(network.heard(EXIT, far).bytes == pattern(SIZE, 1));
    let before = sent(&network, 5);
    assert!(before < 20, "{before} cells by the second leg already");
    network.write(EXIT, far, b"hello".to_vec(), false);
    network.run_for(Duration::from_secs(1));
    network.write(0, near, pattern(SIZE, 2), true);
    network.run_for(Duration::from_secs(30));
    let both = [pattern(SIZE, 1), pattern(SIZE, 2)].concat();
    let heard = network.heard(EXIT, far);
    assert!(heard.bytes == both && heard.finished);
    assert!(sent(&network, 5) > before + 200, "the second leg is used");
}

#[test]
fn loss_and_reordering_change_nothing() {
    let (mut network, legs) = linked("backtap");
    network.weather.lost = 50;
    network.weather.late = 50;
    let (near, (_, far)) = network.stream_over(&legs);
    network.write(EXIT, far, pattern(SIZE, 1), true);
    network.write(0, near, pattern(SIZE, 2), true);
    network.run_for(Duration::from_secs(300));
    assert!(network.heard(0, near).bytes == pattern(SIZE, 1));
    assert!(network.heard(EXIT, far).bytes == pattern(SIZE, 2));
}

#[test]
fn a_set_ends_with_any_of_its_circuits() {
    for dies in [0, 1] {
        let (mut network, legs) = linked("backtap");
        let (near, (_, far)) = network.stream_over(&legs);
        network.write(EXIT, far, pattern(20_000_000, 1), true);
        network.run_for(Duration::from_millis(300));
        network.close_circuit(0, legs[dies]);
        network.run_for(Duration::from_secs(2));
        assert!(network.heard(0, near).reset && network.heard(EXIT, far).reset);
        let why = network.failure(0, legs[dies]);
        assert_eq!(why, Some(Failure::Requested));
        let why = network.failure(0, legs[1 - dies]);
        assert!(matches!(why, Some(Failure::Closed(_))), "{why:?}");
        assert_eq!(network.engine(EXIT).counters().circuits, 0);
        // And another one may have its name again.
        build(&mut network);
    }
}

#[test]
fn a_leg_is_there_once() {
    let (mut network, _) = linked("vanilla");
    for again in [
        request(0),
        request(1),
        LinkRequest {
            legs: 3,
            ..request(1)
        },
    ] {
        let (_, worker) = network.leg(&PATHS[1], &again);
        assert_eq!(worker, None, "{again:?}");
    }
}

#[test]
fn a_circuit_whose_set_is_not_complete_is_like_any() {
    let mut network = Network::new(&*transport("backtap"), 5);
    let (first, _) = network.leg(&PATHS[0], &request(0));
    let (near, (_, far)) = network.stream_over(&[first]);
    network.write(EXIT, far, pattern(SIZE, 1), true);
    network.run_for(Duration::from_secs(30));
    assert!(network.heard(0, near).bytes == pattern(SIZE, 1));
    // Those that come later are not linked with what has streams.
    let (second, _) = network.leg(&PATHS[1], &request(1));
    let (near, (_, far)) = network.stream_over(&[second]);
    network.write(EXIT, far, pattern(SIZE, 2), true);
    network.run_for(Duration::from_secs(30));
    assert!(network.heard(0, near).bytes == pattern(SIZE, 2));
    assert_eq!(network.closed, []);
}

#[test]
fn who_begins_a_stream_on_another_leg_loses_the_set() {
    let (mut network, [first, second]) = linked("backtap");
    network.stream_over(&[first, second]);
    let now = network.clock(0);
    let wrong = network.engine_mut(0).open_stream(now, &[second], b"a:1");
    assert!(wrong.is_some());
    network.pump(0);
    network.run_for(Duration::from_secs(2));
    let failure = network.failure(0, second);
    assert!(matches!(failure, Some(Failure::Closed(_))), "{failure:?}");
}

/// An exit that holds data of a linked set and of another client. By age they are: the set's first leg, the other
/// client's circuit, the set's second leg.
fn exit_with_held_data() -> (Network, usize, CircuitKey) {
    let factory = transport("vanilla");
    let bucket = bucket(100, factory.plan().link.refill);
    let mut network = Network::limited(&*factory, 7, &[None, None, Some(bucket)]);
    let other = network.add_client(&*factory);
    let legs = build(&mut network);
    // Nothing leaves by the first leg any more.
    network.clogged.insert((EXIT, 2));
    let (_, (_, far)) = network.stream_over(&legs);
    network.write(EXIT, far, pattern(SIZE, 1), false);
    network.run_for(Duration::from_secs(30));
    let circuit = network.circuit_of(other, &[6, 7, EXIT]);
    // More than links and circuits take themselves.
    for _ in 0..6 {
        let (near, (_, far)) = network.stream_pair(other, circuit);
        network.set_reading(other, near, false);
        network.write(EXIT, far, pattern(SIZE, 2), false);
    }
    network.run_for(Duration::from_secs(30));
    let (_, (_, far)) = network.stream_over(&legs);
    // Nor by the second.
    network.clogged.insert((EXIT, PATHS[1][1]));
    network.write(EXIT, far, pattern(SIZE, 3), false);
    network.run_for(Duration::from_secs(2));
    (network, other, circuit)
}

#[test]
fn a_set_that_goes_for_memory_counts_with_all_its_legs_and_takes_nobody_else_along() {
    let keep = |network: &mut Network, memory: Bytes| {
        let now = network.clock(EXIT);
        network.engine_mut(EXIT).keep_within(now, memory)
    };
    let (mut network, _, _) = exit_with_held_data();
    let all = keep(&mut network, Bytes::new(u64::MAX));
    keep(&mut network, all.saturating_sub(Bytes::new(1)));
    let rest = keep(&mut network, Bytes::new(u64::MAX));
    let (mut network, other, circuit) = exit_with_held_data();
    // Little more than what is left without the set's data, and its two circuits.
    let limit = rest.get() + 30_000;
    let left = keep(&mut network, Bytes::new(limit));
    let gone = network.engine(EXIT).counters().out_of_memory;
    network.run_for(Duration::from_secs(2));
    let sizes = format!("{gone} are gone, {all} were held, {rest} are without the set");
    assert_eq!(network.failure(other, circuit), None, "{sizes}");
    assert_eq!(gone, 1);
    assert!(left <= Bytes::new(limit), "{left}");
    let circuits = network.engine(EXIT).counters().circuits;
    assert_eq!(circuits, 1, "both legs are gone");
}

#[test]
fn the_legs_of_a_set_that_goes_for_memory_of_circuits_count_once() {
    let (mut network, _) = linked("backtap");
    for set in [1, 2] {
        for (leg, path) in PATHS.iter().enumerate() {
            let link = LinkRequest {
                set: [set; 32],
                ..request(leg as u8)
            };
            network.leg(path, &link);
        }
    }
    let now = network.clock(EXIT);
    let exit = network.engine_mut(EXIT);
    let held = exit.keep_within(now, Bytes::new(u64::MAX)).get();
    // Half is for links and circuits. This is more than one circuit too many, and fewer than two.
    exit.keep_within(now, Bytes::new(2 * (held - 14_000)));
    let counters = exit.counters();
    assert_eq!((counters.out_of_memory, counters.circuits), (1, 4));
}
