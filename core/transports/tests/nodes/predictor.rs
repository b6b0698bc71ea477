//! PredicTor's nodes together: nobody starves, whatever is lost or late.

use std::sync::Arc;

use hopflow_overlay::Factory;
use hopflow_random::Streams;
use hopflow_sim::spec::{CircuitSpec, NodeSpec, Workload, WorldSpec};
use hopflow_sim::{MetricSample, Simulated};
use hopflow_units::{Bytes, Duration, Instant, Rate};
use hopflow_wire::CELL_DATA;
use toml::Table;

use crate::world::{circuit, node, preset, run, world};

const PRESETS: [&str; 2] = ["predictor", "predictor-as-published"];
/// Networks that are sampled.
const NETWORKS: u64 = 20;

/// A node whose access link is as in the paper's example: 20 ms, and so many Mbit/s.
fn relay(number: usize, megabits: u64) -> NodeSpec {
    let mut node = node(number);
    node.access.rate = Rate::from_megabits_per_sec(megabits);
    node.access.delay = Duration::from_millis(20);
    node
}

fn endless(paths: &[&[u32]]) -> Vec<CircuitSpec> {
    paths.iter().map(|path| circuit(path, None)).collect()
}

/// Bytes that each circuit gets in the last half of the time.
fn shares(spec: &WorldSpec, factory: &dyn Factory<Simulated>) -> Vec<f64> {
    let mut spec = spec.clone();
    let half = Duration::from_secs_f64(spec.end.as_secs_f64() / 2.0);
    spec.sampling.from = half;
    spec.sampling.circuits = Some(half);
    let outcome = run(&spec, factory);
    let before = |number: usize| {
        let sample = outcome
            .samples
            .iter()
            .find(|it| it.circuit as usize == number);
        sample.expect("there is a sample").delivered
    };
    let circuits = outcome.circuits.iter().enumerate();
    circuits
        .map(|(number, circuit)| (circuit.delivered - before(number)).as_f64())
        .collect()
}

/// No circuit gets less than `least` of the mean.
fn assert_alive(spec: &WorldSpec, what: &str, least: f64) {
    for name in PRESETS {
        let shares = shares(spec, preset(name).as_ref());
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        for (number, share) in shares.iter().enumerate() {
            assert!(
                *share > least * mean,
                "{what}, {name}: circuit {number} gets {share} of {shares:?}"
            );
        }
    }
}

#[test]
fn a_parking_lot_has_room_for_all() {
    // Paths run from the client's end: one circuit over all relays, one over each pair's first.
    let nodes = (0..8).map(|number| relay(number, 4)).collect();
    let circuits = endless(&[&[0, 1, 2, 3], &[4, 1, 5], &[6, 2, 5], &[7, 3, 4]]);
    let spec = world(nodes, circuits, Duration::from_secs(16));
    assert_alive(&spec, "parking lot", 0.4);
}

#[test]
fn a_narrow_entry_is_shared() {
    let mut nodes: Vec<_> = (0..5).map(|number| relay(number, 10)).collect();
    nodes[0] = relay(0, 4);
    let circuits = endless(&[&[0, 1, 2], &[0, 3, 4]]);
    let spec = world(nodes, circuits, Duration::from_secs(10));
    assert_alive(&spec, "narrow entry", 0.9);
}

/// Ten relays of different rates and twelve circuits over three of them each.
fn sampled(seed: u64) -> WorldSpec {
    let mut stream = Streams::new(seed).stream("predictor", 0);
    let nodes = (0..10)
        .map(|number| relay(number, stream.integer(3, 9)))
        .collect();
    let circuits = (0..12).map(|_| {
        let mut path: Vec<u32> = Vec::new();
        while path.len() < 3 {
            let next = stream.integer(0, 9) as u32;
            if !path.contains(&next) {
                path.push(next);
            }
        }
        let mut spec = circuit(&path, None);
        spec.start = Duration::from_millis(stream.integer(0, 1000));
        spec
    });
    let circuits = circuits.collect();
    world(nodes, circuits, Duration::from_secs(12))
}

#[test]
fn nobody_starves_in_sampled_networks() {
    for seed in 0..NETWORKS {
        assert_alive(&sampled(seed), &format!("network {seed}"), 0.05);
    }
}

