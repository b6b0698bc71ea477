//! A control of another crate works when it is registered: it passes the battery and runs in the
//! simulator.

mod fixed_hop_window;

use std::ops::ControlFlow;
use std::sync::Arc;

use fixed_hop_window::{FixedHopWindow, PRESET};
use hopflow_overlay::{ConfigError, Direction, Factory};
use hopflow_sim::Simulated;
use hopflow_sim::spec::{
    AccessSpec, Backbone, CircuitSpec, Class, NodeSpec, QueueSpec, Sampling, Workload, WorldSpec,
};
use hopflow_testkit::{Chain, Counted, End, Manner, Medium, conformance};
use hopflow_transports::{
    Family, Preset, build, presets, register_end, register_hop, register_preset,
};
use hopflow_units::{Bytes, Cells, Duration, NodeId, Rate};
use hopflow_wire::Payload;
use toml::Table;

/// A factory with options, of a preset that names the registered control.
fn try_factory<P: Payload>(options: &str) -> Result<Box<dyn Factory<P>>, ConfigError> {
    register_hop::<FixedHopWindow, P>().expect("its name is new");
    register_preset(&PRESET).expect("its name is new");
    let options: Table = options.parse().expect("it is TOML");
    build(PRESET.name, &options)
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
        access: AccessSpec::new(
            Rate::from_megabits_per_sec(100),
            Duration::from_millis(10),
            QueueSpec::DropTail { packets: 1000 },
        ),
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
        tls: false,
    };
    let factory: Box<dyn Factory<Simulated>> = factory("");
    let outcome = hopflow_sim::run(&spec, factory.as_ref(), &mut |_| ControlFlow::Continue(()));
    let outcome = outcome
        .expect("the world makes sense")
        .expect("nobody stops it");
    assert!(outcome.downloads.len() > 10, "{}", outcome.downloads.len());
}

/// Names that hopflow has, given to other things.
mod namesakes {
    use hopflow_overlay::{
        EndControl, EndGates, EndPlan, EndState, Gates, HopControl, HopCx, HopPlan, HopSignal,
        Info, NodeEnv, Site, Violation,
    };
    use hopflow_transports::{LayerOptions, NoOptions};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug)]
    pub(crate) struct Credit;

    impl HopControl for Credit {
        const INFO: Info = Info::new("credit", "has a name that is taken");
        type Config = NoOptions;
        type Flow = ();

        fn plan(_: &NoOptions) -> HopPlan {
            HopPlan::default()
        }

        fn new(_: &NoOptions, _: &NodeEnv) -> Self {
            Self
        }

        fn open(&mut self, _: &Site, _: &mut Gates<'_>) {}

        fn on(
            &mut self,
            (): &mut (),
            _: &mut HopCx<'_>,
            _: HopSignal<'_>,
        ) -> Result<(), Violation> {
            Ok(())
        }
    }

    #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Vegas {}

    impl LayerOptions for Vegas {}

    impl EndControl for Vegas {
        fn info(&self) -> &'static Info {
            static INFO: Info = Info::new("vegas", "has a name that is taken");
            &INFO
        }

        fn plan(&self) -> EndPlan {
            EndPlan::default()
        }

        fn open(&self, _: &Site, _: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
            None
        }
    }
}

/// A preset with the name of another one.
static NAMESAKE: Preset = Preset {
    name: "backtap",
    about: "something else",
    family: &Family::BACKTAP,
    options: "",
};

#[test]
fn a_name_that_is_taken_is_refused_and_both_are_named() {
    let hop = register_hop::<namesakes::Credit, Counted>().unwrap_err();
    let text = hop.to_string();
    for part in [
        "two controls on hops are named \"credit\"",
        "hopflow_transports::hops::credit::Credit",
        "namesakes::Credit",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let end = register_end::<namesakes::Vegas>().unwrap_err().to_string();
    assert!(
        end.contains("\"vegas\"") && end.contains("namesakes::Vegas"),
        "{end}"
    );
    let preset = register_preset(&NAMESAKE).unwrap_err().to_string();
    assert!(
        preset.contains("two presets are named \"backtap\""),
        "{preset}"
    );
    assert!(preset.contains(NAMESAKE.about), "{preset}");
}

#[test]
fn the_same_again_changes_nothing() {
    let _ = factory::<Counted>("");
    let before = presets().len();
    let _ = factory::<Counted>("");
    assert_eq!(presets().len(), before);
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
