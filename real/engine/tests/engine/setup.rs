//! Building circuits: what is lost is repeated, who is somebody else is found out.

use std::sync::Arc;

use hopflow_engine::{Failure, Hop};
use hopflow_units::Duration;

use crate::network::Network;
use crate::support::{pattern, real, transport};

/// Nothing is left of a circuit at any node.
fn assert_no_circuits(network: &Network) {
    for node in 0..4 {
        let counters = network.engine(node).counters();
        assert_eq!(counters.circuits, 0, "node {node}: {counters:?}");
    }
}

#[test]
fn any_two_datagrams_of_a_setup_may_be_lost() {
    let factory = transport("backtap");
    for first in 0..36 {
        let mut network = Network::new(&*factory, 3);
        let mut seen = 0;
        network.tamper = Some(Box::new(move |passing| {
            if seen == first || seen == first + 3 {
                passing.bytes.clear();
            }
            seen += 1;
        }));
        let circuit = network.circuit(&[1, 2, 3]);
        network.stream_pair(0, circuit);
    }
}

#[test]
fn hops_that_cannot_prove_who_they_are_are_named() {
    for name in real() {
        for wrong in 0..3 {
            let network = &mut Network::new(&*transport(name), 4);
            let stranger = network.hop(4);
            let mut fails = |spoil: fn(&mut Hop, &Hop)| {
                let mut path = network.path(&[1, 2, 3]);
                spoil(&mut path[wrong], &stranger);
                let circuit = network.begin_circuit(0, path);
                network.run_for(Duration::from_secs(60));
                let failure = network.failure(0, circuit);
                assert_eq!(failure, Some(Failure::Hop { hop: wrong }), "{name}");
                assert_no_circuits(network);
            };
            fails(|hop, stranger| hop.fingerprint = stranger.fingerprint);
            fails(|hop, stranger| hop.onion = stranger.onion);
            fails(|hop, stranger| hop.address = stranger.address);
            network.circuit(&[1, 2, 3]);
        }
    }
}

#[test]
fn a_circuit_does_not_lead_back_to_the_relay_before() {
    for name in ["backtap", "vanilla", "pctcp"] {
        let factory = transport(name);
        let mut network = Network::new(&*factory, 3);
        let known = network.known(&[1, 2, 3]);
        for relay in 1..4 {
            network.restart(relay, &*factory, |config| {
                config.extend_to = Some(known.clone());
            });
        }
        for back in [[1, 2, 1], [2, 1, 2]] {
            let refused = network.begin_circuit(0, network.path(&back));
            network.run_for(Duration::from_secs(5));
            let failure = network.failure(0, refused);
            assert_eq!(failure, Some(Failure::Hop { hop: 2 }), "{name}");
        }
        network.circuit(&[1, 2, 3, 1]);
    }
}

#[test]
fn who_cannot_prove_to_be_a_relay_is_none() {
    for name in ["backtap", "vanilla"] {
        let factory = transport(name);
        let mut network = Network::new(&*factory, 3);
        let known = network.known(&[1, 2, 3]);
        network.restart(1, &*factory, |config| {
            config.extend_to = Some(known.clone());
        });
        // The second relay knows another key of the first.
        let mut known = known.as_ref().clone();
        known.insert(network.target(1), network.hop(3).onion);
        network.restart(2, &*factory, |config| {
            config.extend_to = Some(Arc::new(known));
        });
        network.circuit(&[1, 2, 1]);
    }
}

#[test]
fn relays_extend_only_to_those_that_they_know() {
    for name in ["backtap", "vanilla"] {
        let factory = transport(name);
        let mut network = Network::new(&*factory, 4);
        let known = network.known(&[2, 3]);
        for relay in 1..4 {
            network.restart(relay, &*factory, |config| {
                config.extend_to = Some(known.clone());
            });
        }
        let refused = network.begin_circuit(0, network.path(&[1, 2, 4]));
        network.run_for(Duration::from_secs(5));
        let failure = network.failure(0, refused);
        assert_eq!(failure, Some(Failure::Hop { hop: 2 }), "{name}");
        // The address of one with the name of another is no relay that is known.
        let mut path = network.path(&[1, 2, 3]);
        path[1].fingerprint = network.target(3).1;
        let refused = network.begin_circuit(0, path);
        network.run_for(Duration::from_secs(5));
        let failure = network.failure(0, refused);
        assert_eq!(failure, Some(Failure::Hop { hop: 1 }), "{name}");
        assert_eq!(network.engine(4).counters().links, 0);
        assert_no_circuits(&network);
        network.circuit(&[1, 2, 3]);
    }
}

