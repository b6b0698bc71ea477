//! Topologies of scenarios, and the sources of their relays and paths.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use hopflow_lab::scenario::Scenario;
use hopflow_sim::spec::{CircuitSpec, WorldSpec};
use hopflow_units::{Duration, Rate};
use tempfile::TempDir;

/// A scenario with this `[network]` and the tables after it.
fn text(network: &str, circuits: &str) -> String {
    format!(
        "name = \"net\"\nduration = \"10 s\"\nseeds = 2\n[transports.vanilla]\n\
         [network]\n{network}\n{circuits}\n"
    )
}

fn circuits(count: u32, path: &str) -> String {
    format!("[[circuits]]\ncount = {count}\npath = {path}\nworkload = \"web\"\n")
}

fn group(name: &str, count: u32, more: &str) -> String {
    format!("[[network.relays]]\nname = \"{name}\"\ncount = {count}\n{more}\n")
}

fn parse(text: &str) -> Result<Scenario, String> {
    parse_beside(text, Path::new("net.toml"), None)
}

fn parse_beside(text: &str, file: &Path, circuits: Option<&Path>) -> Result<Scenario, String> {
    Scenario::parse_with(text, &file.display().to_string(), circuits).map_err(|e| e.to_string())
}

/// The message about a scenario, which holds all of `parts`.
fn assert_refused(text: &str, parts: &[&str]) {
    let found = parse(text).expect_err(text);
    for part in parts {
        assert!(found.contains(part), "expected {part}\n   found {found}");
    }
}

/// The relays of a circuit, without its client.
fn relays(circuit: &CircuitSpec) -> Vec<usize> {
    circuit.path[1..].iter().map(|node| node.index()).collect()
}

fn mean_delay(world: &WorldSpec, router: u32) -> f64 {
    let at = |number: &usize| world.backbone.router(*number) == router;
    let numbers: Vec<_> = (0..world.nodes.len()).filter(at).collect();
    let total: f64 = numbers
        .iter()
        .map(|number| world.nodes[*number].access.delay.as_secs_f64())
        .sum();
    total * 1e3 / numbers.len() as f64
}

/// Mean round-trip times in ms: the quartiles in `topology.rs`, linear between them.
const WITHIN: [f64; 2] = [56.625, 37.875];
const BETWEEN: f64 = 143.75;

fn dumbbell(keys: &str) -> Scenario {
    let network = format!("topology = {{ dumbbell = {{ {keys} }} }}");
    let relays =
        group("west", 500, "at = \"north-america\"") + &group("east", 500, "at = \"europe\"");
    parse(&text(
        &(network + "\n" + &relays),
        &circuits(1, "[\"west\", \"east\"]"),
    ))
    .unwrap()
}

#[test]
fn round_trips_in_a_dumbbell_are_those_of_its_tables() {
    let scenario = dumbbell("");
    let mut within = [0.0; 2];
    let mut between = 0.0;
    let seeds = 1..=60;
    for seed in seeds.clone() {
        let world = scenario.sample(seed);
        let link = world.backbone.links[0].delay.as_secs_f64() * 1e3;
        let delays = [mean_delay(&world, 0), mean_delay(&world, 1)];
        for (sum, delay) in within.iter_mut().zip(delays) {
            *sum += 4.0 * delay / 60.0;
        }
        let round_trip = 2.0 * (delays[0] + link + delays[1]);
        assert!((70.0..260.0).contains(&round_trip), "{round_trip}");
        between += round_trip / 60.0;
    }
    assert!((within[0] / WITHIN[0] - 1.0).abs() < 0.02, "{within:?}");
    assert!((within[1] / WITHIN[1] - 1.0).abs() < 0.02, "{within:?}");
    // Each network draws it once: 60 values with a standard deviation of about 40 ms.
    assert!((between - BETWEEN).abs() < 16.0, "{between}");
}

