//! What happens while something is wrong at a relay, and after it.

use std::ops::ControlFlow;

use hopflow_sim::spec::{BucketSpec, Fault, FaultKind, Rebuilt, Workload, WorldSpec};
use hopflow_sim::{FailCause, NewCircuit, Outcome, World};
use hopflow_units::{Bytes, Duration, Instant, NodeId, Rate};

use crate::world::{circuit, node, preset, run, world};

/// The share of application bytes in what a token bucket charges: with cells vanilla pays for the
/// `SENDME`s of the other direction.
const SHARES: [(&str, f64); 2] = [("backtap", 0.961), ("vanilla", 0.944)];

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A fault of the middle relay.
fn fault(from: u64, until: u64, kind: FaultKind) -> Fault {
    Fault {
        node: NodeId::new(2),
        from: secs(from),
        until: Some(secs(until)),
        kind,
    }
}

/// A download without end over three relays, the middle of which has a bucket of 1 MB/s.
fn download(faults: Vec<Fault>, end: u64) -> WorldSpec {
    let mut nodes: Vec<_> = (0..4).map(node).collect();
    nodes[2].bucket = Some(BucketSpec {
        rate: Rate::from_kilobytes_per_sec(1000),
        depth: Some(Bytes::new(20_000)),
        interval: Some(Duration::from_millis(10)),
        reading: false,
    });
    let mut spec = world(nodes, vec![circuit(&[0, 1, 2, 3], None)], secs(end));
    spec.sampling.circuits = Some(Duration::from_millis(100));
    spec.faults = faults;
    spec
}

/// What was delivered by a time.
fn delivered(outcome: &Outcome, at: Duration) -> f64 {
    let at = Instant::ZERO + at;
    let sample = outcome.samples.iter().find(|sample| sample.at == at);
    sample.expect("it is a time of a sample").delivered.as_f64()
}

/// Bytes per second that were delivered between two times.
fn goodput(outcome: &Outcome, [from, to]: [u64; 2]) -> f64 {
    (delivered(outcome, secs(to)) - delivered(outcome, secs(from))) / (to - from) as f64
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let error = (found / expected - 1.0).abs();
    assert!(error < tolerance, "{found}, where {expected} is expected");
}

#[test]
fn a_bucket_limits_by_the_rate_that_it_has_at_the_time() {
    let slower = FaultKind::Bucket(Rate::from_kilobytes_per_sec(250));
    for (name, share) in SHARES {
        for reading in [false, true] {
            let mut spec = download(vec![fault(20, 40, slower)], 60);
            spec.nodes[2].bucket.as_mut().unwrap().reading = reading;
            let outcome = run(&spec, &*preset(name));
            assert_near(goodput(&outcome, [5, 20]), 1e6 * share, 0.02);
            assert_near(goodput(&outcome, [25, 40]), 0.25e6 * share, 0.02);
            assert_near(goodput(&outcome, [45, 60]), 1e6 * share, 0.02);
        }
    }
}

#[test]
fn an_access_link_limits_by_the_rate_that_it_has_at_the_time() {
    let slower = FaultKind::Rate(Rate::from_kilobytes_per_sec(250));
    for (name, _) in SHARES {
        let outcome = run(&download(vec![fault(20, 40, slower)], 60), &*preset(name));
        let before = goodput(&outcome, [10, 20]);
        // Cells share the link with headers and with feedback of the other direction.
        let meanwhile = goodput(&outcome, [25, 40]);
        assert!((0.75 * 0.25e6..0.25e6).contains(&meanwhile), "{meanwhile}");
        assert_near(goodput(&outcome, [50, 60]), before, 0.02);
    }
}

#[test]
fn nothing_passes_a_relay_while_its_access_link_is_out() {
    for name in ["backtap", "vanilla", "tor-vegas", "pctcp", "n23", "udp-or"] {
        let spec = download(vec![fault(10, 12, FaultKind::Outage)], 40);
        let outcome = run(&spec, &*preset(name));
        // What has left the relay before arrives.
        let cut = Duration::from_millis(10_200);
        let lost = delivered(&outcome, secs(12)) - delivered(&outcome, cut);
        assert_eq!(lost, 0.0, "{name}");
        assert!(delivered(&outcome, cut) > 0.0, "{name}");
        assert!(!outcome.circuits[0].closed, "{name}");
        let before = goodput(&outcome, [5, 10]);
        let after = goodput(&outcome, [30, 40]);
        assert!(after > 0.95 * before, "{name}: {before}, then {after}");
    }
}

