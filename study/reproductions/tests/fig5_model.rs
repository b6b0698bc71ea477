//! Figure 5 of the BackTap paper: the packet-level simulator against the event model.
//!
//! The model has no TCP, no segments and no turns, so that an error in those shows here.

use std::ops::ControlFlow;

use hopflow_lab::scenario::{Distribution, Scenario};
use hopflow_reproductions::backtap_fig5::model::{Circuit, Prediction, Window, predict};
use hopflow_reproductions::find;
use hopflow_stats::Mean;
use hopflow_units::{Duration, Rate};

const CIRCUIT: (&str, Window) = (
    "vanilla-circuit-window",
    Window {
        cells: 1000,
        increment: 100,
    },
);
const STREAM: (&str, Window) = (
    "vanilla-stream-window",
    Window {
        cells: 500,
        increment: 50,
    },
);
/// Round-trip times of the figure. At 150 and 300 ms SENDMEs are back at the very time of a refill,
/// and a microsecond decides whether they catch it: the neighbours stand for them.
const RTTS_MS: [f64; 14] = [
    0.0, 1.0, 50.0, 100.0, 140.0, 160.0, 200.0, 250.0, 290.0, 310.0, 350.0, 400.0, 450.0, 500.0,
];
/// Seeds: their means even out where in a burst the samples fall.
const SEEDS: u64 = 8;
/// The simulator's rates are those of the model but for what one window more or less in the
/// measured time makes.
const RATE: f64 = 0.01;
/// Backlogs, in bytes. Samples every 10 ms of bursts of up to 293 cells every 100 ms put each run
/// off by up to a tenth of a burst, 15 kB, and the mean of eight runs by about a third of that;
/// another 3 kB for cells that share a segment.
const BACKLOG: f64 = 8e3;

fn predicted(window: Window, rtt_ms: f64) -> Prediction {
    let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
    predict(&Circuit::of_figure(
        window,
        Rate::from_kilobytes_per_sec(1500),
        rtt,
    ))
}

/// Rate and backlog of the simulator in bytes, by the number of delivered and packaged cells.
fn simulated(transport: &str, rtt_ms: f64) -> Prediction {
    let experiment = find("backtap-fig5").unwrap();
    let mut scenario = Scenario::parse(experiment.scenario(), "").unwrap();
    // Three hops of two access links each, there and back.
    let delay = Duration::from_secs_f64(rtt_ms / 1e3 / 12.0);
    scenario.network.access.delay = Some(Distribution::Fixed(delay));
    scenario.duration.0 = Duration::from_secs(27);
    // A full bucket lasts 7 s where a window per round trip is just above its rate.
    scenario.warm_up.0 = Duration::from_secs(12);
    let factory = scenario.transport(transport).unwrap();
    let bytes_per_byte = 512.0 / 498.0;
    let (rates, backlogs): (Vec<f64>, Vec<f64>) = (1..=SEEDS)
        .map(|seed| {
            let world = scenario.sample(seed);
            let go_on = &mut |_| ControlFlow::Continue(());
            let run = hopflow_sim::run(&world, &*factory, go_on).unwrap().unwrap();
            let backlog = |s: &hopflow_sim::Sample| (s.packaged - s.delivered).as_f64();
            let backlogs: Vec<f64> = run.samples.iter().map(backlog).collect();
            let (first, last) = (run.samples[0], run.samples[run.samples.len() - 1]);
            let rate =
                (last.delivered - first.delivered).as_f64() / (last.at - first.at).as_secs_f64();
            let backlog = Mean::of(&backlogs).unwrap().mean;
            (rate * bytes_per_byte, backlog * bytes_per_byte)
        })
        .unzip();
    Prediction {
        rate: Mean::of(&rates).unwrap().mean,
        backlog: Mean::of(&backlogs).unwrap().mean,
    }
}

fn compare((transport, window): (&str, Window)) {
    for rtt_ms in RTTS_MS {
        let (model, found) = (predicted(window, rtt_ms), simulated(transport, rtt_ms));
        let at = format!("{transport} at {rtt_ms} ms: model {model:?}, simulator {found:?}");
        assert!((found.rate / model.rate - 1.0).abs() < RATE, "{at}");
        assert!((found.backlog - model.backlog).abs() < BACKLOG, "{at}");
    }
}

#[test]
fn the_circuit_windows_rate_and_backlog_follow_the_event_model() {
    compare(CIRCUIT);
}

#[test]
fn the_stream_windows_rate_and_backlog_follow_the_event_model() {
    compare(STREAM);
}

#[test]
fn the_event_model_has_the_levels_of_the_paper() {
    let backlog = |(_, window), rtt_ms| predicted(window, rtt_ms).backlog / 1e3;
    assert!((backlog(CIRCUIT, 50.0) - 350.0).abs() < 35.0);
    assert!((backlog(CIRCUIT, 500.0) - 250.0).abs() < 25.0);
    assert!((backlog(STREAM, 50.0) - 100.0).abs() < 25.0);
    assert!((backlog(STREAM, 500.0) - 125.0).abs() < 12.5);
}
