//! Factories of nodes from presets and options.

use hopflow_overlay::{ConfigError, Order, Plan, Scope};
use hopflow_testkit::Counted;
use hopflow_transports::{build, presets};
use hopflow_units::Duration;
use toml::Table;

#[test]
fn every_preset_can_be_built() {
    for preset in presets() {
        let factory = build::<Counted>(preset.name, &Table::new()).unwrap();
        assert!(!factory.describe().is_empty());
    }
}

#[test]
fn a_misspelt_preset_is_answered_with_the_one_that_may_be_meant() {
    let error = problem("baktap", "");
    assert!(
        error.contains("\"baktap\" is unknown; did you mean `backtap`?"),
        "{error}"
    );
}

fn problem(preset: &str, options: &str) -> String {
    let options = options.parse().unwrap();
    let built = build::<Counted>(preset, &options);
    built.unwrap_err().to_string()
}

#[test]
fn layers_that_do_not_fit_are_refused_with_the_reason() {
    for (preset, options, expected) in [
        (
            "vanilla",
            "end-to-end = \"none\"",
            "`end-to-end`: none does not fit the other layers. Nothing bounds",
        ),
        (
            "backtap",
            "carrier = \"tcp\"",
            "`hop-control`: delay-window does not fit the other layers. BackTap reads the delay",
        ),
        (
            "predictor",
            "path = \"switching\"",
            "`path`: switching does not fit the other layers. The regular call",
        ),
        (
            "marut",
            "end-to-end = \"gradient\"",
            "`end-to-end`: gradient does not fit the other layers. The window follows",
        ),
        (
            "udp-or",
            "repair = \"per-hop\"",
            "`end-to-end`: tcp does not fit the other layers. TCP over hops",
        ),
    ] {
        let error = problem(preset, options);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_transport_is_what_its_layers_make_it() {
    let build = |preset: &str, options: &str| {
        let built = build::<Counted>(preset, &options.parse().unwrap());
        built.unwrap_or_else(|error| panic!("{preset}: {error}"))
    };
    let layers = "carrier = \"datagram\"\nhop-control = \"delay-window\"\nend-to-end = \"none\"\n\
                  queue-limit = 4000\nrefill = \"10 ms\"";
    let [tor, own] = [build("vanilla", layers), build("backtap", "")];
    let same = |plan: Plan| format!("{plan:?}");
    assert_eq!(same(tor.plan()), same(own.plan()));
}

fn plan(preset: &str, options: &str) -> Result<Plan, ConfigError> {
    let options = options.parse().unwrap();
    build::<Counted>(preset, &options).map(|factory| factory.plan())
}

#[test]
fn every_transport_takes_a_scheduler() {
    for preset in presets() {
        let plan = plan(preset.name, "scheduler = \"ewma\"\nhalf-life = \"1 s\"").unwrap();
        let half_life = Duration::from_secs(1);
        let order = plan.link.scheduler.order;
        assert_eq!(order, Order::Ewma { half_life }, "{}", preset.name);
    }
}

#[test]
fn the_half_life_of_a_preset_is_that_of_its_own_scheduler() {
    let order = |scheduler: &str, preset: &str| {
        plan(preset, scheduler).map(|plan| plan.link.scheduler.order)
    };
    let ewma = |secs| Order::Ewma {
        half_life: Duration::from_secs(secs),
    };
    for preset in presets() {
        let name = preset.name;
        let turns = order("scheduler = \"round-robin\"", name).unwrap();
        assert!(!matches!(turns, Order::Ewma { .. }), "{name}");
        let own = if name == "joint" { 1 } else { 30 };
        assert_eq!(
            order("scheduler = \"ewma\"", name).unwrap(),
            ewma(own),
            "{name}"
        );
        match order("scheduler = \"kist\"", name) {
            Ok(order) => assert_eq!(order, ewma(30), "{name}"),
            Err(error) => assert!(
                error.to_string().starts_with("`scheduler` is kist"),
                "{error}"
            ),
        }
    }
    let both = "scheduler = \"round-robin\"\nhalf-life = \"2 s\"";
    let error = order(both, "joint").unwrap_err().to_string();
    assert!(error.contains("`half-life`"), "{error}");
}

#[test]
fn kist_is_for_tcp() {
    let kist = "scheduler = \"kist\"";
    assert_eq!(
        plan("pctcp", kist).unwrap().link.scheduler.scope,
        Scope::Node
    );
    let error = plan("backtap", kist).unwrap_err().to_string();
    assert!(error.contains("round-robin or ewma"), "{error}");
}
