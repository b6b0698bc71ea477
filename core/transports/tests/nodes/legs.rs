//! Users with several circuits, and users that upload.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use hopflow_overlay::Direction;
use hopflow_sim::spec::{CircuitSpec, Exchange, Sampling, Workload, WorldSpec};
use hopflow_sim::{Outcome, World};
use hopflow_units::{Bytes, Duration, NodeId};

use crate::world::{circuit, node, preset, world};

const SIZE: Bytes = Bytes::new(2_000_000);
const ANSWER: Bytes = Bytes::new(498);

/// One transfer of a size from or to node 3, over nodes 1 and 2.
fn transfer(measured: Direction) -> CircuitSpec {
    let forever = Duration::from_secs(1_000_000);
    let (request, response) = match measured {
        Direction::Forward => (SIZE, ANSWER),
        Direction::Backward => (ANSWER, SIZE),
    };
    CircuitSpec {
        legs: vec![[0, 2, 3].map(NodeId::new).to_vec()],
        workload: Arc::new(Exchange {
            workload: Workload {
                response: Some(response),
                think: (forever, forever),
                server_delay: Duration::ZERO,
                server_delay_max: Duration::ZERO,
            },
            request: Some(request),
            measured,
        }),
        ..circuit(&[0, 1, 3], None)
    }
}

fn transfer_world(measured: Direction) -> WorldSpec {
    let mut spec = world(
        (0..4).map(node).collect(),
        vec![transfer(measured)],
        Duration::from_secs(60),
    );
    spec.nodes[2].access.delay = Duration::from_millis(40);
    spec.sampling = Sampling {
        circuits: Some(Duration::from_millis(100)),
        hops: Some(Duration::from_millis(100)),
        from: Duration::ZERO,
    };
    spec
}

fn run(spec: &WorldSpec, name: &str) -> Outcome {
    let mut world = World::new(spec, preset(name).as_ref()).expect("the world makes sense");
    world.record_latency();
    world.run(&mut |_| ControlFlow::Continue(()));
    world.into_outcome()
}

#[test]
fn transfers_over_two_paths_complete_in_both_directions() {
    for transport in hopflow_transports::presets() {
        for measured in [Direction::Forward, Direction::Backward] {
            let outcome = run(&transfer_world(measured), transport.name);
            let what = format!("{} {measured:?}", transport.name);
            let circuit = &outcome.circuits[0];
            assert_eq!(
                (circuit.delivered, circuit.packaged, circuit.closed),
                (SIZE, SIZE, false),
                "{what}"
            );
            let [download] = outcome.downloads[..] else {
                panic!("{what}: {:?}", outcome.downloads);
            };
            assert_eq!(download.size, SIZE, "{what}");
            assert!(download.ttfb < download.ttlb, "{what}");
            let counted = outcome.latencies[0].sent.count();
            assert_eq!(counted, circuit.delivered_cells.get(), "{what}");
            let hops: BTreeSet<u32> = outcome.hops.iter().map(|hop| hop.hop).collect();
            assert_eq!(hops, (0..4).collect(), "{what}");
        }
    }
}

#[test]
fn both_paths_carry_a_stream_that_is_pinned_to_none() {
    let outcome = run(&transfer_world(Direction::Forward), "vanilla");
    for relay in [1, 2] {
        let sent = outcome.nodes[relay].cells_sent.get();
        assert!(sent > 500, "relay {relay} sent {sent} cells");
    }
}

#[test]
fn paths_of_a_user_that_lead_to_different_exits_are_refused() {
    let mut spec = transfer_world(Direction::Backward);
    spec.circuits[0].legs[0].pop();
    let error = spec.validate().expect_err("the second path ends elsewhere");
    assert!(error.0.contains("between different ends"), "{error}");
}
