//! Where relays and paths come from.

use std::collections::BTreeSet;
use std::fs;

use hopflow_units::Duration;
use tempfile::TempDir;

use crate::{
    circuits, group, gzip, parse, parse_beside, paths, population, published, relays, text,
};

/// A scenario over `FILE` in a folder, with circuits of this path.
fn from_file(count: u32, path: &str) -> String {
    let network = "topology = { dumbbell = {} }\nsource = { circuits = \"FILE\" }\n\
                   bucket = { depth = \"64 kB\", refill = \"10 ms\" }";
    text(network, &circuits(count, path))
}

#[test]
fn each_seed_draws_other_lines_of_a_circuit_file_and_none_twice() {
    let folder = TempDir::new().unwrap();
    let beside = folder.path().join("net.toml");
    let mut first = None;
    for content in [published(40).into_bytes(), gzip(&published(40))] {
        fs::write(folder.path().join("FILE"), content).unwrap();
        let read = |count| parse_beside(&from_file(count, "\"published\""), &beside, None);
        let some = read(20).unwrap();
        let drawn = paths(&some, 1);
        assert_ne!(drawn, paths(&some, 2));
        assert_eq!(*first.get_or_insert(drawn.clone()), drawn);
        // With as many circuits as lines, each seed has all of them.
        let all = read(40).unwrap();
        assert_eq!(paths(&all, 1), paths(&all, 2));
        let found = read(41).unwrap_err();
        let expected = "circuits[0].count: 41 circuits are asked for; the file has 40";
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn relays_of_a_circuit_file_stand_where_it_says_and_forward_what_it_says() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("FILE"), published(40)).unwrap();
    let beside = folder.path().join("net.toml");
    let scenario = parse_beside(&from_file(5, "\"published\""), &beside, None).unwrap();
    let world = scenario.sample(1);
    for (number, node) in world.nodes.iter().enumerate().take(12) {
        let relay = usize::from_str_radix(&node.name, 16).unwrap();
        assert_eq!(world.backbone.router(number) == 1, relay % 2 == 0);
        let bucket = node.bucket.unwrap();
        assert_eq!(
            bucket.rate.bytes_per_sec(),
            1_000_000 + 1_000 * relay as u64
        );
        assert_eq!(bucket.interval, Some(Duration::from_millis(10)));
    }
}

#[test]
fn tor_paths_over_a_circuit_file_begin_at_guards_and_end_at_exits() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("FILE"), published(40)).unwrap();
    let beside = folder.path().join("net.toml");
    let scenario = parse_beside(&from_file(60, "{ tor = 4 }"), &beside, None).unwrap();
    let world = scenario.sample(1);
    let number = |node: usize| usize::from_str_radix(&world.nodes[node].name, 16).unwrap();
    for circuit in &world.circuits {
        let path = relays(circuit);
        assert_eq!(path.len(), 4);
        assert_eq!(path.iter().collect::<BTreeSet<_>>().len(), 4);
        assert!(number(path[0]) < 4, "no guard");
        assert!((4..8).contains(&number(path[3])), "no exit");
    }
}

