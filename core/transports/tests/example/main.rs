//! The example of docs/adding-a-transport.md works: it passes the battery and runs in the
//! simulator.

mod fixed_hop_window;

use std::sync::Arc;

use std::ops::ControlFlow;

use fixed_hop_window::FixedHopWindow;
use hopflow_overlay::{Direction, Factory};
use hopflow_sim::Simulated;
use hopflow_sim::spec::{
    AccessSpec, Backbone, CircuitSpec, Class, NodeSpec, QueueSpec, Sampling, Workload, WorldSpec,
};
use hopflow_testkit::{Chain, End, Manner, Medium, conformance};
use hopflow_transports::{Configured, Options};
use hopflow_units::{Bytes, Cells, Duration, NodeId, Rate};
use toml::Table;

/// A factory with options.
fn factory(options: &str) -> Configured<FixedHopWindow> {
    let options: Table = options.parse().expect("it is TOML");
    Configured::new(Options::new([&options])).expect("the options are allowed")
}

#[test]
fn it_passes_the_battery() {
    conformance::check(&factory(""));
    conformance::check(&factory("window = 200"));
}

#[test]
fn its_rate_is_its_window_over_the_round_trip() {
    let factory = factory("window = 10");
    let medium = Medium::delay(Duration::from_millis(49));
    let mut chain = Chain::new(&factory, 2, Manner::Orderly, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(10_000_000));
    chain.run_for(Duration::from_secs(10));
    let view = chain
        .flow(circuit, 1, Direction::Backward)
        .expect("it is open");
    assert_eq!(view.window, Some(Cells::new(10)));
    // Two ways of 49 ms, and 1 ms that feedback waits for company at each of ten cells at most.
    let rounds = chain.arrived(stream, End::Exit).as_f64() / 4980.0;
    assert!((98.0..103.0).contains(&rounds), "{rounds} windows in 10 s");
}

#[test]
fn a_wrong_option_is_named() {
    let options: Table = "window = 0".parse().expect("it is TOML");
    let error = Configured::<FixedHopWindow>::new(Options::new([&options])).unwrap_err();
    let text = "`window` is 0; allowed is a whole number of cells, at least 1";
    assert_eq!(error.to_string(), text);
}

#[test]
fn it_runs_in_the_simulator() {
    let node = |number: u32| NodeSpec {
        name: format!("n{number}"),
        access: AccessSpec {
            rate: Rate::from_megabits_per_sec(100),
            delay: Duration::from_millis(10),
            queue: QueueSpec::DropTail { packets: 1000 },
            loss: 0.0,
            duplicate: 0.0,
            jitter: Duration::ZERO,
            reorder: false,
        },
        bucket: None,
    };
    let spec = WorldSpec {
        nodes: (0..3).map(node).collect(),
        circuits: vec![CircuitSpec {
            path: (0..3).map(NodeId::new).collect(),
            legs: Vec::new(),
            class: Class::Bulk,
            workload: Arc::new(Workload {
                response: Some(Bytes::new(100_000)),
                think: (Duration::ZERO, Duration::ZERO),
                server_delay: Duration::ZERO,
                server_delay_max: Duration::ZERO,
            }),
            start: Duration::ZERO,
        }],
        backbone: Backbone::default(),
        cross: Vec::new(),
        end: Duration::from_secs(5),
        seed: 1,
        sampling: Sampling::default(),
        tcp: hopflow_tcp::Config::default(),
    };
    let factory: &dyn Factory<Simulated> = &factory("");
    let outcome = hopflow_sim::run(&spec, factory, &mut |_| ControlFlow::Continue(()));
    let outcome = outcome
        .expect("the world makes sense")
        .expect("nobody stops it");
    assert!(outcome.downloads.len() > 10, "{}", outcome.downloads.len());
}
