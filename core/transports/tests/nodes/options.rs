//! Whatever options are accepted, nodes live with them.

use hopflow_overlay::{
    Gates, HopControl, HopCx, HopPlan, HopSignal, Info, NodeEnv, Site, Tick, Violation,
};
use hopflow_testkit::{Chain, Counted, End, Manner};
use hopflow_transports::{NoOptions, build, register_hop};
use hopflow_units::{Bytes, Duration};
use toml::Table;

fn completes(preset: &str, options: &str) {
    let options: Table = options.parse().expect("it is TOML");
    let factory = hopflow_transports::build::<Counted>(preset, &options).expect("they are allowed");
    let mut chain = Chain::new(factory.as_ref(), 3, Manner::WireTrue, 1);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(30_000));
    assert!(
        chain.run_to_arrival(Duration::from_secs(600)),
        "{preset} with {options} hangs"
    );
}

#[test]
fn the_smallest_backtap_completes() {
    completes("backtap", "queue-limit = 1\ninitial-window = 1");
}

#[test]
fn a_neighbours_queue_limit_wins_over_the_smallest_window() {
    completes("backtap", "queue-limit = 2\nsmallest-window = 5");
}

#[test]
fn the_smallest_vanilla_completes() {
    completes(
        "vanilla",
        "circuit-window = 1\ncircuit-increment = 1\nstream-window = 1\nstream-increment = 1\n\
         source-queue = 1\nqueue-limit = 2",
    );
}

#[test]
fn backtap_without_waiting_feedback_completes() {
    completes("backtap", "feedback-delay = \"0 s\"");
}

#[test]
fn the_smallest_n23_completes() {
    completes("n23", "n2 = 1\nn3 = 0\nqueue-limit = 1");
    completes("n23", "n2 = 30\nn3 = 0\nqueue-limit = 30");
    completes("n23-as-published", "n2 = 1\nn3 = 0\nqueue-limit = 1");
}

#[test]
fn the_smallest_windows_of_maruts_successors_complete() {
    let edge = "ack-every = 1\ninitial-window = 1\nqueue-limit = 1";
    completes(
        "marut-timely",
        &format!("{edge}\nlow = \"0 s\"\nhigh = \"1 ms\""),
    );
    completes("marut-dctcp", &format!("{edge}\nthreshold = 1"));
    completes("marut-dctcp", "queue-limit = 16");
}

#[test]
fn every_reading_of_marut_completes() {
    for counts in ["first-hop", "end-to-end"] {
        for update in ["hop-rtt", "circuit-rtt"] {
            for limits in ["", "queue-limit = 1\ninitial-window = 1\nack-every = 1"] {
                completes(
                    "marut",
                    &format!("window-counts = \"{counts}\"\nupdate-every = \"{update}\"\n{limits}"),
                );
            }
        }
    }
}

/// A control on hops that bounds nothing, and is called regularly although it does not say so.
#[derive(Clone, Debug)]
struct Onlooker;

impl HopControl for Onlooker {
    const INFO: Info = Info::new("onlooker", "looks on");
    type Config = NoOptions;
    type Flow = ();

    fn plan(_: &NoOptions) -> HopPlan {
        HopPlan {
            tick: Some(Tick {
                interval: Duration::from_millis(10),
                in_phase: true,
            }),
            ..HopPlan::default()
        }
    }

    fn new(_: &NoOptions, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) {}

    fn on(&mut self, (): &mut (), _: &mut HopCx<'_>, _: HopSignal<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

#[test]
fn a_control_that_bounds_nothing_leaves_the_source_to_the_ends() {
    register_hop::<Onlooker, Counted>().unwrap();
    let ahead = |options: &str| {
        let options: Table = options.parse().expect("it is TOML");
        let factory = build::<Counted>("vanilla", &options).expect("they are allowed");
        factory.plan().end.source_high_water
    };
    assert_eq!(ahead("hop-control = \"onlooker\""), ahead(""));
}

#[test]
fn two_layers_with_a_regular_call_are_refused_whatever_they_declare() {
    register_hop::<Onlooker, Counted>().unwrap();
    let options: Table = "hop-control = \"onlooker\"".parse().expect("it is TOML");
    let error = build::<Counted>("switching", &options).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`path`: switching"), "{error}");
    assert!(error.contains("The regular call"), "{error}");
}

#[test]
fn a_weight_that_is_none_is_refused() {
    for weight in ["-0.5", "nan", "inf", "-inf", "100.5"] {
        let options: Table = format!("weight = {weight}").parse().expect("it is TOML");
        let error = build::<Counted>("joint", &options).unwrap_err().to_string();
        let value = weight.parse::<f64>().unwrap().to_string();
        for part in ["weight", &value, "a number from 0 to 100"] {
            assert!(
                error.to_lowercase().contains(&part.to_lowercase()),
                "{part}: {error}"
            );
        }
    }
    completes("joint", "weight = 100");
}

#[test]
fn feedback_does_not_wait_until_it_is_taken_for_lost() {
    let options: Table = "feedback-delay = \"2 s\"".parse().expect("it is TOML");
    let names = ["backtap", "joint", "predictor", "marut"];
    for name in names.into_iter().chain(["marut-timely", "marut-dctcp"]) {
        let error = build::<Counted>(name, &options).unwrap_err().to_string();
        for part in ["feedback-delay", "2 s", "500 ms"] {
            assert!(error.contains(part), "{name}, {part}: {error}");
        }
    }
}