#[test]
fn a_dumbbell_as_published_doubles_round_trips_within_a_continent() {
    let world = dumbbell("as-published = true").sample(1);
    for (router, mean) in (0..).zip(WITHIN) {
        let round_trip = 4.0 * mean_delay(&world, router);
        assert!(
            (round_trip / (2.0 * mean) - 1.0).abs() < 0.15,
            "{round_trip}"
        );
    }
}

#[test]
fn round_trips_that_a_scenario_gives_replace_the_tables() {
    let keys = "north-america = \"40 ms\", europe = \"20 ms\", between = \"100 ms\"";
    let world = dumbbell(keys).sample(1);
    assert_eq!(world.nodes[0].access.delay, Duration::from_millis(10));
    assert_eq!(world.nodes[500].access.delay, Duration::from_millis(5));
    assert_eq!(world.backbone.links[0].delay, Duration::from_millis(35));
}

#[test]
fn client_rates_in_a_dumbbell_lie_within_its_tables_unless_given() {
    let network = "topology = { dumbbell = {} }\n".to_owned() + &group("relay", 5, "");
    let world = parse(&text(&network, &circuits(400, "{ random = 3 }")))
        .unwrap()
        .sample(1);
    let clients = &world.nodes[5..];
    let mut slow = 0;
    for (number, client) in (5..).zip(clients) {
        let most = [54, 47][world.backbone.router(number) as usize];
        assert!(client.access.rate >= Rate::from_megabits_per_sec(1));
        assert!(client.access.rate <= Rate::from_megabits_per_sec(most));
        slow += u32::from(client.access.rate <= Rate::from_megabits_per_sec(10));
    }
    // 56 % in North America, 69 % in Europe, half of the clients each.
    assert!((220..280).contains(&slow), "{slow}");
    let given = format!("clients = {{ rate = \"3 MB/s\" }}\n{network}");
    let world = parse(&text(&given, &circuits(1, "{ random = 3 }")))
        .unwrap()
        .sample(1);
    assert_eq!(
        world.nodes[5].access.rate,
        Rate::from_kilobytes_per_sec(3000)
    );
}

#[test]
fn nodes_of_a_tree_are_at_its_leaves_or_where_they_say() {
    let network = "topology = { tree = { branches = [2, 3], delay = \"7 ms\" } }\n".to_owned()
        + &group("leaf", 6, "")
        + &group("inner", 2, "at = \"level-1\"")
        + &group("top", 1, "at = \"root\"");
    let world = parse(&text(&network, &circuits(1, "{ random = 3 }")))
        .unwrap()
        .sample(1);
    // The root is router 0, then come two of level 1, then six of level 2.
    let routers = |range: std::ops::Range<usize>| -> BTreeSet<u32> {
        range.map(|node| world.backbone.router(node)).collect()
    };
    assert_eq!(routers(0..6), (3..9).collect());
    assert_eq!(routers(6..8), (1..3).collect());
    assert_eq!(routers(8..9), [0].into());
    assert_eq!(world.backbone.links.len(), 8);
    let delay = Duration::from_millis(7);
    assert!(world.backbone.links.iter().all(|link| link.delay == delay));
    world.validate().unwrap();
}

