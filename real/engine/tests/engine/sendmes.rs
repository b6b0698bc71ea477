//! SENDMEs about circuits prove what they acknowledge (proposal 289), in both directions.

use hopflow_engine::Failure;
use hopflow_onion::OnionPayload;
use hopflow_overlay::{Factory, Violation};
use hopflow_units::{Cells, Duration};
use hopflow_wire::Reason;

use crate::hostile::Transfers;
use crate::network::Network;
use crate::support::{configured, pattern, real, transport};

/// The most proofs that any node keeps of one circuit and direction.
fn most_proofs(network: &Network) -> u64 {
    let nodes = 0..network.engines.len();
    let flows = nodes.flat_map(|node| network.engine(node).flows());
    let views = flows.flat_map(|(_, views)| views).flatten();
    views.map(|view| view.proofs.get()).max().unwrap_or(0)
}

fn violations(network: &Network) -> u64 {
    let nodes = 0..network.engines.len();
    nodes
        .map(|node| network.engine(node).counters().node.violations)
        .sum()
}

/// A download and an upload at once; returns the most proofs that were kept.
fn transfer(network: &mut Network, name: &str) -> u64 {
    let transfers = Transfers::start(network, &[1, 2, 3]);
    let mut most = 0;
    for _ in 0..30_000 {
        network.run_for(Duration::from_millis(10));
        most = most.max(most_proofs(network));
        if transfers.are_over(network) {
            break;
        }
    }
    transfers.check(network);
    assert_eq!(violations(network), 0, "{name}");
    most
}

#[test]
fn honest_downloads_and_uploads_prove_what_they_acknowledge() {
    let sendmes = |name| transport(name).plan().end.sendme_every;
    assert_eq!(sendmes("vanilla"), Some(Cells::new(100)));
    assert_eq!(sendmes("tor-vegas"), Some(Cells::new(31)));
    for name in real() {
        let most = transfer(&mut Network::new(&*transport(name), 3), name);
        println!("{name}: {:?}, {most} proofs", sendmes(name));
        match sendmes(name) {
            // As many as the window has lots.
            Some(_) => assert!((1..400).contains(&most), "{name}: {most} proofs"),
            None => assert_eq!(most, 0, "{name}"),
        }
    }
}

#[test]
fn proofs_of_cells_that_come_late_or_twice_are_taken_in_their_order() {
    for name in ["marut", "marut-timely", "marut-dctcp"] {
        assert!(transport(name).plan().end.sendme_every.is_some(), "{name}");
        let mut network = Network::new(&*transport(name), 3);
        network.weather.lost = 50;
        network.weather.late = 50;
        transfer(&mut network, name);
    }
}

#[test]
fn streams_that_are_broken_off_count_alike_at_both_ends() {
    for name in ["vanilla", "tor-vegas", "marut"] {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        for turn in 0..30_u8 {
            let (near, (exit, far)) = network.stream_pair(0, circuit);
            network.write(exit, far, pattern(100_000, turn), true);
            network.write(0, near, pattern(100_000, turn), true);
            network.run_for(Duration::from_millis(40 + 5 * u64::from(turn)));
            let (node, stream) = [(0, near), (exit, far)][usize::from(turn % 2)];
            network.close_stream(node, stream);
        }
        network.run_for(Duration::from_secs(30));
        let transfers = Transfers::on(&mut network, circuit);
        network.run_for(Duration::from_secs(60));
        transfers.check(&network);
        assert_eq!(violations(&network), 0, "{name}");
    }
}

/// A node that acknowledges cells before it has read as many as it must.
fn hasty(name: &str) -> Box<dyn Factory<OnionPayload>> {
    let option = match name {
        "vanilla" => "circuit-increment = 50",
        _ => "vegas-increment = 16",
    };
    configured(name, option)
}

#[test]
fn a_client_that_acknowledges_too_early_loses_its_circuit() {
    for name in ["vanilla", "tor-vegas"] {
        let mut network = Network::new(&*transport(name), 3);
        let client = network.add_client(&*hasty(name));
        let circuit = network.circuit_of(client, &[1, 2, 3]);
        let (near, (exit, far)) = network.stream_pair(client, circuit);
        network.write(exit, far, pattern(600_000, 3), true);
        network.run_for(Duration::from_secs(20));
        let failure = network.failure(client, circuit);
        assert_eq!(failure, Some(Failure::Closed(Reason::Protocol)), "{name}");
        let violation = network.engine_mut(exit).poll_violation();
        assert_eq!(violation, Some(Violation::Unproven), "{name}");
        let heard = network.heard(client, near);
        assert!(heard.reset && heard.bytes.len() < 600_000, "{name}");
    }
}

#[test]
fn a_client_closes_the_circuit_of_an_exit_that_acknowledges_too_early() {
    for name in ["vanilla", "tor-vegas"] {
        let mut network = Network::new(&*transport(name), 3);
        network.restart(3, &*hasty(name), |_| {});
        let circuit = network.circuit(&[1, 2, 3]);
        let (near, _) = network.stream_pair(0, circuit);
        network.write(0, near, pattern(600_000, 3), true);
        network.run_for(Duration::from_secs(20));
        let failure = network.failure(0, circuit);
        assert_eq!(failure, Some(Failure::Closed(Reason::Protocol)), "{name}");
        let violation = network.engine_mut(0).poll_violation();
        assert_eq!(violation, Some(Violation::Unproven), "{name}");
    }
}
