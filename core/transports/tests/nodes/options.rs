//! Whatever options are accepted, nodes live with them.

use hopflow_overlay::{
    BucketConfig, Gates, HopControl, HopCx, HopPlan, HopSignal, Info, NodeEnv, Site, Tick,
    Violation,
};
use hopflow_testkit::{Chain, Counted, End, Manner};
use hopflow_transports::{NoOptions, build, options_of, presets, register_hop};
use hopflow_units::{Bytes, Duration, Rate};
use serde_json::Value as Json;
use toml::{Table, Value};

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

/// Sends more than any window both ways through a relay of 300 kB/s, before which windows wait.
fn completes_before_a_narrow_relay(preset: &str, options: &str) {
    let table: Table = options.parse().expect("it is TOML");
    let factory = build::<Counted>(preset, &table).expect("they are allowed");
    let mut chain = Chain::new(factory.as_ref(), 2, Manner::WireTrue, 1);
    let bucket = BucketConfig {
        rate: Rate::from_kilobytes_per_sec(300),
        depth: Bytes::new(60_000),
        interval: Duration::from_millis(100),
        phase: Duration::ZERO,
    };
    let narrow = chain.add_node(Some(bucket));
    let circuit = chain.circuit(&[0, narrow, 1]);
    let stream = chain.stream(&[circuit]);
    for end in [End::Client, End::Exit] {
        chain.write(stream, end, Bytes::new(3_500_000));
    }
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

/// What is wrong with the options of a preset.
fn refusal(preset: &str, options: &str) -> String {
    let options: Table = options.parse().expect("it is TOML");
    let built = build::<Counted>(preset, &options);
    built.expect_err("they are refused").to_string()
}

#[test]
fn a_window_from_end_to_end_below_what_an_acknowledgement_stands_for_is_refused() {
    for key in ["initial-window", "smallest-window"] {
        let error = refusal("marut", &format!("{key} = 15"));
        for part in [
            key,
            "15",
            "at least 16: what one acknowledgement stands for",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        completes("marut", &format!("{key} = 16"));
        completes("marut", &format!("ack-every = 4\n{key} = 4"));
        completes(
            "marut",
            &format!("window-counts = \"first-hop\"\n{key} = 2"),
        );
    }
}

#[test]
fn the_windows_that_marut_shows_are_those_that_it_has() {
    for (options, smallest, initial) in [
        ("", 16, 16),
        ("ack-every = 4", 4, 10),
        ("smallest-window = 30", 30, 30),
        ("window-counts = \"first-hop\"", 1, 2),
    ] {
        let options: Table = options.parse().expect("it is TOML");
        let factory = build::<Counted>("marut", &options).expect("they are allowed");
        let shown = factory.describe();
        for (key, value) in [("smallest-window", smallest), ("initial-window", initial)] {
            let line = format!("{key} = {value}");
            assert!(shown.contains(&line), "{options}: {line} is not in {shown}");
        }
    }
}

#[test]
fn a_window_of_vegas_above_the_largest_is_refused() {
    for (key, value) in [("vegas-initial", 501), ("vegas-min", 700)] {
        let error = refusal("tor-vegas", &format!("vegas-max = 500\n{key} = {value}"));
        for part in [key, &value.to_string(), "vegas-max, 500"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        completes("tor-vegas", &format!("vegas-max = 700\n{key} = {value}"));
    }
}

#[test]
fn a_threshold_of_slow_start_is_refused_with_bbr_which_has_none() {
    let bbr = "algorithm = \"bbr\"\ninitial-ssthresh";
    let error = refusal("udp-or", &format!("{bbr} = \"8 KiB\""));
    for part in ["initial-ssthresh", "8 KiB", "bbr"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    completes("udp-or", &format!("{bbr} = \"0 B\""));
}

#[test]
fn queues_hold_the_windows_that_were_asked_for() {
    let wide = "circuit-window = 5000\nstream-window = 0";
    for (preset, options) in [
        ("vanilla", wide),
        ("vanilla", "circuit-window = 0\nstream-window = 3000"),
        ("pctcp", "circuit-window = 3000\nstream-window = 0"),
        ("switching", wide),
        ("tor-vegas", "vegas-initial = 5000"),
        ("tor-vegas", "queue-limit = 786"),
        ("n23", "n2 = 20\nn3 = 4000"),
    ] {
        completes_before_a_narrow_relay(preset, options);
    }
    completes("predictor", "queue-target = 100000");
}

#[test]
fn a_queue_shorter_than_what_may_wait_is_refused() {
    for (preset, options, least) in [
        ("vanilla", "circuit-window = 5000", 5000),
        ("tor-vegas", "", 786),
        ("tor-vegas", "vegas-initial = 3000", 3000),
        ("tor-vegas", "vegas-max = 500", 500),
        ("predictor", "queue-target = 100000", 100_000),
    ] {
        let given = least - 1;
        let error = refusal(preset, &format!("{options}\nqueue-limit = {given}"));
        let expected = format!(
            "`queue-limit` is {given}; allowed is a whole number of cells, at least {least}"
        );
        assert!(error.starts_with(&expected), "{error}");
        let options = format!("{options}\nqueue-limit = {least}").parse().unwrap();
        build::<Counted>(preset, &options).expect("they are allowed");
    }
}

#[test]
fn no_number_is_too_large_for_what_is_made_of_it() {
    for preset in presets() {
        for (key, schema) in options_of(preset) {
            if schema.get("type").and_then(Json::as_str) == Some("integer") {
                let options = Table::from_iter([(key, Value::Integer(i64::MAX - 7))]);
                if let Err(error) = build::<Counted>(preset.name, &options) {
                    let error = error.to_string();
                    assert!(error.contains("9223372036854775800"), "{error}");
                }
            }
        }
    }
    for key in ["n2", "n3"] {
        let error = refusal("n23", &format!("{key} = 9223372036854775800"));
        assert!(
            error.starts_with(&format!("`{key}` is 9223372036854775800; ")),
            "{error}"
        );
        let most = format!("{key} = 1000000000");
        build::<Counted>("n23", &most.parse().unwrap()).expect("it is allowed");
    }
}

#[test]
fn no_first_window_is_below_the_smallest() {
    let first_hop = "window-counts = \"first-hop\"\n";
    for (preset, more) in [
        ("backtap", ""),
        ("joint", ""),
        ("marut", ""),
        ("marut", first_hop),
    ] {
        let smallest = format!("{more}smallest-window = 64");
        let factory = build::<Counted>(preset, &smallest.parse().unwrap()).unwrap();
        let shown = factory.describe();
        assert!(shown.contains("initial-window = 64"), "{preset}: {shown}");
        completes(preset, &smallest);
        let error = refusal(preset, &format!("{smallest}\ninitial-window = 63"));
        let expected = "`initial-window` is 63; allowed is a whole number of cells, at least 64";
        assert!(error.starts_with(expected), "{preset}: {error}");
    }
}

#[test]
fn relays_do_not_sample_their_output_buffers_without_end() {
    let error = refusal("switching", "switch-interval = \"1 ns\"");
    for part in ["switch-interval", "1 ns", "a time of 1 ms or more"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    completes("switching", "switch-interval = \"1 ms\"");
}