#[test]
fn a_graph_file_beside_the_scenario_gives_routers_and_links() {
    let folder = TempDir::new().unwrap();
    let graph = "[[links]]\nbetween = [\"core\", \"west\"]\ndelay = \"20 ms\"\n\
                 [[links]]\nbetween = [\"core\", \"east\"]\ndelay = \"5 ms\"\nrate = \"8 Mbit/s\"\n\
                 queue = \"50 packets\"\n";
    fs::write(folder.path().join("graph.toml"), graph).unwrap();
    let network = "topology = { graph = \"graph.toml\" }\n".to_owned()
        + &group("relay", 4, "")
        + &group("central", 1, "at = \"core\"");
    let scenario = folder.path().join("net.toml");
    let network = text(&network, &circuits(1, "{ random = 3 }"));
    let world = parse_beside(&network, &scenario, None).unwrap().sample(1);
    let routers: Vec<_> = (0..5).map(|node| world.backbone.router(node)).collect();
    // Nodes take turns at the leaves, west and east.
    assert_eq!(routers, [1, 2, 1, 2, 0]);
    let rates: Vec<_> = world.backbone.links.iter().map(|link| link.rate).collect();
    assert_eq!(rates, [None, Some(Rate::from_megabits_per_sec(8))]);
    world.validate().unwrap();
    let wrong = network.replace("at = \"core\"", "at = \"cor\"");
    let found = parse_beside(&wrong, &scenario, None).unwrap_err();
    let expected = "network.relays[1].at: there is no router \"cor\"; did you mean \"core\"?";
    assert!(found.contains(expected), "{found}");
    fs::write(
        folder.path().join("graph.toml"),
        graph.replace("delay", "dealy"),
    )
    .unwrap();
    let found = parse_beside(&network, &scenario, None).unwrap_err();
    assert!(
        found.contains("network.topology.graph") && found.contains("dealy"),
        "{found}"
    );
}

