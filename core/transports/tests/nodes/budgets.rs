//! Budgets nest: flow within link within node, and a transport chooses the scope in which flows
//! share.

use hopflow_sim::spec::BucketSpec;
use hopflow_units::{Bytes, Duration, Rate};

use crate::world::{circuit, node, preset, run, world};

/// Shares of ten downloads through node 0: the first leads to neighbour 1, nine lead to neighbour 2.
/// Each comes from a server's node of its own.
fn shares(transport: &str) -> Vec<f64> {
    let mut nodes: Vec<_> = (0..13).map(node).collect();
    nodes[0].bucket = Some(BucketSpec {
        rate: Rate::from_kilobytes_per_sec(1500),
        depth: Some(Bytes::new(150_000)),
        interval: None,
        reading: false,
    });
    let circuits = (0..10).map(|n| circuit(&[if n == 0 { 1 } else { 2 }, 0, 3 + n], None));
    let spec = world(nodes, circuits.collect(), Duration::from_secs(40));
    let outcome = run(&spec, preset(transport).as_ref());
    let delivered = outcome.circuits.iter().map(|c| c.delivered.as_f64());
    let delivered: Vec<_> = delivered.collect();
    let total: f64 = delivered.iter().sum();
    let used = total / (40.0 * 1_500_000.0);
    assert!((0.85..1.0).contains(&used), "{used} of the bucket is used");
    delivered.iter().map(|share| share / total).collect()
}

fn assert_near(shares: &[f64], expected: f64, tolerance: f64) {
    for share in shares {
        let error = (share / expected - 1.0).abs();
        assert!(
            error < tolerance,
            "{share}, where {expected} is due: {shares:?}"
        );
    }
}

#[test]
fn node_scope_gives_every_circuit_of_a_node_the_same() {
    let shares = shares("backtap");
    assert_near(&shares[..1], 0.1, 0.04);
    // Windows end a few cells apart, and with them the times when a queue is empty.
    assert_near(&shares[1..], 0.1, 0.12);
}

#[test]
fn link_scope_gives_every_link_of_a_node_the_same() {
    let shares = shares("vanilla");
    assert_near(&shares[..1], 1.0 / 2.0, 0.04);
    assert_near(&shares[1..], 1.0 / 18.0, 0.04);
}
