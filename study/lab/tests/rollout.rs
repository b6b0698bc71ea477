//! Roll-outs: two transports in one network.

use std::collections::BTreeMap;

use hopflow_lab::run::{Campaign, Silent};
use hopflow_lab::scenario::Scenario;
use hopflow_results::{Direction, Folder, Tables};

/// Circuits of a client, one of five entries, the same middle, and one of three exits.
const NETWORK: &str = r#"
name = "tiny"
duration = "6 s"
warm-up = "2 s"
seeds = 2

[network]
access = { rate = "20 Mbit/s", delay = "10 ms" }
bucket = "unlimited"

[[network.relays]]
name = "entry"
count = 5

[[network.relays]]
name = "middle"
bucket = { rate = "500 kB/s", depth = "50 kB" }

[[network.relays]]
name = "exit"
count = 3

[[circuits]]
count = 16
path = ["entry", "middle", "exit"]
workload = { class = "bulk", response = "endless" }
start = { uniform = ["0 s", "1 s"] }
"#;

/// A roll-out of one preset in place of another, with these shares.
fn rollout([old, new]: [&str; 2], shares: &str) -> String {
    format!(
        "{NETWORK}\n[transports.rollout]\npreset = \"{old}\"\n\
         [transports.rollout.upgrade]\npreset = \"{new}\"\n{shares}\n"
    )
}

/// The tables of all seeds.
fn run(text: &str) -> Vec<Tables> {
    let scenario = Scenario::parse(text, "tiny").unwrap();
    let campaign = Campaign::new(scenario, text, "test").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = campaign.run(folder.path(), Some(2), &Silent).unwrap();
    let folder = Folder::open(folder.path());
    let runs = finished.runs.iter();
    runs.map(|run| folder.read_run(run).unwrap()).collect()
}

/// The circuits that were upgraded.
fn upgraded(run: &Tables) -> Vec<u32> {
    let rows = run.deployments.iter().filter(|row| row.upgraded);
    rows.map(|row| row.circuit).collect()
}

#[test]
fn at_none_and_at_all_it_is_the_one_transport_bit_for_bit() {
    for pair in [["vanilla", "backtap"], ["backtap", "pctcp"]] {
        for (shares, preset) in [("clients = 0.0", pair[0]), ("", pair[1])] {
            let plain = run(&format!("{NETWORK}\n[transports.{preset}]\n"));
            let rolled_out = run(&rollout(pair, shares));
            for (plain, mut rolled_out) in plain.into_iter().zip(rolled_out) {
                assert!(
                    rolled_out
                        .deployments
                        .iter()
                        .all(|row| row.preset == preset)
                );
                assert_eq!(rolled_out.deployments.len(), plain.circuits.len());
                rolled_out.deployments.clear();
                assert_eq!(rolled_out.fingerprint(), plain.fingerprint());
            }
        }
    }
}

#[test]
fn who_has_it_at_some_share_has_it_at_all_larger_ones() {
    for key in ["clients", "relays", "exits"] {
        let at = |share: f64| {
            let shares = format!("{key} = {share:?}");
            let runs = run(&rollout(["vanilla", "backtap"], &shares));
            runs.iter().map(upgraded).collect::<Vec<_>>()
        };
        let steps = [0.25, 0.5, 0.75, 1.0].map(at);
        for pair in steps.windows(2) {
            for (fewer, more) in pair[0].iter().zip(&pair[1]) {
                assert!(fewer.iter().all(|circuit| more.contains(circuit)), "{key}");
            }
        }
        assert_eq!(steps[3][0].len(), 16, "{key}");
        assert!(
            steps.iter().any(|runs| (1..16).contains(&runs[0].len())),
            "{key}"
        );
    }
}

#[test]
fn both_transports_share_a_relays_bucket_by_their_circuits() {
    for run in run(&rollout(["vanilla", "backtap"], "clients = 0.5")) {
        let upgraded = upgraded(&run);
        assert!((1..16).contains(&upgraded.len()));
        let mut goodput: BTreeMap<bool, f64> = BTreeMap::new();
        for circuit in &run.circuits {
            let rate = circuit.goodput_bytes_per_s;
            *goodput
                .entry(upgraded.contains(&circuit.circuit))
                .or_default() += rate;
        }
        let all = goodput[&true] + goodput[&false];
        assert!((430e3..500e3).contains(&all), "{all}");
        let share = goodput[&true] / all;
        let circuits = upgraded.len() as f64 / 16.0;
        assert!((share - circuits).abs() < 0.1, "{share} for {circuits}");
        let middle = run
            .relays
            .iter()
            .find(|relay| relay.name == "middle")
            .unwrap();
        assert!(middle.utilisation.unwrap() > 0.9);
        assert_eq!(run.relays.len(), 16 + 9);
    }
}

#[test]
fn both_transports_share_an_access_link_that_is_full() {
    let text = rollout(["pctcp", "backtap"], "clients = 0.5").replace(
        "bucket = { rate = \"500 kB/s\", depth = \"50 kB\" }",
        "access = { rate = \"4 Mbit/s\" }",
    );
    let (first, again) = (run(&text), run(&text));
    for (run, again) in first.iter().zip(&again) {
        assert_eq!(run.fingerprint(), again.fingerprint());
        let up = |link: &&hopflow_results::Link| {
            link.name == "middle" && link.direction == Direction::Up
        };
        let link = run.links.iter().find(up).unwrap();
        assert!(link.utilisation.unwrap() > 0.8, "{link:?}");
        let upgraded = upgraded(run);
        for new in [false, true] {
            let of = run.circuits.iter();
            let of = of.filter(|circuit| upgraded.contains(&circuit.circuit) == new);
            let goodput: f64 = of.map(|circuit| circuit.goodput_bytes_per_s).sum();
            // BackTap gives way to connections that fill the queue.
            assert!(goodput > 2e3, "{new}: {goodput}");
        }
    }
}

#[test]
fn runs_of_different_shares_are_told_apart() {
    let keys = |shares: &str| {
        let text = rollout(["vanilla", "backtap"], shares);
        let scenario = Scenario::parse(&text, "tiny").unwrap();
        let campaign = Campaign::new(scenario, &text, "test").unwrap();
        campaign.default_folder(std::path::Path::new("results"))
    };
    assert_ne!(keys("relays = 0.5"), keys("relays = 0.6"));
}

#[test]
fn a_share_above_one_and_an_unknown_preset_are_refused() {
    let refused = |shares: &str, new: &str| {
        let text = rollout(["vanilla", new], shares);
        Scenario::parse(&text, "tiny").unwrap_err().to_string()
    };
    let message = refused("relays = 1.5", "backtap");
    assert!(
        message.contains("transports.rollout.upgrade.relays")
            && message.contains("1.5 is outside of what is allowed: 0 to 1"),
        "{message}"
    );
    let message = refused("", "backtapp");
    assert!(
        message.contains("transports.rollout.upgrade.preset"),
        "{message}"
    );
    let message = refused("options = { window = 3 }", "backtap");
    assert!(
        message.contains("transports.rollout.upgrade.options.window"),
        "{message}"
    );
}
