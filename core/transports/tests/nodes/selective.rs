//! Selective acknowledgements: hops repair several losses in a round trip.

use hopflow_sim::Simulated;
use hopflow_sim::spec::WorldSpec;
use hopflow_units::{Bytes, Duration};
use toml::Table;

use crate::world::{circuit, node, run, world};

/// A download of 4 MB over two relays, where each access link loses some packets.
fn lossy(loss: f64) -> WorldSpec {
    let mut nodes: Vec<_> = (0..4).map(node).collect();
    for node in &mut nodes {
        node.access.loss = loss;
    }
    let response = Some(Bytes::new(4_000_000));
    let circuits = vec![circuit(&[0, 1, 2, 3], response)];
    world(nodes, circuits, Duration::from_secs(300))
}

#[test]
fn losses_cost_less_time_where_acknowledgements_are_selective() {
    for preset in ["backtap", "marut", "joint-rr"] {
        let [with, without] = [true, false].map(|selective| {
            let options: Table = format!("selective-acknowledgements = {selective}")
                .parse()
                .unwrap();
            let factory = hopflow_transports::build::<Simulated>(preset, &options).unwrap();
            let outcome = run(&lossy(0.01), &*factory);
            let download = outcome.downloads.first().expect("it is complete");
            download.ttlb.as_secs_f64()
        });
        assert!(
            with < 0.7 * without,
            "{preset}: {with} s with, {without} s without"
        );
    }
}
