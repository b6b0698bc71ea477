//! Circuits that end at one exit and carry streams together.

use hopflow_engine::{CircuitKey, Failure};
use hopflow_onion::LinkRequest;
use hopflow_overlay::LegUse;
use hopflow_units::Duration;

use crate::network::Network;
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
