//! The examples of docs/adding-a-transport.md work: they pass the battery and run in
//! the simulator.

#[path = "../../../../front/own-transport/src/delay_aimd.rs"]
mod delay_aimd;
mod fixed_hop_window;
#[path = "../../../../front/own-transport/src/source_window.rs"]
mod source_window;

use std::sync::{Arc, Once};

use std::ops::ControlFlow;

use delay_aimd::DelayAimd;
use fixed_hop_window::{FixedHopWindow, PRESET};
use hopflow_overlay::{ConfigError, Direction, Factory};
use hopflow_sim::Simulated;
use hopflow_sim::spec::{
    AccessSpec, Backbone, CircuitSpec, Class, NodeSpec, QueueSpec, Sampling, Workload, WorldSpec,
};
use hopflow_testkit::{Chain, Counted, End, Manner, Medium, conformance};
use hopflow_transports::{build, presets, register_end, register_hop, register_preset};
use hopflow_units::{Bytes, Cells, Duration, NodeId, Rate};
use hopflow_wire::Payload;
use source_window::SourceWindow;
use toml::Table;

/// A factory with options, of a preset that names the registered control.
fn try_factory<P: Payload>(options: &str) -> Result<Box<dyn Factory<P>>, ConfigError> {
    try_factory_of(PRESET.name, options)
}

fn try_factory_of<P: Payload>(
    preset: &str,
    options: &str,
) -> Result<Box<dyn Factory<P>>, ConfigError> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_hop::<FixedHopWindow, Counted>();
        register_hop::<FixedHopWindow, Simulated>();
        register_preset(&PRESET);
        register_hop::<DelayAimd, Counted>();
        register_preset(&delay_aimd::PRESET);
        register_end::<SourceWindow>();
        register_preset(&source_window::PRESET);
    });
    let options: Table = options.parse().expect("it is TOML");
    build(preset, &options)
}

fn factory<P: Payload>(options: &str) -> Box<dyn Factory<P>> {
    try_factory(options).expect("the options are allowed")
}

#[test]
fn it_passes_the_battery() {
    conformance::check(factory("").as_ref());
    conformance::check(factory("window = 200").as_ref());
}

#[test]
fn its_rate_is_its_window_over_the_round_trip() {
    let factory = factory("window = 10");
    let medium = Medium::delay(Duration::from_millis(49));
    let mut chain = Chain::new(factory.as_ref(), 2, Manner::Orderly, 1).with_medium(medium);
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
fn it_goes_with_any_preset_over_datagrams() {
    assert!(!factory::<Counted>("").describe().is_empty());
    let options = "hop-control = \"fixed-hop-window\""
        .parse()
        .expect("it is TOML");
    for name in ["backtap", "switching-backtap", PRESET.name] {
        assert!(presets().iter().any(|preset| preset.name == name), "{name}");
        build::<Counted>(name, &options).expect("the layers fit");
    }
    let error = build::<Counted>("vanilla", &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("The window counts on every cell"), "{error}");
}

#[test]
fn a_wrong_option_is_named() {
    let error = try_factory::<Counted>("window = 0").unwrap_err();
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
            leave: None,
            rebuilt: Vec::new(),
        }],
        backbone: Backbone::default(),
        cross: Vec::new(),
        faults: Vec::new(),
        end: Duration::from_secs(5),
        seed: 1,
        sampling: Sampling::default(),
        tcp: hopflow_tcp::Config::default(),
    };
    let factory: Box<dyn Factory<Simulated>> = factory("");
    let outcome = hopflow_sim::run(&spec, factory.as_ref(), &mut |_| ControlFlow::Continue(()));
    let outcome = outcome
        .expect("the world makes sense")
        .expect("nobody stops it");
    assert!(outcome.downloads.len() > 10, "{}", outcome.downloads.len());
}

/// Cells that arrive within 10 s over two nodes and ways of `delay`, less the first second.
fn cells_per_second(factory: &dyn Factory<Counted>, medium: Medium) -> f64 {
    let mut chain = Chain::new(factory, 2, Manner::Orderly, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(100_000_000));
    chain.run_for(Duration::from_secs(1));
    let first = chain.arrived(stream, End::Exit).as_f64();
    chain.run_for(Duration::from_secs(10));
    (chain.arrived(stream, End::Exit).as_f64() - first) / 498.0 / 10.0
}

#[test]
fn delay_aimd_passes_the_battery() {
    let factory = try_factory_of::<Counted>("delay-aimd", "").expect("it is registered");
    conformance::check(factory.as_ref());
}

#[test]
fn source_window_passes_the_battery() {
    let factory = try_factory_of::<Counted>("source-window", "").expect("it is registered");
    conformance::check(factory.as_ref());
}

/// From a window of 10 cells it grows by one per round trip of 100 ms: 10 after a second, and the
/// mean of the next ten seconds is 10 + 10 + 50 cells per round trip.
#[test]
fn delay_aimd_grows_by_a_cell_per_round_trip() {
    let factory = try_factory_of::<Counted>("delay-aimd", "").expect("it is registered");
    let medium = Medium::delay(Duration::from_micros(49_500));
    let rate = cells_per_second(factory.as_ref(), medium);
    assert!((650.0..750.0).contains(&rate), "{rate} cells/s");
}

/// A window per round trip.
#[test]
fn the_rate_of_source_window_is_its_window_over_the_round_trip() {
    let factory = try_factory_of::<Counted>("source-window", "window = 100");
    let medium = Medium::delay(Duration::from_millis(50));
    let rate = cells_per_second(factory.expect("it is registered").as_ref(), medium);
    assert!((950.0..1010.0).contains(&rate), "{rate} cells/s");
}

/// The guide prints the examples as they are tested here.
#[test]
fn the_guide_shows_these_files() {
    let guide = include_str!("../../../../docs/adding-a-transport.md");
    let files = [
        include_str!("../../../../front/own-transport/src/delay_aimd.rs"),
        include_str!("../../../../front/own-transport/src/source_window.rs"),
    ];
    for file in files {
        assert!(
            guide.contains(file),
            "{}",
            file.lines().next().unwrap_or("")
        );
    }
}
