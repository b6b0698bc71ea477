//! Random worlds: whatever the paths, every download completes and nobody exceeds a bound. That
//! bytes arrive once and in order is asserted by the simulator itself.

use hopflow_overlay::Factory;
use hopflow_random::Streams;
use hopflow_sim::Simulated;
use hopflow_sim::spec::{BucketSpec, CircuitSpec, NodeSpec, QueueSpec, Sampling, WorldSpec};
use hopflow_units::{Bytes, Duration, Rate};
use proptest::prelude::*;

use crate::world::{circuit, node, preset, run, world};

/// Longest time that a download may take. A time-out of TCP or of a hop doubles up to two minutes.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

fn queues() -> impl Strategy<Value = QueueSpec> {
    let packets = 20_u32..1000;
    prop_oneof![
        3 => packets.clone().prop_map(|packets| QueueSpec::DropTail { packets }),
        1 => packets.prop_map(|packets| QueueSpec::CoDel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            packets,
        }),
    ]
}

fn buckets() -> impl Strategy<Value = Option<BucketSpec>> {
    proptest::option::of((20_u64..3000, 1_u64..200, any::<bool>()).prop_map(
        |(rate, interval, reading)| BucketSpec {
            rate: Rate::from_kilobytes_per_sec(rate),
            depth: None,
            interval: Some(Duration::from_millis(interval)),
            reading,
        },
    ))
}

/// A node whose access link harms packets, but does not lose so many that TCP starves.
fn nodes() -> impl Strategy<Value = NodeSpec> {
    let harm = prop_oneof![2 => Just((0.0, 0.0)), 1 => (0.0..0.08, 0.0..0.1)];
    let times = (0_u64..60, prop_oneof![Just(0), 0_u64..20], any::<bool>());
    (1_u64..100, times, harm, queues(), buckets()).prop_map(
        |(rate, (delay, jitter, reorder), (loss, duplicate), queue, bucket)| {
            let mut node = node(0);
            node.access.rate = Rate::from_megabits_per_sec(rate);
            node.access.delay = Duration::from_millis(delay);
            node.access.jitter = Duration::from_millis(jitter);
            node.access.reorder = reorder;
            node.access.loss = loss;
            node.access.duplicate = duplicate;
            node.access.queue = queue;
            node.bucket = bucket;
            node
        },
    )
}

/// A circuit over two to five of `count` nodes, none twice in a row.
fn circuits(count: u32) -> impl Strategy<Value = CircuitSpec> {
    let steps = prop::collection::vec(1..count, 1..5);
    (0..count, steps, 1_u64..150_000, 0_u64..2000).prop_map(move |(first, steps, size, start)| {
        let mut path = vec![first];
        for step in steps {
            path.push((path[path.len() - 1] + step) % count);
        }
        let mut circuit = circuit(&path, Some(Bytes::new(size)));
        circuit.start = Duration::from_millis(start);
        circuit
    })
}

fn worlds() -> impl Strategy<Value = WorldSpec> {
    prop::collection::vec(nodes(), 2..9)
        .prop_flat_map(|nodes| {
            let circuits = prop::collection::vec(circuits(nodes.len() as u32), 1..7);
            (Just(nodes), circuits, any::<(u64, bool)>())
        })
        .prop_map(|(nodes, circuits, (seed, tls))| {
            let mut spec = world(nodes, circuits, PATIENCE);
            (spec.seed, spec.tls) = (seed, tls);
            spec.sampling = Sampling {
                hops: Some(Duration::from_secs(10)),
                from: Duration::ZERO,
                circuits: None,
            };
            spec
        })
}

/// Runs a world and checks what must hold.
fn check(spec: &WorldSpec, factory: &dyn Factory<Simulated>) {
    let limit = factory.plan().link.queue_limit;
    let outcome = run(spec, factory);
    let name = factory.name();
    for (number, (circuit, spec)) in outcome.circuits.iter().zip(&spec.circuits).enumerate() {
        assert!(!circuit.closed, "{name}: circuit {number} was closed");
        let fetch = spec
            .workload
            .session()
            .next(&mut Streams::new(0).stream("", 0));
        let size = fetch
            .and_then(|fetch| fetch.response)
            .expect("downloads are finite");
        assert_eq!(
            (circuit.delivered, circuit.packaged),
            (size, size),
            "{name}: circuit {number} hangs"
        );
    }
    assert_eq!(outcome.downloads.len(), spec.circuits.len());
    for node in &outcome.nodes {
        assert!(node.largest_queue <= limit, "{name}: {node:?}");
        assert_eq!(node.cells_dropped.get(), 0, "{name}: honest cells dropped");
    }
    for hop in &outcome.hops {
        assert!(hop.queue <= limit, "{name}: {hop:?}");
        assert!(
            !factory.plan().hop.feedback.forwarded || hop.outstanding <= limit,
            "{name}: {hop:?}"
        );
    }
}

fn check_all(spec: &WorldSpec) {
    for transport in hopflow_transports::presets() {
        check(spec, preset(transport.name).as_ref());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_download_completes_in_any_world(spec in worlds()) {
        check_all(&spec);
    }
}

/// Packets cross two access links each way, so that three of ten get lost.
#[test]
fn downloads_complete_though_three_packets_of_ten_are_lost() {
    for seed in 0..3 {
        let nodes = (0..4).map(|number| {
            let mut node = node(number);
            node.access.loss = 0.16;
            node.access.duplicate = 0.05;
            node.access.jitter = Duration::from_millis(20);
            node.access.reorder = true;
            node
        });
        let circuits = vec![circuit(&[0, 1, 2, 3], Some(Bytes::new(10_000)))];
        let mut spec = world(nodes.collect(), circuits, PATIENCE);
        spec.seed = seed;
        check_all(&spec);
    }
}
