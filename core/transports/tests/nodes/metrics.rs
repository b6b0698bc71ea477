//! What layers measure of flows is recorded, and is what it is said to be.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_sim::spec::{NodeSpec, WorldSpec};
use hopflow_sim::{MetricSample, Outcome};
use hopflow_units::{Duration, Instant, Rate};

use crate::world::{circuit, node, preset, run, world};

/// One-way delays of the nodes' access links, from the client to the exit.
const DELAYS: [u64; 4] = [5, 10, 20, 40];
const RATE: Rate = Rate::from_megabits_per_sec(100);
const INTERVAL: Duration = Duration::from_millis(100);

/// A chain of nodes: what goes over a hop passes the access links of both of its ends.
fn chain() -> WorldSpec {
    let of = |(number, &delay): (usize, &u64)| {
        let mut node: NodeSpec = node(number);
        node.access.rate = RATE;
        node.access.delay = Duration::from_millis(delay);
        node
    };
    let nodes = DELAYS.iter().enumerate().map(of).collect();
    let circuits = vec![circuit(&[0, 1, 2, 3], None)];
    let mut spec = world(nodes, circuits, Duration::from_secs(10));
    spec.sampling.hops = Some(INTERVAL);
    spec
}

fn simulate(spec: &WorldSpec, name: &str) -> Outcome {
    run(spec, preset(name).as_ref())
}

/// The ways to the successor and back, in seconds, by hops from the exit.
fn ways() -> [f64; 3] {
    let delay = |node: usize| DELAYS[node] as f64 / 1e3;
    [3, 2, 1].map(|sender| 2.0 * (delay(sender) + delay(sender - 1)))
}

/// Values of a metric by hop and time.
fn values(outcome: &Outcome, name: &str) -> BTreeMap<(u32, Instant), f64> {
    let samples = outcome.metrics.iter();
    let named = samples.filter(|it| it.measured.metric.name == name);
    let value = |it: &MetricSample| ((it.hop, it.at), it.measured.value);
    named.map(value).collect()
}

fn names(outcome: &Outcome) -> BTreeSet<(&'static str, &'static str)> {
    let metrics = outcome.metrics.iter().map(|it| it.measured.metric);
    metrics.map(|metric| (metric.name, metric.unit)).collect()
}

#[test]
fn backtaps_base_round_trip_is_twice_the_way_and_the_serialization() {
    let outcome = simulate(&chain(), "backtap");
    let expected = [
        ("base_round_trip", "seconds"),
        ("round_trip", "seconds"),
        ("waiting", "cells"),
    ];
    assert_eq!(names(&outcome), expected.into());
    let base = values(&outcome, "base_round_trip");
    let hops: BTreeSet<u32> = base.keys().map(|(hop, _)| *hop).collect();
    assert_eq!(hops, [0, 1, 2].into(), "all that send");
    // A packet is sent on the access links of both ends, and so is the feedback. What carries data
    // holds a cell of 512 bytes or more, and no packet has more than 1500 bytes. Feedback waits up to
    // a millisecond for company.
    let serialized = |bytes: f64| 2.0 * bytes / RATE.as_f64();
    let least = serialized(512.0);
    let most = serialized(1500.0 + 1500.0) + 0.001;
    for ((hop, at), base) in &base {
        let beyond = base - ways()[*hop as usize];
        assert!(
            (least..most).contains(&beyond),
            "hop {hop} at {at}: {base} s"
        );
    }
    // What was not measured has no row: the first sample is taken before any cell is under way.
    assert!(base.keys().all(|(_, at)| *at > Instant::ZERO));
    let sampled = outcome.hops.iter().filter(|it| it.at > Instant::ZERO);
    assert!(base.len() > sampled.count() * 9 / 10, "{}", base.len());
}

/// Equation 1: of `load` cells, as many wait as their round trip is longer than the base one.
#[test]
fn backtaps_waiting_cells_follow_from_its_round_trips() {
    let outcome = simulate(&chain(), "backtap");
    let [base, actual, waiting] =
        ["base_round_trip", "round_trip", "waiting"].map(|name| values(&outcome, name));
    assert_eq!((base.len(), waiting.len()), (actual.len(), actual.len()));
    let largest = outcome.hops.iter().filter_map(|it| it.window).max();
    let largest = largest.expect("hops have windows").get() as f64;
    let mut longer = 0;
    for (place, base) in &base {
        let (actual, waiting) = (actual[place], waiting[place]);
        if actual <= *base {
            assert!(waiting.abs() < 1e-9, "{place:?}: {waiting}");
            continue;
        }
        longer += 1;
        let load = waiting / (actual / base - 1.0);
        assert!(
            (load - load.round()).abs() < 1e-3 * load,
            "{place:?}: {load}"
        );
        // The window may shrink between the round trip and the sample.
        assert!(load >= 1.0 && load <= largest, "{place:?}: {load}");
    }
    assert!(longer > 0, "cells wait at times");
}

#[test]
fn vegas_measures_the_circuit_at_its_source() {
    let outcome = simulate(&chain(), "tor-vegas");
    let expected = [
        ("bandwidth_delay_product", "cells"),
        ("queue_use", "cells"),
        ("smoothed_round_trip", "seconds"),
    ];
    assert_eq!(names(&outcome), expected.into());
    assert!(outcome.metrics.iter().all(|it| it.hop == 0));
    let way: f64 = ways().iter().sum();
    for (place, rtt) in values(&outcome, "smoothed_round_trip") {
        assert!((way..3.0 * way).contains(&rtt), "{place:?}: {rtt}");
    }
    for (place, cells) in values(&outcome, "bandwidth_delay_product") {
        assert!(
            cells > 0.0,
            "{place:?}: nothing is sampled before it is known"
        );
    }
}

/// Nothing piles up on the way, so each hop plans what the circuit carries, and no more than the
/// slowest link does.
#[test]
fn predictors_planned_rate_is_what_the_circuit_carries() {
    let mut spec = chain();
    let bottleneck = Rate::from_megabits_per_sec(1);
    spec.nodes[1].access.rate = bottleneck;
    spec.sampling.circuits = Some(INTERVAL);
    let outcome = simulate(&spec, "predictor");
    let expected = ["granted_rate", "planned_rate"];
    let found = names(&outcome);
    assert_eq!(
        found,
        expected.map(|name| (name, "bytes_per_second")).into()
    );
    let half = Instant::ZERO + Duration::from_secs(5);
    let mut late = outcome.samples.iter().filter(|it| it.at >= half);
    let (first, last) = (late.next().unwrap(), late.next_back().unwrap());
    let span = last.at.saturating_since(first.at).as_secs_f64();
    let carried = (last.delivered - first.delivered).as_f64() / span;
    assert!(carried < bottleneck.as_f64(), "{carried}");
    let planned = values(&outcome, "planned_rate");
    for hop in 0..3 {
        let late = planned
            .iter()
            .filter(|((of, at), _)| *of == hop && *at >= half);
        let values: Vec<f64> = late.map(|(_, value)| *value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!(
            (mean / carried - 1.0).abs() < 0.03,
            "hop {hop}: {mean} B/s planned, {carried} B/s carried"
        );
    }
}

#[test]
fn layers_without_metrics_have_no_rows_and_none_are_taken_unless_hops_are_sampled() {
    assert!(simulate(&chain(), "vanilla").metrics.is_empty());
    let mut spec = chain();
    spec.sampling.hops = None;
    assert!(simulate(&spec, "backtap").metrics.is_empty());
}
