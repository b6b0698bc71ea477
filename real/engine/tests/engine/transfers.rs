//! Circuits are built, and streams carry what they shall.

use hopflow_units::Duration;

use crate::network::Network;
use crate::support::{pattern, real, transport};

/// Builds a circuit through three relays, asks and answers.
fn fetch(network: &mut Network, size: usize) {
    let circuit = network.circuit(&[1, 2, 3]);
    let stream = network.stream(circuit, "example.org:80");
    network.write(0, stream, b"GET /".to_vec(), true);
    network.run_for(Duration::from_secs(1));
    let (node, far, target) = network.begun.pop().expect("the exit hears of the stream");
    assert_eq!((node, &target[..]), (3, &b"example.org:80"[..]));
    let request = network.heard(3, far);
    assert_eq!(
        (&request.bytes[..], request.finished),
        (&b"GET /"[..], true)
    );
    let answer = pattern(size, 9);
    network.write(3, far, answer.clone(), true);
    network.run_for(Duration::from_secs(120));
    let heard = network.heard(0, stream);
    assert_eq!((heard.bytes.len(), heard.finished), (size, true));
    assert!(heard.bytes == answer, "the answer is what was sent");
    network.close_stream(0, stream);
    network.close_circuit(0, circuit);
    // What is lost of the end is asked for within a minute, on each of the three links.
    let lossy = network.weather.lost > 0;
    let patience = Duration::from_secs(if lossy { 180 } else { 1 });
    network.run_for(patience);
    for node in 0..4 {
        assert_eq!(
            network.engine(node).counters().circuits,
            0,
            "at node {node}"
        );
    }
}

#[test]
fn every_real_transport_fetches_through_three_relays() {
    for name in real() {
        println!("{name}");
        fetch(&mut Network::new(&*transport(name), 3), 1_000_000);
    }
}

#[test]
fn loss_and_reordering_on_every_link_change_nothing() {
    for name in ["backtap", "marut", "udp-or"] {
        println!("{name}");
        let mut network = Network::new(&*transport(name), 3);
        network.weather.lost = 50;
        network.weather.late = 50;
        fetch(&mut network, 300_000);
    }
}

#[test]
fn circuits_end_when_a_relay_dies() {
    for name in ["vanilla", "backtap", "udp-or"] {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let stream = network.stream(circuit, "example.org:80");
        network.write(0, stream, pattern(2_000_000, 1), true);
        network.run_for(Duration::from_millis(200));
        network.kill(2);
        network.run_for(Duration::from_secs(300));
        assert!(network.heard(0, stream).reset, "{name}: the stream ends");
        assert_eq!(network.closed.len(), 1, "{name}: the circuit ends");
    }
}