/// Downloads of one cell, one every second.
fn pings(faults: Vec<Fault>) -> Outcome {
    let mut spec = download(faults, 20);
    spec.circuits[0].workload = std::sync::Arc::new(Workload {
        response: Some(Bytes::new(400)),
        think: (secs(1), secs(1)),
        server_delay: Duration::ZERO,
        server_delay_max: Duration::ZERO,
    });
    run(&spec, &*preset("backtap"))
}

#[test]
fn packets_take_the_delay_that_the_access_link_has_at_the_time() {
    for millis in [1, 150] {
        let other = FaultKind::Delay(Duration::from_millis(millis));
        let outcome = pings(vec![fault(8, 15, other)]);
        let usual = pings(Vec::new()).downloads[3].ttlb;
        // Request and response each come in and go out over the link, which usually takes 10 ms.
        let expected = usual + Duration::from_millis(4 * millis) - Duration::from_millis(4 * 10);
        let mut seen = [0; 2];
        for download in &outcome.downloads {
            let begin = download.requested.saturating_since(Instant::ZERO);
            let changed = begin > secs(8) && begin + download.ttlb < secs(15);
            let unchanged = begin > secs(15) || begin + download.ttlb < secs(8);
            if changed || unchanged {
                let expected = if changed { expected } else { usual };
                assert_eq!(download.ttlb, expected, "requested at {begin}");
                seen[usize::from(changed)] += 1;
            }
        }
        assert!(seen[0] > 5 && seen[1] > 3, "{seen:?}");
    }
}

/// Two downloads over relays 2 and 3; the first comes over relay 1, which stops, the other over relay
/// 4.
fn two_downloads(detected: Duration, until: Option<Duration>) -> WorldSpec {
    let mut nodes: Vec<_> = (0..6).map(node).collect();
    for node in &mut nodes {
        node.access.rate = Rate::from_megabits_per_sec(4);
    }
    let circuits = vec![circuit(&[0, 1, 2, 3], None), circuit(&[5, 4, 2, 3], None)];
    let mut spec = world(nodes, circuits, secs(15));
    spec.sampling.circuits = Some(Duration::from_millis(100));
    spec.faults = vec![Fault {
        node: NodeId::new(1),
        from: secs(5),
        until,
        kind: FaultKind::Stop { detected },
    }];
    spec
}

#[test]
fn a_relay_that_stops_closes_its_circuits_and_its_neighbours_notice() {
    let delays = Duration::from_millis(20);
    for name in [
        "backtap",
        "vanilla",
        "tor-vegas",
        "pctcp",
        "marut",
        "udp-or",
    ] {
        for (until, noticed) in [(None, 3), (Some(secs(7)), 2)] {
            let outcome = run(&two_downloads(secs(3), until), &*preset(name));
            let [failure] = &outcome.failures[..] else {
                panic!("{name}: {:?}", outcome.failures);
            };
            assert_eq!((failure.circuit, failure.cause), (0, FailCause::Closed));
            assert_eq!(failure.received, outcome.circuits[0].delivered);
            // The client is a neighbour of the relay: it notices by itself, unless its transport gave
            // up before.
            let failed = failure.failed.saturating_since(Instant::ZERO);
            assert!(failed <= secs(5 + noticed), "{name}: {failed}");
            if name == "vanilla" {
                assert_eq!(failed, secs(5 + noticed));
            }
            assert!(outcome.circuits[0].closed && !outcome.circuits[1].closed);
            let alone = |at: u64| {
                let at = Instant::ZERO + secs(at) + delays;
                let sample = |s: &&hopflow_sim::Sample| s.circuit == 0 && s.at <= at;
                let sample = outcome.samples.iter().rev().find(sample);
                sample.expect("there is one").delivered
            };
            assert_eq!(alone(6), alone(14), "{name}");
            let other = |at: u64| {
                let at = Instant::ZERO + secs(at);
                let sample = |s: &&hopflow_sim::Sample| s.circuit == 1 && s.at == at;
                outcome.samples.iter().find(sample).unwrap().delivered
            };
            assert!(other(14) > other(9), "{name}: the other one goes on");
        }
    }
}

