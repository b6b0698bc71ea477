//! Transports whose hops repair nothing: the ends of a circuit number its cells, and send again what was lost.

use hopflow_engine::Failure;
use hopflow_units::Duration;
use hopflow_wire::Reason;

use crate::hostile::Transfers;
use crate::network::Network;
use crate::support::{configured, pattern, transport};

const PRESETS: [&str; 2] = ["udp-or", "udp-or-newreno"];
/// Longer than everything but datagrams with cells and messages of set-up.
const CELL: usize = 500;

fn run_to_end(network: &mut Network, transfers: &Transfers) {
    for _ in 0..60_000 {
        network.run_for(Duration::from_millis(10));
        if transfers.are_over(network) {
            break;
        }
    }
    transfers.check(network);
}

#[test]
fn downloads_and_uploads_come_through_links_that_lose_and_reorder() {
    for (preset, sack) in PRESETS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let factory = configured(preset, &format!("sack = {sack}"));
        for in_batches in [false, true] {
            let mut network = Network::new(&*factory, 3);
            network.in_batches = in_batches;
            network.weather.lost = 20;
            network.weather.late = 50;
            let transfers = Transfers::start(&mut network, &[1, 2, 3]);
            run_to_end(&mut network, &transfers);
            for node in 0..4 {
                let counters = network.engine(node).counters();
                assert_eq!(counters.forged, 0, "{preset}");
                assert_eq!(counters.node.violations, 0, "{preset}");
            }
        }
    }
}

#[test]
fn datagrams_that_come_twice_change_nothing() {
    let mut network = Network::new(&*transport("udp-or"), 3);
    network.tamper = Some(Box::new(|passing| {
        let again = passing.bytes.clone();
        passing.others.push((Duration::from_millis(7), again));
    }));
    let transfers = Transfers::start(&mut network, &[1, 2, 3]);
    run_to_end(&mut network, &transfers);
}

#[test]
fn a_circuit_opens_with_whichever_cell_comes_first() {
    for link in [(0, 1), (1, 2), (2, 3)] {
        let mut network = Network::new(&*transport("udp-or"), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let near = network.stream(circuit, "example.org:80");
        // The beginning of the stream is on its way; two cells with data follow it.
        let mut lost = 0;
        network.tamper = Some(Box::new(move |passing| {
            if (passing.from, passing.to) == link && passing.bytes.len() > CELL && lost == 0 {
                passing.bytes.clear();
                lost = 1;
            }
        }));
        network.write(0, near, pattern(800, 3), true);
        network.run_for(Duration::from_secs(5));
        let (exit, far, _) = network.begun.pop().expect("the exit hears of the stream");
        assert!(
            network.heard(exit, far).bytes == pattern(800, 3),
            "{link:?}"
        );
    }
}

#[test]
fn links_live_on_whose_cells_nobody_answers() {
    let mut network = Network::new(&*transport("udp-or"), 3);
    let circuit = network.circuit(&[1, 2, 3]);
    let (near, (exit, far)) = network.stream_pair(0, circuit);
    let mut sent = 0;
    for pause in [2, 20, 70, 200] {
        network.run_for(Duration::from_secs(pause));
        // The last cell on each link is an acknowledgement.
        for (node, stream) in [(0, near), (exit, far)] {
            network.write(node, stream, pattern(10, 0), false);
            network.run_for(Duration::from_secs(pause));
        }
        sent += 10;
        assert_eq!(network.failure(0, circuit), None, "after {pause} s");
        assert_eq!(network.heard(exit, far).bytes.len(), sent);
        assert_eq!(network.heard(0, near).bytes.len(), sent);
    }
}

#[test]
fn a_circuit_ends_whose_exit_is_heard_no_more() {
    let mut network = Network::new(&*transport("udp-or"), 3);
    let circuit = network.circuit(&[1, 2, 3]);
    let (near, _) = network.stream_pair(0, circuit);
    // The links live, for what answers probes is short.
    network.tamper = Some(Box::new(|passing| {
        if (passing.from, passing.to) == (3, 2) && passing.bytes.len() > CELL {
            passing.bytes.clear();
        }
    }));
    network.write(0, near, pattern(100_000, 1), true);
    network.run_for(Duration::from_secs(600));
    assert_eq!(network.failure(0, circuit), None);
    network.run_for(Duration::from_secs(3 * 3600));
    let gone = Failure::Closed(Reason::Unreachable);
    assert_eq!(network.failure(0, circuit), Some(gone));
    assert!(network.heard(0, near).reset);
    for node in 0..4 {
        assert_eq!(network.engine(node).counters().circuits, 0, "node {node}");
    }
}