/// Without selective acknowledgements cells that are lost hold up circuits more than plans do.
#[test]
fn plans_that_are_lost_or_late_stop_nobody() {
    for (selective, least) in [(true, 20_000.0), (false, 0.0)] {
        bear_losses(selective, least);
    }
}

/// Each circuit gets more than `least` bytes where links lose, delay and reorder.
fn bear_losses(selective: bool, least: f64) {
    let options = format!("selective-acknowledgements = {selective}");
    let options: Table = options.parse().unwrap();
    let factory = hopflow_transports::build::<Simulated>("predictor", &options).unwrap();
    for seed in 0..NETWORKS / 4 {
        let mut spec = sampled(seed);
        for node in &mut spec.nodes {
            node.access.loss = 0.02;
            node.access.jitter = Duration::from_millis(60);
            node.access.reorder = true;
        }
        for (number, share) in shares(&spec, &*factory).iter().enumerate() {
            assert!(*share > least, "network {seed}: circuit {number}: {share}");
        }
    }
}

/// A circuit whose user fetches 60 KiB again and again, `think` after the last byte.
fn exchanges(think: Duration) -> WorldSpec {
    fetches(Bytes::new(60 * 1024), think)
}

/// A circuit whose user fetches so much again and again.
fn fetches(response: Bytes, think: Duration) -> WorldSpec {
    let nodes = (0..4).map(|number| relay(number, 10)).collect();
    let mut spec = circuit(&[0, 1, 2, 3], None);
    spec.workload = Arc::new(Workload {
        response: Some(response),
        think: (think, think),
        server_delay: Duration::ZERO,
        server_delay_max: Duration::ZERO,
    });
    world(nodes, vec![spec], Duration::from_secs(20))
}

/// The request and the first cells of an idle circuit go at once, at every hop.
#[test]
fn first_bytes_after_a_short_pause_are_as_fast_as_after_a_long_one() {
    let slowest = |think: Duration| {
        let outcome = run(&exchanges(think), preset("predictor").as_ref());
        let times = outcome.downloads.iter().skip(1).map(|it| it.ttfb);
        times.max().expect("there are some downloads").as_secs_f64()
    };
    let long = slowest(Duration::from_secs(2));
    for millis in [150, 250, 350] {
        let short = slowest(Duration::from_millis(millis));
        assert!(
            short < 1.2 * long,
            "after {millis} ms: {short} s, not {long}"
        );
    }
}

/// The rest of a response takes a whole cell, and is planned as one.
#[test]
fn a_response_that_does_not_fill_its_last_cell_is_no_slower() {
    let fastest = |cells: u64, more: u64| {
        let bytes = Bytes::new(cells * CELL_DATA as u64 + more);
        let spec = fetches(bytes, Duration::from_secs(2));
        let outcome = run(&spec, preset("predictor").as_ref());
        let times = outcome.downloads.iter().map(|it| it.ttlb);
        times.min().expect("there are some downloads").as_secs_f64()
    };
    for more in [1, 10, 60, 250] {
        let (rest, whole) = (fastest(120, more), fastest(121, 0));
        assert!(rest < 1.05 * whole, "{more} bytes: {rest} s, not {whole}");
    }
}

#[test]
fn an_idle_flow_has_no_planned_rate() {
    let mut spec = exchanges(Duration::from_secs(1000));
    spec.sampling.hops = Some(Duration::from_millis(100));
    let outcome = run(&spec, preset("predictor").as_ref());
    let half = Instant::ZERO + Duration::from_secs(10);
    let planned = outcome.metrics.iter();
    let planned = planned.filter(|it| it.measured.metric.name == "planned_rate");
    let (late, early): (Vec<&MetricSample>, Vec<_>) = planned.partition(|it| it.at > half);
    assert!(early.iter().any(|it| it.measured.value > 0.0));
    assert!(!late.is_empty());
    for sample in late {
        assert_eq!(sample.measured.value, 0.0, "hop {}", sample.hop);
    }
}

#[test]
fn a_step_that_is_too_short_is_refused() {
    let build = |step: &str| {
        let options: Table = format!("step = \"{step}\"").parse().unwrap();
        hopflow_transports::build::<Simulated>("predictor", &options)
    };
    for step in ["1 ns", "999 us"] {
        let error = build(step).unwrap_err().to_string();
        for part in ["step", step, "a time of 1 ms or more"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    assert!(build("1 ms").is_ok());
}