#[test]
fn another_circuit_file_replaces_that_of_the_scenario() {
    let folder = TempDir::new().unwrap();
    let other = folder.path().join("other");
    fs::write(&other, gzip(&published(7))).unwrap();
    let beside = folder.path().join("net.toml");
    let missing = parse_beside(&from_file(7, "\"published\""), &beside, None).unwrap_err();
    for part in [
        "network.source.circuits: there is no file \"FILE\"",
        "HOPFLOW_DATA",
        "(`circuits`)",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
    let scenario = from_file(7, "\"published\"");
    let scenario = parse_beside(&scenario, &beside, Some(&other)).unwrap();
    assert_eq!(paths(&scenario, 1).len(), 7);
    let none = text(&group("relay", 3, ""), &circuits(1, "{ random = 3 }"));
    let found = parse_beside(&none, &beside, Some(&other)).unwrap_err();
    assert!(found.contains("takes no circuits from a file"), "{found}");
}

#[test]
fn each_seed_draws_a_population_of_its_own_and_tor_paths_over_it() {
    let scenario = parse(&population(40, "{ tor = 3 }")).unwrap();
    let rates = |seed| -> Vec<_> {
        let world = scenario.sample(seed);
        let relays = world.nodes.iter().take(40);
        relays.map(|node| node.bucket.unwrap().rate).collect()
    };
    assert_ne!(rates(1), rates(2));
    let world = scenario.sample(1);
    world.validate().unwrap();
    assert_eq!(world.nodes.len(), 40 + 80);
    let mut europe = 0;
    for number in 0..40 {
        assert_eq!(world.nodes[number].name, format!("relay-{number}"));
        let interval = world.nodes[number].bucket.unwrap().interval;
        assert_eq!(interval, Some(Duration::from_millis(10)));
        europe += world.backbone.router(number);
    }
    assert!((20..40).contains(&europe), "{europe}");
    // Guards come first in a built-in population: 20 of 85.
    assert!(world.circuits.iter().all(|circuit| relays(circuit)[0] < 10));
}

#[test]
fn random_paths_lead_over_the_relays_of_a_population_too() {
    let scenario = parse(&population(30, "{ random = 5, weighted = true }")).unwrap();
    let used: BTreeSet<usize> = paths(&scenario, 1).concat().into_iter().collect();
    assert!(
        used.len() > 15 && used.iter().all(|relay| *relay < 30),
        "{used:?}"
    );
}

#[test]
fn longer_tor_paths_have_more_middles() {
    let scenario = parse(&population(60, "{ tor = 6 }")).unwrap();
    for path in paths(&scenario, 3) {
        assert_eq!(path.iter().collect::<BTreeSet<_>>().len(), 6);
    }
}

#[test]
fn a_seed_draws_the_same_world_whatever_the_transports() {
    let one = population(40, "{ tor = 3 }");
    let other = one.replace("vanilla", "backtap");
    let world = |text: &str| {
        let world = parse(text).unwrap().sample(5);
        format!(
            "{:?} {:?} {:?}",
            world.nodes, world.backbone, world.circuits
        )
    };
    assert_eq!(world(&one), world(&other));
}

#[test]
fn a_population_leaves_listed_relays_and_clients_as_they_were() {
    let listed = group("listed", 3, "") + &circuits(2, "[\"listed\", \"listed\"]");
    let access = "access = { delay = { uniform = [\"5 ms\", \"40 ms\"] } }";
    let without = parse(&text(access, &listed)).unwrap().sample(1);
    let source = format!("source = {{ population = {{ relays = 20 }} }}\n{access}");
    let with = parse(&text(&source, &listed)).unwrap().sample(1);
    let debug = |value: &dyn std::fmt::Debug| format!("{value:?}");
    assert_eq!(
        debug(&with.nodes[..3].to_vec()),
        debug(&without.nodes[..3].to_vec())
    );
    assert_eq!(
        debug(&with.nodes[23..].to_vec()),
        debug(&without.nodes[3..].to_vec())
    );
}

#[test]
fn the_examples_of_topologies_and_sources_in_the_description_of_the_format_are_valid() {
    let folder = TempDir::new().unwrap();
    let beside = folder.path().join("net.toml");
    fs::write(folder.path().join("circuits.dat.gz"), gzip(&published(40))).unwrap();
    let page = include_str!("../../../../scenarios/README.md");
    let examples = page.split("```toml\n").skip(2);
    let examples = examples.map(|rest| rest.split_once("```").unwrap().0);
    let (rollouts, examples): (Vec<_>, Vec<_>) =
        examples.partition(|text| text.starts_with("[transports"));
    let (graphs, examples): (Vec<_>, Vec<_>) = examples
        .into_iter()
        .partition(|text| text.starts_with("[[links"));
    let (branches, examples): (Vec<_>, Vec<_>) = examples
        .into_iter()
        .partition(|text| text.starts_with("[branch]"));
    let (scales, networks): (Vec<_>, Vec<_>) = examples
        .into_iter()
        .partition(|text| text.starts_with("scale"));
    fs::write(folder.path().join("graph.toml"), graphs[0]).unwrap();
    assert_eq!((rollouts.len(), graphs.len(), networks.len()), (1, 1, 6));
    assert_eq!((branches.len(), scales.len()), (1, 1));
    let quickstart = include_str!("../../../../scenarios/quickstart.toml");
    parse(&(quickstart.to_owned() + "\n" + branches[0])).unwrap();
    let (scale, rest) = scales[0].split_once('\n').unwrap();
    let whole = text("", "").replace("[network]\n", "") + rest;
    parse(&format!("{scale}\n{whole}")).unwrap();
    let listed = group("listed", 3, "") + &circuits(2, "[\"listed\", \"listed\"]");
    parse(&(text("", &listed) + rollouts[0])).unwrap();
    for network in networks {
        let scenario = text("", "").replace("[network]\n", "") + network;
        let scenario = parse_beside(&scenario, &beside, None).unwrap();
        let world = scenario.sample(1);
        world.validate().unwrap();
        assert!(!world.circuits.is_empty());
    }
}

const PAGES: &str = "page,instance,time_us,size\n0,0,0,500\n0,0,9,-90000\n1,0,0,700\n1,0,9,-9000\n";

/// A scenario with two users who visit recorded pages.
fn visitors(workload: &str) -> String {
    let circuits =
        format!("[[circuits]]\ncount = 2\npath = {{ random = 3 }}\nworkload = {workload}\n");
    text("", &(group("relay", 4, "") + &circuits))
}

#[test]
fn recorded_pages_are_read_from_the_file_that_a_workload_names() {
    let folder = TempDir::new().unwrap();
    let beside = folder.path().join("net.toml");
    let scenario = visitors("{ class = \"web\", replay = \"PAGES\" }");
    let missing = parse_beside(&scenario, &beside, None).unwrap_err();
    assert!(
        missing.contains("circuits[0].workload.replay: there is no file"),
        "{missing}"
    );
    let mut digests = BTreeSet::new();
    for content in [PAGES.as_bytes().to_vec(), gzip(PAGES)] {
        fs::write(folder.path().join("PAGES"), content).unwrap();
        let read = parse_beside(&scenario, &beside, None).unwrap();
        assert!(
            read.sample(1)
                .circuits
                .iter()
                .all(|c| !c.workload.is_greedy())
        );
        digests.insert(read.loaded.digest().to_owned());
    }
    assert_eq!(
        digests.len(),
        2,
        "results are recognised by what was in the file"
    );
    fs::write(folder.path().join("PAGES"), "1,2\n").unwrap();
    let damaged = parse_beside(&scenario, &beside, None).unwrap_err();
    assert!(damaged.contains("its first line is not"), "{damaged}");
    let both = visitors("{ class = \"web\", replay = \"PAGES\", response = \"1 MB\" }");
    fs::write(folder.path().join("PAGES"), PAGES).unwrap();
    let both = parse_beside(&both, &beside, None).unwrap_err();
    assert!(
        both.contains("workload.response: conflicts with `replay`"),
        "{both}"
    );
}
