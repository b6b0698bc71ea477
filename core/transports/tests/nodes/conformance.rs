//! Every registered transport passes every check of the battery.
//!
//! `HOPFLOW_PRESET=backtap` in the environment picks one, for every test of this file.

use hopflow_testkit::{Counted, conformance};
use hopflow_transports::Preset;
use toml::Table;

/// All presets, or the one that the environment names.
fn presets() -> Vec<&'static Preset> {
    let mut presets = hopflow_transports::presets();
    if let Ok(chosen) = std::env::var("HOPFLOW_PRESET") {
        presets.retain(|preset| preset.name == chosen);
        assert!(
            !presets.is_empty(),
            "HOPFLOW_PRESET={chosen} is no preset of the tree (`hopflow list transports`); controls \
             of other crates run the battery as front/own-transport/tests/battery.rs does"
        );
    }
    presets
}

/// Whether the tests of a preset's options run: all do, or those of the one that the environment names.
fn is_chosen(preset: &str) -> bool {
    presets().iter().any(|chosen| chosen.name == preset)
}

/// Runs one check for all presets and tells all that fail.
fn check_all(name: &str) {
    let (_, check) = conformance::CHECKS
        .iter()
        .find(|(other, _)| *other == name)
        .expect("the check exists");
    let mut failed = Vec::new();
    for preset in presets() {
        println!("{name}: {}", preset.name);
        let factory = hopflow_transports::build::<Counted>(preset.name, &Table::new())
            .expect("presets can be built");
        let run = std::panic::AssertUnwindSafe(|| check(factory.as_ref()));
        if std::panic::catch_unwind(run).is_err() {
            failed.push(preset.name);
        }
    }
    assert!(failed.is_empty(), "{name} fails for {}", failed.join(", "));
}

macro_rules! battery {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check_all(stringify!($name));
        })*

        #[test]
        fn no_check_is_left_out() {
            let run = [$(stringify!($name)),*];
            for (name, _) in conformance::CHECKS {
                assert!(run.contains(name), "{name} is not run");
            }
        }
    };
}

battery! {
    every_byte_arrives_once_and_in_order,
    a_harmed_path_delivers_everything,
    an_adversarial_driver_changes_nothing,
    equal_seeds_give_equal_traces,
    no_single_feedback_message_is_vital,
    no_single_packet_is_vital,
    a_paused_application_resumes,
    a_stalled_sink_holds_bounded_memory_and_closes_nothing,
    an_idle_node_asks_for_nothing,
    a_circuit_closed_in_flight_is_forgotten_by_all,
    other_circuits_outlive_a_closed_one,
    every_neighbour_is_told_of_many_closures,
    a_lone_flow_fills_its_bottleneck,
    equal_flows_share_equally,
    a_token_bucket_limits_what_a_node_sends,
    two_legs_keep_the_order_of_a_stream,
    a_lossy_slow_leg_does_not_block_the_stream,
    a_pinned_stream_uses_one_leg,
    a_short_pause_ends,
    a_closed_leg_ends_its_stream_and_nothing_else,
    metrics_are_as_declared,
    the_same_options_again_change_nothing,
    excess_is_dropped_unacknowledged_and_closes_the_circuit,
    feedback_that_lies_closes_the_circuit,
    a_neighbour_that_never_acknowledges_gets_a_bounded_number_of_cells,
    commands_for_a_deaf_neighbour_are_bounded,
    any_bytes_leave_a_node_sane,
}

/// A window that the first relay releases shares badly (docs/spec/marut.md), but does no harm.
#[test]
fn first_hop_windows_of_marut_pass_all_checks_but_those_of_sharing() {
    if !is_chosen("marut") {
        return;
    }
    let shares = [
        "a_lone_flow_fills_its_bottleneck",
        "equal_flows_share_equally",
    ];
    for update in ["hop-rtt", "circuit-rtt"] {
        let options = format!("window-counts = \"first-hop\"\nupdate-every = \"{update}\"");
        let options: Table = options.parse().expect("it is TOML");
        let factory = hopflow_transports::build::<Counted>("marut", &options);
        let factory = factory.expect("the options are allowed");
        let checks = conformance::CHECKS.iter();
        for (_, check) in checks.filter(|(name, _)| !shares.contains(name)) {
            check(factory.as_ref());
        }
    }
}

/// The readings of Marut's report over BackTap. Where relays have no window, that of the source sets a
/// rate and shares as badly (docs/spec/marut.md).
#[test]
fn readings_of_marut_over_backtap_pass_all_checks_but_those_of_sharing() {
    if !is_chosen("backtap-as-printed") {
        return;
    }
    let shares = [
        "a_lone_flow_fills_its_bottleneck",
        "equal_flows_share_equally",
    ];
    for windows in ["source-alone", "source-by-worst-hop"] {
        let options: Table = format!("windows = \"{windows}\"")
            .parse()
            .expect("it is TOML");
        let factory = hopflow_transports::build::<Counted>("backtap-as-printed", &options);
        let factory = factory.expect("the options are allowed");
        let checks = conformance::CHECKS.iter();
        for (_, check) in checks.filter(|(name, _)| !shares.contains(name)) {
            check(factory.as_ref());
        }
    }
}

/// Feedback at multiples of 50 ms is late, not lost. Windows that see so little of their hop share
/// badly (docs/spec/backtap.md).
#[test]
fn held_feedback_of_backtap_passes_all_checks_but_that_of_equal_shares() {
    if !is_chosen("backtap") {
        return;
    }
    let options: Table = "feedback-hold = \"50 ms\"".parse().expect("it is TOML");
    let factory = hopflow_transports::build::<Counted>("backtap", &options);
    let factory = factory.expect("the options are allowed");
    for (name, check) in conformance::CHECKS {
        if *name != "equal_flows_share_equally" {
            check(factory.as_ref());
        }
    }
}