#[test]
fn a_silent_hop_is_named() {
    for name in ["backtap", "vanilla"] {
        for silent in 1..4 {
            let mut network = Network::new(&*transport(name), 3);
            network.kill(silent);
            let circuit = network.begin_circuit(0, network.path(&[1, 2, 3]));
            network.run_for(Duration::from_secs(120));
            let hop = silent - 1;
            let failure = network.failure(0, circuit);
            assert_eq!(failure, Some(Failure::Hop { hop }), "{name}");
            let counted = network.engine(0).counters().handshakes_failed;
            assert_eq!(counted, 1, "{name} {silent}");
            for node in (0..4).filter(|node| *node != silent) {
                let counters = network.engine(node).counters();
                assert_eq!(counters.circuits, 0, "{name} {node}: {counters:?}");
            }
        }
    }
}

#[test]
fn who_ends_a_circuit_while_a_later_hop_is_asked_brings_no_blame_on_that_one() {
    let mut network = Network::new(&*transport("backtap"), 3);
    network.kill(3);
    let circuit = network.begin_circuit(0, network.path(&[1, 2, 3]));
    network.run_for(Duration::from_secs(2));
    assert_eq!(network.failure(0, circuit), None);
    network.kill(2);
    network.run_for(Duration::from_secs(60));
    let failure = network.failure(0, circuit);
    assert_eq!(failure, Some(Failure::OnTheWay { hop: 2 }));
    assert_eq!(network.engine(0).counters().handshakes_failed, 1);
}

#[test]
fn a_circuit_that_is_given_up_before_it_is_built_has_failed_unless_its_client_ends() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let failed = |network: &Network| network.engine(0).counters().handshakes_failed;
    let built = network.circuit(&[1, 2, 3]);
    network.close_circuit(0, built);
    assert_eq!(failed(&network), 0);
    let late = network.begin_circuit(0, network.path(&[1, 2, 3]));
    network.close_circuit(0, late);
    assert_eq!(failed(&network), 1);
    network.begin_circuit(0, network.path(&[1, 2, 3]));
    let now = network.clock(0);
    network.engine_mut(0).shut_down(now);
    assert_eq!(failed(&network), 1);
}

#[test]
fn a_circuit_waits_ten_minutes_for_its_first_stream() {
    for name in ["backtap", "vanilla"] {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        network.run_for(Duration::from_secs(600));
        let (near, (exit, far)) = network.stream_pair(0, circuit);
        network.write(exit, far, pattern(100_000, 1), true);
        network.run_for(Duration::from_secs(5));
        assert!(network.heard(0, near).finished, "{name}");
    }
}

#[test]
fn neighbours_learn_of_the_end_of_a_circuit_although_the_message_was_lost() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let gone = network.circuit(&[1, 2, 3]);
    // Links live on by other circuits.
    let stays = network.circuit(&[1, 2, 3]);
    for circuit in [gone, stays] {
        let (_, (exit, far)) = network.stream_pair(0, circuit);
        network.write(exit, far, pattern(1_000, 1), true);
    }
    network.run_for(Duration::from_secs(5));
    network.weather.lost = 1000;
    network.close_circuit(0, gone);
    network.run_for(Duration::from_millis(100));
    network.weather.lost = 0;
    let circuits = |network: &Network| [1, 2, 3].map(|it| network.engine(it).counters().circuits);
    network.run_for(Duration::from_secs(1));
    assert_eq!(circuits(&network), [2; 3], "nobody has heard");
    network.run_for(Duration::from_secs(65));
    assert_eq!(circuits(&network), [1; 3]);
    assert_eq!(network.failure(0, stays), None);
}

#[test]
fn an_idle_circuit_outlives_any_answer_that_is_lost() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let circuit = network.circuit(&[1, 2, 3]);
    let (_, (exit, far)) = network.stream_pair(0, circuit);
    network.write(exit, far, pattern(1_000, 1), true);
    network.run_for(Duration::from_secs(5));
    // Of the few datagrams on idle links: probes and their answers.
    network.weather.lost = 50;
    network.run_for(Duration::from_secs(3 * 3600));
    assert_eq!(network.failure(0, circuit), None);
    let circuits = [1, 2, 3].map(|it| network.engine(it).counters().circuits);
    assert_eq!(circuits, [1; 3]);
}

#[test]
fn links_that_a_relay_opens_take_no_place_of_links_that_others_open() {
    for name in ["backtap", "vanilla"] {
        let factory = transport(name);
        let mut network = Network::new(&*factory, 4);
        network.restart(1, &*factory, |config| {
            config.limits.links = 2;
            config.limits.opened = 1;
        });
        network.circuit(&[1, 2]);
        network.circuit_of(3, &[1, 2]);
        let refused = network.begin_circuit(0, network.path(&[1, 4]));
        network.run_for(Duration::from_secs(5));
        let failure = network.failure(0, refused);
        assert_eq!(failure, Some(Failure::Hop { hop: 1 }), "{name}");
        assert_eq!(network.engine(1).counters().links_refused, 1, "{name}");
        assert_eq!(network.engine(4).counters().links, 0, "{name}");
    }
}
