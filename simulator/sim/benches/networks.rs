//! How long a network like Tor's takes: two continents, 85 relays of very different bandwidths,
//! 375 circuits of three relays, one core.
//!
//! `cargo bench -p hopflow-sim --bench networks [-- TRANSPORT [RUNS]]` prints, for each transport,
//! cells forwarded per second and hop, and the seconds of a run: medians over several runs of the
//! same simulation, with the fastest and slowest.

mod common;

use std::sync::Arc;

use hopflow_random::{CdfTable, Stream, Streams};
use hopflow_sim::spec::{
    AccessSpec, Backbone, BackboneLink, BucketSpec, CircuitSpec, Class, NodeSpec, QueueSpec,
    Sampling, Workload, WorldSpec,
};
use hopflow_units::{Bytes, Duration, NodeId, Rate};

use common::{Order, Timings};

const RELAYS: u32 = 85;
const CIRCUITS: u32 = 375;
const RUNS: usize = 3;
const SIMULATED: Duration = Duration::from_secs(90);

/// Bytes per second and the share of relays that have at most this much: about the quartiles of
/// the relays of `docs/paths.md`, and a long tail.
const BANDWIDTH: [(f64, f64); 6] = [
    (102_400.0, 0.0),
    (310_000.0, 0.25),
    (1_050_000.0, 0.5),
    (4_450_000.0, 0.75),
    (9_000_000.0, 0.9),
    (22_000_000.0, 1.0),
];

/// Quartiles of round-trip times in ms: in North America and in Europe, as the BackTap paper has
/// them from iPlane (NSDI '16, section 4).
const WITHIN: [[f64; 5]; 2] = [
    [11.0, 29.0, 45.0, 73.0, 148.0],
    [14.0, 27.0, 37.0, 48.0, 65.0],
];

/// The median round-trip time between the two is 132 ms (the same paper); the access links have
/// 47 ms of it on average.
const BETWEEN_ONE_WAY: Duration = Duration::from_millis(42);

const IN_EUROPE: f64 = 0.68;

const QUEUE: QueueSpec = QueueSpec::DropTail { packets: 100 };

fn table(points: impl IntoIterator<Item = (f64, f64)>) -> CdfTable {
    CdfTable::new(points.into_iter().collect()).expect("the tables are distributions")
}

/// A relay on the continent of this number.
fn relay(index: u32, continent: usize, random: &mut Stream) -> NodeSpec {
    let quartiles = WITHIN[continent]
        .into_iter()
        .zip([0.0, 0.25, 0.5, 0.75, 1.0]);
    // Two nodes of a continent have two access links, each passed twice in a round trip.
    let delay = random.value(&table(quartiles)) / 4.0;
    let bandwidth = random.value(&table(BANDWIDTH)) as u64;
    NodeSpec {
        name: format!("relay {index}"),
        access: AccessSpec::new(
            Rate::from_megabits_per_sec(10_000),
            Duration::from_nanos((delay * 1e6) as u64),
            QUEUE,
        ),
        bucket: Some(BucketSpec {
            rate: Rate::from_bytes_per_sec(bandwidth).expect("the table has no zero"),
            depth: None,
            interval: None,
            reading: false,
        }),
    }
}

/// Three relays, each drawn in proportion to its bandwidth among those that are left.
fn path(relays: &[NodeSpec], random: &mut Stream) -> Vec<NodeId> {
    let bandwidth = |relay: &NodeSpec| relay.bucket.map_or(0, |b| b.rate.bytes_per_sec());
    let total: u64 = relays.iter().map(bandwidth).sum();
    let mut path = Vec::new();
    while path.len() < 3 {
        let mut left = random.integer(0, total - 1);
        let passes = |relay: &NodeSpec| {
            let below = left < bandwidth(relay);
            left = left.saturating_sub(bandwidth(relay));
            below
        };
        let drawn = relays.iter().position(passes).expect("below the total");
        let drawn = NodeId::new(drawn as u32);
        if !path.contains(&drawn) {
            path.push(drawn);
        }
    }
    path
}

/// Every tenth user downloads without pause, the others fetch pages.
fn circuit(index: u32, relays: &[NodeSpec], random: &mut Stream) -> CircuitSpec {
    let (class, kibibytes, think) = match index % 10 {
        0 => (Class::Bulk, 5 << 10, [0, 0]),
        _ => (Class::Web, 320, [1, 20]),
    };
    CircuitSpec {
        path: path(relays, random),
        legs: Vec::new(),
        class,
        workload: Arc::new(Workload {
            response: Some(Bytes::new(kibibytes << 10)),
            think: (Duration::from_secs(think[0]), Duration::from_secs(think[1])),
            server_delay: Duration::from_millis(20),
            server_delay_max: Duration::from_millis(200),
        }),
        start: random.uniform(Duration::ZERO, Duration::from_secs(10)),
        leave: None,
        rebuilt: Vec::new(),
    }
}

fn network() -> WorldSpec {
    let mut random = Streams::new(1).stream("bench", 0);
    let continents: Vec<_> = (0..RELAYS)
        .map(|_| usize::from(random.bernoulli(IN_EUROPE)))
        .collect();
    let nodes: Vec<_> = (0..RELAYS)
        .zip(&continents)
        .map(|(index, continent)| relay(index, *continent, &mut random))
        .collect();
    let circuits = (0..CIRCUITS).map(|index| circuit(index, &nodes, &mut random));
    WorldSpec {
        circuits: circuits.collect(),
        backbone: Backbone {
            router_of: continents.iter().map(|router| *router as u32).collect(),
            links: vec![BackboneLink {
                between: [0, 1],
                rate: None,
                delay: BETWEEN_ONE_WAY,
                queue: QUEUE,
            }],
        },
        cross: Vec::new(),
        faults: Vec::new(),
        nodes,
        end: SIMULATED,
        seed: 1,
        sampling: Sampling::default(),
        tcp: hopflow_tcp::Config::default(),
        tls: false,
    }
}

fn main() {
    let Order { transports, runs } = Order::read(RUNS);
    println!("{RELAYS} relays, {CIRCUITS} circuits, {SIMULATED} simulated, {runs} runs\n");
    println!("transport  million cell-hops/s      seconds of a run         cell-hops");
    let spec = network();
    for (preset, factory) in transports {
        let timings = Timings::of(runs, &spec, &*factory);
        let cell_hops = timings.counters.cell_hops;
        println!(
            "{preset:<10} {}      {}      {cell_hops}",
            timings.millions_per_second(cell_hops),
            timings.spread(|seconds| seconds),
        );
    }
}
