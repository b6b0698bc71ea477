//! How nodes are joined.

use std::collections::BTreeSet;
use std::fs;

use hopflow_lab::scenario::Scenario;
use hopflow_sim::spec::WorldSpec;
use hopflow_units::{Duration, Rate};
use tempfile::TempDir;

use crate::{circuits, group, parse, parse_beside, text};

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

#[test]
fn graphs_without_links_or_in_two_parts_are_refused_and_so_are_too_many_routers() {
    let folder = TempDir::new().unwrap();
    let scenario = folder.path().join("net.toml");
    let network = "topology = { graph = \"graph.toml\" }\n".to_owned() + &group("relay", 4, "");
    let network = text(&network, &circuits(1, "{ random = 3 }"));
    let link =
        |a: &str, b: &str| format!("[[links]]\nbetween = [\"{a}\", \"{b}\"]\ndelay = \"5 ms\"\n");
    let long: String = (0..4096)
        .map(|number| link("core", &format!("leaf-{number}")))
        .collect();
    for (graph, expected) in [
        ("links = []", "links: the list is empty; allowed is one"),
        (
            &(link("oslo", "rome") + &link("bern", "wien") + &link("oslo", "bonn")),
            "no links lead from the router \"oslo\" to \"bern\"",
        ),
        (
            &long,
            "there are 4097 routers or more; allowed are 1 to 4096",
        ),
    ] {
        fs::write(folder.path().join("graph.toml"), graph).unwrap();
        let found = parse_beside(&network, &scenario, None).unwrap_err();
        assert!(found.contains("network.topology.graph: "), "{found}");
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn trees_have_as_many_routers_as_the_simulator_allows() {
    let tree = |branches: &str| {
        let network = format!("topology = {{ tree = {{ branches = {branches} }} }}\n");
        parse(&text(
            &(network + &group("relay", 4, "")),
            &circuits(1, "{ random = 3 }"),
        ))
    };
    tree("[4095]").unwrap().sample(1).validate().unwrap();
    for (branches, expected) in [
        ("[4096]", "4097 routers or more; allowed are 1 to 4096"),
        ("[64, 63]", "4097 routers or more; allowed are 1 to 4096"),
        (
            "[4294967295, 4294967295, 4294967295]",
            "4294967296 routers or more; allowed are 1 to 4096",
        ),
        ("[2, 0]", "0 is outside of what is allowed: 1 or more"),
        ("[]", "is empty; allowed is one number or more"),
    ] {
        let found = tree(branches).unwrap_err();
        let key = "network.topology.tree.branches: ";
        assert!(found.contains(key) && found.contains(expected), "{found}");
    }
}