/// Lines of a circuit file over 12 relays: guards 0 to 3, exits 4 to 7, others.
fn published(lines: usize) -> String {
    let continents = ["EU", "NA"];
    let relay = |number: usize| {
        format!(
            "{number:040X} {} {}",
            continents[number % 2],
            1_000_000 + 1_000 * number
        )
    };
    let mut file = String::new();
    for line in 0..lines {
        let (entry, exit, middle) = (line % 4, 4 + (line / 4) % 4, 8 + line % 3 + line / 16 % 2);
        let fields = [relay(entry), relay(middle), relay(exit)].join("\t");
        writeln!(file, "{line}\t{fields}").unwrap();
    }
    file
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A scenario over `FILE` in a folder, with circuits of this path.
fn from_file(count: u32, path: &str) -> String {
    let network = "topology = { dumbbell = {} }\nsource = { circuits = \"FILE\" }\n\
                   bucket = { depth = \"64 kB\", refill = \"10 ms\" }";
    text(network, &circuits(count, path))
}

fn paths(scenario: &Scenario, seed: u64) -> Vec<Vec<usize>> {
    let world = scenario.sample(seed);
    world.validate().unwrap();
    world.circuits.iter().map(relays).collect()
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
        "--circuits",
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

fn population(relays: u32, path: &str) -> String {
    let source = format!("source = {{ population = {{ relays = {relays} }} }}");
    let bucket = "bucket = { refill = \"10 ms\" }\ntopology = { dumbbell = {} }";
    text(&format!("{source}\n{bucket}"), &circuits(80, path))
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
fn messages_about_places_and_sources_say_what_is_allowed() {
    let star = |relay: &str| text(&group("relay", 4, relay), &circuits(1, "{ random = 3 }"));
    assert_refused(
        &star("at = \"europe\""),
        &["network.relays[0].at: a star has one router"],
    );
    let dumbbell =
        |text: &str| text.replace("[network]", "[network]\ntopology = { dumbbell = {} }");
    assert_refused(
        &dumbbell(&star("at = \"asia\"")),
        &[
            "network.relays[0].at: there is no router \"asia\"",
            "allowed: north-america, europe",
        ],
    );
    assert_refused(
        &dumbbell(&star("access = { delay = \"5 ms\" }")),
        &["network.relays[0].access.delay: a dumbbell sets the delays"],
    );
    let path = |path: &str| star("").replace("{ random = 3 }", path);
    assert_refused(
        &path("\"published\""),
        &["circuits[0].path: \"published\" needs a file: network.source = { circuits = FILE }"],
    );
    assert_refused(
        &path("{ tor = 3 }"),
        &[
            "circuits[0].path.tor: needs relays with flags",
            "population = { relays = 100 }",
        ],
    );
    let cross = |to: &str| star("") + &format!("[[network.cross]]\ncount = 1\nto = \"{to}\"\n");
    assert!(parse(&cross("relay-2")).is_ok());
    assert_refused(
        &cross("realy"),
        &["network.cross[0].to: there is no relay \"realy\"; did you mean \"relay\"?"],
    );
}

#[test]
fn messages_about_populations_name_key_value_and_what_is_allowed() {
    for (relays, path, parts) in [
        (
            2,
            "{ random = 2 }",
            [
                "network.source.population.relays: 2 is outside",
                "3 to 1000000",
            ],
        ),
        (
            9,
            "{ random = 10 }",
            [
                "circuits[0].path.random",
                "10 relays of 9 cannot be different",
            ],
        ),
        (
            9,
            "{ tor = 2 }",
            [
                "circuits[0].path.tor: 2 is outside",
                "3 (guard, middle, exit) or more",
            ],
        ),
        (
            9,
            "{ tor = 9 }",
            ["circuits[0].path.tor: the 9 relays", "have no path of 9"],
        ),
        (
            9,
            "{ tor = 3, random = 3 }",
            ["circuits[0].path", "exactly one of the keys"],
        ),
        (
            9,
            "{ tor = 3, weighted = true }",
            ["circuits[0].path", "\"weighted\" goes with"],
        ),
        (
            9,
            "{ tro = 3 }",
            ["circuits[0].path.tro: unknown key", "did you mean \"tor\"?"],
        ),
    ] {
        assert_refused(&population(relays, path), &parts);
    }
    let taken = population(9, "{ tor = 3 }").replace(
        "[[circuits]]",
        "[[network.relays]]\nname = \"relay-8\"\nbucket = \"unlimited\"\n[[circuits]]",
    );
    assert_refused(
        &taken,
        &["network.relays[0].name: the name \"relay-8\" is taken"],
    );
    let refill = population(9, "{ tor = 3 }").replace("10 ms", "0 ms");
    assert_refused(&refill, &["network.bucket.refill: is zero"]);
}

fn with_consensus() -> String {
    let with = "relays = 20, consensus = \"no-consensus\"";
    population(20, "{ tor = 3 }").replace("relays = 20", with)
}

#[cfg(not(feature = "consensus"))]
#[test]
fn a_build_that_reads_no_consensus_says_how_to_get_one_that_does() {
    assert_refused(
        &with_consensus(),
        &[
            "population.consensus: is \"no-consensus\"",
            "the cargo feature \"consensus\"",
            "--features",
        ],
    );
}

#[cfg(feature = "consensus")]
#[test]
fn a_consensus_that_is_missing_or_none_is_named() {
    assert_refused(
        &with_consensus(),
        &["there is no file \"no-consensus\"", "HOPFLOW_DATA"],
    );
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("no-consensus"), "a poem").unwrap();
    let beside = folder.path().join("net.toml");
    let found = parse_beside(&with_consensus(), &beside, None).unwrap_err();
    assert!(found.contains("is not a consensus document"), "{found}");
}

#[test]
fn the_examples_of_topologies_and_sources_in_the_description_of_the_format_are_valid() {
    let folder = TempDir::new().unwrap();
    let beside = folder.path().join("net.toml");
    fs::write(folder.path().join("circuits.dat.gz"), gzip(&published(40))).unwrap();
    let page = include_str!("../../../scenarios/README.md");
    let examples = page.split("```toml\n").skip(2);
    let examples = examples.map(|rest| rest.split_once("```").unwrap().0);
    let (graphs, networks): (Vec<_>, Vec<_>) =
        examples.partition(|text| text.starts_with("[[links"));
    fs::write(folder.path().join("graph.toml"), graphs[0]).unwrap();
    assert_eq!((graphs.len(), networks.len()), (1, 5));
    for network in networks {
        let scenario = text("", "").replace("[network]\n", "") + network;
        let scenario = parse_beside(&scenario, &beside, None).unwrap();
        let world = scenario.sample(1);
        world.validate().unwrap();
        assert!(!world.circuits.is_empty());
    }
}
