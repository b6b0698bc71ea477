//! Gaps in what a predecessor sends, as controls on hops hear of them.

use hopflow_overlay::{
    Direction, Gates, HopControl, HopCx, HopPlan, HopSignal, Info, Metric, NodeEnv, Site, Violation,
};
use hopflow_testkit::Bench;

use crate::support::{PlainConfig, QUEUE_LIMIT, hop_plan};

/// Counts the cells that are said to be missing.
#[derive(Clone, Debug)]
struct Listener;

impl HopControl for Listener {
    const INFO: Info = Info {
        metrics: &[Metric {
            name: "missing",
            unit: "cells",
            about: "cells that were said to be missing",
        }],
        ..Info::new("listener", "counts what is missing")
    };
    type Config = PlainConfig;
    type Flow = u64;

    fn plan(config: &PlainConfig) -> HopPlan {
        hop_plan(config.forwarded)
    }

    fn new(_: &PlainConfig, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) -> u64 {
        0
    }

    fn on(
        &mut self,
        missing: &mut u64,
        _: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        if let HopSignal::Missing(cells) = signal {
            assert!((1..QUEUE_LIMIT.get()).contains(&cells.get()), "{cells:?}");
            *missing += cells.get();
        }
        Ok(())
    }

    fn sample(&self, missing: &u64, out: &mut Vec<f64>) {
        out.push(*missing as f64);
    }
}

/// How many cells a relay takes for missing that receives these.
fn missing(config: PlainConfig, cells: impl IntoIterator<Item = u64>) -> f64 {
    let mut relay = Bench::relay(&config.stack::<Listener>());
    for seq in cells {
        let sent = relay.receive(0, Bench::data(seq));
        assert_eq!(sent.closed, []);
    }
    let mut measured = Vec::new();
    let way = Direction::Forward;
    relay.host.measure(relay.circuit, way, &mut measured);
    measured[0].value
}

#[test]
fn cells_beyond_a_gap_say_how_many_are_missing() {
    let datagrams = PlainConfig::datagrams;
    assert_eq!(missing(datagrams(), 0..50), 0.0);
    let late = [0, 3, 3, 4, 2, 6, 3, 1, 5, 7, 7];
    assert_eq!(missing(datagrams(), late), 3.0);
}

#[test]
fn a_gap_that_the_queue_cannot_hold_is_excess_and_nothing_is_missing() {
    let limit = QUEUE_LIMIT.get();
    let far = [limit, u64::from(u16::MAX / 2)];
    assert_eq!(missing(PlainConfig::datagrams(), far), 0.0);
    let last = [limit - 1];
    assert_eq!(missing(PlainConfig::datagrams(), last), (limit - 1) as f64);
}

#[test]
fn over_streams_nothing_is_missing() {
    assert_eq!(missing(PlainConfig::streams(), [0, 3, 9, 1]), 0.0);
}
