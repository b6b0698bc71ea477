//! Tables of relays as sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use hopflow_sim::spec::CircuitSpec;
use hopflow_units::{NodeId, Rate};
use tempfile::TempDir;

use crate::{assert_refused, parse_beside, population, relays};

/// A scenario over so many relays of the table `FILE`.
fn with_table(relays: u32) -> String {
    let plain = format!("relays = {relays}");
    let with = format!("{plain}, table = \"FILE\"");
    population(relays, "{ tor = 3 }").replace(&plain, &with)
}

/// 40 relays, of which 0 to 9 are guards and 10 to 17 exits; the number is the last digits but one
/// of the fingerprint.
fn table() -> String {
    let mut text = "fingerprint,continent,bandwidth,weight,flags,family,network\n".to_owned();
    for number in 0..40 {
        let flags = match number {
            0..10 => "Fast Guard",
            10..18 => "Exit Fast",
            _ => "Fast",
        };
        let continent = ["EU", "NA"][number % 2];
        let bytes = 1_000_000 + 1_000 * number;
        let fingerprint = 16 * number;
        writeln!(
            text,
            "{fingerprint:040X},{continent},{bytes},{bytes},{flags},,10.{number}"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_consensus_document_is_refused_and_the_message_names_the_converter() {
    let parts = [
        "net.toml:6: network.source.population.consensus: ",
        "allowed is a table of relays",
        "hopflow-consensus CONSENSUS > relays.csv",
    ];
    let text = with_table(20).replace("table =", "consensus =");
    assert_refused(&text, &parts);
}

fn number(name: &str) -> u64 {
    u64::from_str_radix(name, 16).unwrap() / 16
}

#[test]
fn each_seed_draws_a_sample_of_a_table_and_relays_stay_where_they_are() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("FILE"), table()).unwrap();
    let beside = folder.path().join("net.toml");
    let scenario = parse_beside(&with_table(20), &beside, None).unwrap();
    let mut router_of = BTreeMap::new();
    let mut samples = BTreeSet::new();
    for seed in 1..=5 {
        let world = scenario.sample(seed);
        world.validate().unwrap();
        let numbers: Vec<u64> = world.nodes[..20].iter().map(|n| number(&n.name)).collect();
        for (node, relay) in numbers.iter().enumerate() {
            let rate = world.nodes[node].bucket.unwrap().rate;
            assert_eq!(rate, Rate::from_kilobytes_per_sec(1_000 + relay));
            let router = world.backbone.router(node);
            assert_eq!(*router_of.entry(*relay).or_insert(router), router);
        }
        for circuit in &world.circuits {
            let path = relays(circuit);
            assert!(numbers[path[0]] < 10, "no guard");
            assert!((10..18).contains(&numbers[path[2]]), "no exit");
        }
        samples.insert(numbers);
    }
    assert!(samples.len() > 1, "each seed drew the same relays");
    let found = parse_beside(&with_table(41), &beside, None).unwrap_err();
    let expected = "relays: 41 is outside of what is allowed: 3 to 40";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn stated_weights_count_where_the_network_has_all_relays_of_the_table() {
    let folder = TempDir::new().unwrap();
    let beside = folder.path().join("net.toml");
    // Guards and exits alone are middles.
    let weights = "bandwidth-weights Wed=10000 Wee=10000 Wgd=10000 Wgg=10000 Wmd=10000 Wme=1000 \
                   Wmg=1000 Wmm=0\n";
    fs::write(folder.path().join("FILE"), format!("{weights}{}", table())).unwrap();
    let others = |relays: u32| {
        let scenario = parse_beside(&with_table(relays), &beside, None).unwrap();
        let world = scenario.sample(1);
        let middles = world.circuits.iter().map(|circuit| circuit.path[2].index());
        let numbers = middles.map(|middle| number(&world.nodes[middle].name));
        numbers.filter(|number| *number >= 18).count()
    };
    assert_eq!(others(40), 0);
    assert!(others(39) > 0, "a sample has weights of its own");
}

#[test]
fn a_table_that_is_missing_or_none_is_named() {
    let parts = ["there is no file \"FILE\"", "HOPFLOW_DATA"];
    assert_refused(&with_table(20), &parts);
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("FILE"), "a poem").unwrap();
    let beside = folder.path().join("net.toml");
    let found = parse_beside(&with_table(20), &beside, None).unwrap_err();
    assert!(found.contains("is not a table of relays"), "{found}");
}

/// What is said of a scenario over so many relays of a table, with these seeds and paths.
fn refusal(lines: &str, relays: u32, seeds: &str, path: &str) -> String {
    let folder = TempDir::new().unwrap();
    let columns = "fingerprint,continent,bandwidth,weight,flags,family,network\n";
    fs::write(folder.path().join("FILE"), format!("{columns}{lines}")).unwrap();
    let text = with_table(relays).replace("seeds = 2", &format!("seeds = {seeds}"));
    let text = text.replace("path = { tor = 3 }", path);
    parse_beside(&text, &folder.path().join("net.toml"), None).unwrap_err()
}

#[test]
fn a_seed_whose_sample_has_no_path_is_named() {
    // Of the others, two are kin: samples that hold both have no path of five.
    let mut lines = String::new();
    let relays = [
        "Guard Fast,",
        "Exit Fast,",
        "Fast,",
        "Fast,7",
        "Fast,",
        "Fast,7",
    ];
    for (number, relay) in relays.into_iter().enumerate() {
        writeln!(
            lines,
            "{number:040X},EU,3000000,{},{relay},",
            3_000_000 + number
        )
        .unwrap();
    }
    // The samples of the first three have one.
    let found = refusal(&lines, 5, "[4, 6, 9, 5]", "path = { tor = 5 }");
    let expected = "circuits[0].path.tor: the 5 relays of network.source have no path of 5 for \
                    circuit 0 of seed 5";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_seed_whose_sample_has_no_path_of_three_is_named() {
    // All middles but one are kin of the guard, so that few samples of three have a path.
    let mut lines = String::new();
    for number in 0..400 {
        let relay = match number {
            0 => "Guard Fast,7",
            1 => "Exit Fast,",
            200 => "Fast,",
            _ => "Fast,7",
        };
        writeln!(
            lines,
            "{number:040X},EU,3000000,{},{relay},",
            3_000_000 + number
        )
        .unwrap();
    }
    let found = refusal(&lines, 3, "20", "path = { random = 2 }");
    let expected = "network.source.population.relays: 3 relays of the table leave no path of three";
    assert!(found.contains(expected), "{found}");
    assert!(found.contains(" of seed "), "{found}");
}

#[test]
fn legs_keep_relays_of_one_family_apart_too() {
    let folder = TempDir::new().unwrap();
    let mut table = "fingerprint,continent,bandwidth,weight,flags,family,network\n".to_owned();
    let relays = [
        ("Fast Guard Stable", "1"),
        ("Fast Guard Stable", ""),
        ("Exit Fast Stable", "1"),
        ("Exit Fast Stable", ""),
        ("Fast Stable", ""),
        ("Fast Stable", ""),
        ("Fast Stable", ""),
    ];
    for (number, (flags, family)) in relays.into_iter().enumerate() {
        writeln!(table, "{number:040X},EU,3000000,3000000,{flags},{family},").unwrap();
    }
    fs::write(folder.path().join("FILE"), table).unwrap();
    let text = with_table(7).replace("path = { tor = 3 }", "path = { tor = 3 }\nlegs = 2");
    let scenario = parse_beside(&text, &folder.path().join("net.toml"), None).unwrap();
    let network = scenario.sample(1);
    let family = |node: NodeId| {
        let name = &network.nodes[node.index()].name;
        [0, 2].contains(&u64::from_str_radix(name, 16).unwrap())
    };
    let paths = network.circuits.iter().flat_map(CircuitSpec::paths);
    let paths: Vec<_> = paths.collect();
    assert!(
        paths
            .iter()
            .any(|path| path.iter().skip(1).any(|node| family(*node)))
    );
    for path in paths {
        let kin = path.iter().skip(1).filter(|node| family(**node));
        assert!(kin.count() < 2, "{path:?}");
    }
}