#[test]
fn what_is_under_way_when_a_user_leaves_is_broken_off() {
    for name in ["backtap", "vanilla"] {
        let mut spec = two_downloads(secs(1), None);
        spec.faults.clear();
        spec.circuits[0].leave = Some(secs(5));
        let outcome = run(&spec, &*preset(name));
        let [failure] = &outcome.failures[..] else {
            panic!("{name}: {:?}", outcome.failures);
        };
        assert_eq!((failure.circuit, failure.cause), (0, FailCause::Left));
        assert_eq!(failure.failed, Instant::ZERO + secs(5));
        assert!(outcome.circuits[0].closed && !outcome.circuits[1].closed);
        // The exit hears of it and sends nothing more.
        let late = outcome
            .samples
            .iter()
            .filter(|s| s.circuit == 0 && s.at > failure.failed);
        assert!(late.into_iter().all(|s| s.delivered == failure.received));
    }
}

#[test]
fn a_user_whose_circuit_is_closed_goes_on_over_the_next_one() {
    for name in [
        "backtap",
        "vanilla",
        "pctcp",
        "n23",
        "marut",
        "predictor",
        "udp-or",
    ] {
        let mut spec = two_downloads(Duration::from_millis(500), Some(secs(8)));
        // Pages: one is under way when the relay stops.
        spec.circuits[0].workload = std::sync::Arc::new(Workload {
            response: Some(Bytes::new(100_000)),
            think: (Duration::ZERO, Duration::ZERO),
            server_delay: Duration::ZERO,
            server_delay_max: Duration::ZERO,
        });
        let again = |path: [u32; 4], from: u64| Rebuilt {
            path: path.map(NodeId::new).to_vec(),
            legs: Vec::new(),
            after: secs(1),
            from: Duration::from_millis(from),
        };
        // Another exit; then the first one, when it is back.
        spec.circuits[0].rebuilt = vec![again([0, 4, 3, 2], 6500), again([0, 1, 2, 3], 11_500)];
        spec.faults.push(Fault {
            node: NodeId::new(4),
            from: secs(10),
            until: None,
            kind: FaultKind::Stop {
                detected: Duration::from_millis(500),
            },
        });
        spec.sampling.hops = Some(Duration::from_millis(100));
        let mut world = World::new(&spec, &*preset(name)).unwrap();
        world.record_latency();
        assert!(world.run(&mut |_| ControlFlow::Continue(())));
        let outcome = world.into_outcome();
        let ready = |rebuilt: &&NewCircuit| rebuilt.circuit == 0;
        let rebuilt: Vec<_> = outcome.rebuilt.iter().filter(ready).collect();
        assert_eq!(rebuilt.len(), 2, "{name}");
        for (rebuilt, at) in rebuilt.iter().zip([6500, 11_500]) {
            let at = Instant::ZERO + Duration::from_millis(at);
            // The client is a neighbour of the relay, unless its transport gave up before.
            assert_eq!(rebuilt.ready, at, "{name}");
            assert!(rebuilt.closed + secs(1) <= at, "{name}");
            let mut after = outcome.downloads.iter().filter(|it| it.circuit == 0);
            assert!(after.any(|it| it.requested == at), "{name} asks again");
        }
        let failed = outcome.failures.iter().filter(|it| it.circuit == 0);
        assert_eq!(failed.count(), 2, "{name}");
        let downloads = outcome.downloads.iter().filter(|it| it.circuit == 0);
        let (mut indices, mut bytes) = (Vec::new(), Bytes::ZERO);
        for download in downloads {
            indices.push(download.index);
            bytes += download.size;
        }
        assert_eq!(indices, (0..indices.len() as u32).collect::<Vec<_>>());
        let circuit = &outcome.circuits[0];
        assert!(circuit.delivered > bytes && circuit.packaged >= circuit.delivered);
        let cells = circuit.delivered_cells.get();
        assert_eq!(outcome.latencies[0].sent.count(), cells, "{name}");
    }
}
