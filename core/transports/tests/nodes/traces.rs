//! What observers of a circuit are recorded to see.

use std::ops::ControlFlow;

use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{Outcome, TraceBin, Vantage, World};
use hopflow_units::{Bytes, Duration, Instant};

use crate::world::{circuit, node, preset, world};

const SIZE: Bytes = Bytes::new(200_000);
const BIN: Duration = Duration::from_millis(50);

/// Two clients of their own over the same relays; the second one's user is the first relay's own.
fn spec() -> WorldSpec {
    let nodes = (0..5).map(node).collect();
    let circuits = vec![
        circuit(&[0, 1, 2, 3], Some(SIZE)),
        circuit(&[4, 1, 2, 3], Some(SIZE)),
        circuit(&[1, 2, 3], Some(SIZE)),
    ];
    world(nodes, circuits, Duration::from_secs(20))
}

fn run(spec: &WorldSpec, transport: &str, traces: bool) -> Outcome {
    let factory = preset(transport);
    let mut world = World::new(spec, &*factory).expect("the world makes sense");
    if traces {
        world.record_traces(BIN);
    }
    assert!(world.run(&mut |_| ControlFlow::Continue(())));
    world.into_outcome()
}

fn of(outcome: &Outcome, circuit: u32, place: Vantage) -> Vec<TraceBin> {
    let bins = outcome.traces.iter();
    bins.filter(|bin| (bin.circuit, bin.place) == (circuit, place))
        .copied()
        .collect()
}

fn down(bins: &[TraceBin]) -> Bytes {
    bins.iter().map(|bin| bin.down.bytes).sum()
}

#[test]
fn observers_see_at_least_what_the_user_got() {
    for transport in hopflow_transports::presets() {
        // UDP-OR sends again what a relay dropped, from the exit on.
        let outcome = run(&spec(), transport.name, true);
        let entry = of(&outcome, 0, Vantage::Entry);
        let exit = of(&outcome, 0, Vantage::Exit);
        assert!(down(&exit) >= SIZE, "{}", transport.name);
        assert!(down(&entry) > SIZE, "{}", transport.name);
        let requests: u64 = exit.iter().map(|bin| bin.up.packets).sum();
        assert!(requests >= 1, "{}", transport.name);
        let up: u64 = entry.iter().map(|bin| bin.up.packets).sum();
        assert!(up > 5, "{}: feedback counts", transport.name);
    }
}

#[test]
fn bins_are_in_order_whole_and_not_empty() {
    let outcome = run(&spec(), "backtap", true);
    let order: Vec<_> = outcome
        .traces
        .iter()
        .map(|bin| (bin.circuit, bin.place, bin.at))
        .collect();
    assert!(order.is_sorted_by(|one, next| one < next));
    for bin in &outcome.traces {
        let past = bin.at.saturating_since(Instant::ZERO).as_nanos() % BIN.as_nanos();
        assert_eq!(past, 0);
        assert!(bin.up.packets + bin.down.packets > 0);
    }
}

#[test]
fn a_client_that_shares_its_machine_has_no_entry_of_its_own() {
    let outcome = run(&spec(), "vanilla", true);
    assert!(of(&outcome, 2, Vantage::Entry).is_empty());
    assert!(!of(&outcome, 2, Vantage::Exit).is_empty());
}

#[test]
fn nothing_is_seen_before_recording_begins() {
    let mut spec = spec();
    spec.sampling.from = Duration::from_millis(330);
    let outcome = run(&spec, "vanilla", true);
    let first = outcome.traces.iter().map(|bin| bin.at).min();
    assert!(first >= Some(Instant::ZERO + spec.sampling.from));
}

#[test]
fn observers_change_nothing() {
    let [mut watched, unwatched] = [true, false].map(|traces| run(&spec(), "backtap", traces));
    assert!(!watched.traces.is_empty());
    watched.traces.clear();
    assert_eq!(format!("{watched:?}"), format!("{unwatched:?}"));
}
