//! Reading, checking and sampling scenarios.

use std::collections::BTreeSet;

use hopflow_lab::builtin;
use hopflow_lab::scenario::{Scenario, schema};
use hopflow_sim::spec::Class;
use hopflow_units::{Duration, Rate};

const SMALL: &str = r#"
name = "small"
duration = "10 s"
warm-up = "2 s"
seeds = 2
[transports.vanilla]
[network]
bucket = { rate = "1 MB/s", refill = "100 ms" }
[[network.relays]]
name = "guard"
count = 3
access = { delay = { uniform = ["5 ms", "40 ms"] } }
[[network.relays]]
name = "middle"
bucket = { rate = { points = [["100 kB/s", 0.0], ["200 kB/s", 0.5], ["1 MB/s", 1.0]] } }
[[network.relays]]
name = "exit"
bucket = "unlimited"
[[circuits]]
count = 4
path = ["guard", "middle", "exit"]
workload = "web"
start = { uniform = ["0 s", "2 s"] }
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "small.toml").map_err(|error| error.to_string())
}

/// The message about `SMALL` with `from` replaced by `to`.
fn message(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    parse(&SMALL.replace(from, to)).expect_err(to)
}

#[test]
fn every_built_in_scenario_is_valid_and_bears_its_file_name() {
    for builtin in builtin::scenarios() {
        let (scenario, _) = Scenario::load(builtin.name).unwrap();
        assert_eq!(scenario.name, builtin.name);
        assert!(!scenario.about.is_empty());
    }
}

#[test]
fn the_committed_schema_is_current() {
    let committed = include_str!("../../../scenarios/scenario.schema.json");
    assert!(
        committed == schema(),
        "write it anew: cargo run -- schema > scenarios/scenario.schema.json"
    );
}

#[test]
fn messages_name_file_line_key_value_and_what_is_allowed() {
    for (from, to, expected) in [
        (
            "duration = \"10 s\"",
            "durration = \"10 s\"",
            "small.toml:3: durration: unknown key \"durration\"; did you mean \"duration\"? allowed: name, about, ",
        ),
        (
            "delay = {",
            "dealy = {",
            "small.toml:12: network.relays[0].access.dealy: unknown key \"dealy\"; did you mean \"delay\"?",
        ),
        (
            "\"1 MB/s\", refill",
            "\"1 mb/s\", refill",
            "small.toml:8: network.bucket.rate: \"1 mb/s\": has the unknown unit \"mb/s\"; allowed is a rate: ",
        ),
        (
            "warm-up = \"2 s\"",
            "warm-up = 2",
            "small.toml:4: warm-up: invalid type: integer",
        ),
        (
            "warm-up = \"2 s\"",
            "warm-up = \"10 s\"",
            "small.toml:4: warm-up: \"10 s\" leaves nothing to evaluate",
        ),
        (
            "seeds = 2",
            "",
            "small.toml:1: the key \"seeds\" is missing",
        ),
        (
            "seeds = 2",
            "seeds = 0",
            "small.toml:5: seeds: is 0; allowed is a number of seeds from 1 to ",
        ),
        (
            "seeds = 2",
            "seeds = [1, 1]",
            "small.toml:5: seeds: a seed occurs twice",
        ),
        (
            "seeds = 2",
            "seeds = [7, 2, 4294967303]",
            "small.toml:5: seeds: 7 and 4294967303 agree in their lower 32 bits",
        ),
        (
            "\"guard\", \"middle\"",
            "\"gurad\", \"middle\"",
            "small.toml:21: circuits[0].path[0]: there is no relay \"gurad\"; did you mean \"guard\"?",
        ),
        (
            "workload = \"web\"",
            "workload = \"wbe\"",
            "small.toml:22: circuits[0].workload: \"wbe\" is not a workload; did you mean \"web\"? allowed: bulk, web",
        ),
        (
            "\"5 ms\", \"40 ms\"",
            "\"50 ms\", \"40 ms\"",
            "small.toml:12: network.relays[0].access.delay: uniform = [\"50 ms\", \"40 ms\"] is decreasing",
        ),
        (
            "count = 4",
            "count = 0",
            "small.toml:20: circuits[0].count: 0 is outside",
        ),
        (
            "[transports.vanilla]",
            "[transports.vanila]",
            "small.toml:6: transports.vanila: \"vanila\" is unknown; did you mean `vanilla`?",
        ),
        (
            "[transports.vanilla]",
            "[transports.mine]\npreset = \"vanila\"",
            "small.toml:7: transports.mine.preset: \"vanila\" is unknown; did you mean `vanilla`?",
        ),
        (
            "[transports.vanilla]",
            "[transports.vanilla]\noptions = { circuit-widnow = 9 }",
            "small.toml:7: transports.vanilla.options.circuit-widnow: unknown; did you mean",
        ),
        (
            "[transports.vanilla]",
            "[transports.vanilla]\noptions = { circuit-window = -9 }",
            "small.toml:7: transports.vanilla.options.circuit-window: is -9; allowed is a whole",
        ),
        (
            "[transports.vanilla]",
            "[transports.vanilla]\noptions = { circuit-window = [100, 200] }",
            "small.toml:7: transports.vanilla.options.circuit-window: is [100, 200]; allowed is one value, a whole",
        ),
        ("count = 4", "count = = 4", "small.toml:20: "),
    ] {
        let found = message(from, to);
        assert!(
            found.starts_with(expected),
            "expected {expected}\n   found {found}"
        );
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn messages_about_transports_say_how_to_go_on() {
    let label = message("[transports.vanilla]", "[transports.mine]");
    assert!(label.contains("add `preset = "), "{label}");
    let list = "[transports.vanilla]\noptions = { circuit-window = [100, 200] }";
    let list = message("[transports.vanilla]", list);
    assert!(list.contains("give each a label"), "{list}");
}

#[test]
fn paths_must_be_possible() {
    for (to, expected) in [
        ("[\"middle\", \"middle\"]", "occurs twice"),
        (
            "[\"guard\", \"guard\", \"guard\", \"guard\"]",
            "4 different relays of \"guard\"",
        ),
        ("{ random = 6 }", "6 relays of 5 cannot be different"),
        ("[]", "is too short"),
        ("{ radnom = 2 }", "did you mean \"random\"?"),
    ] {
        let found = message("[\"guard\", \"middle\", \"exit\"]", to);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn sampled_values_lie_within_their_distributions() {
    let scenario = parse(SMALL).unwrap();
    for seed in 1..50 {
        let world = scenario.sample(seed);
        assert_eq!(world.nodes.len(), 5 + 4);
        for guard in &world.nodes[..3] {
            assert!(guard.access.delay >= Duration::from_millis(5));
            assert!(guard.access.delay <= Duration::from_millis(40));
            assert_eq!(
                guard.bucket.unwrap().rate,
                Rate::from_kilobytes_per_sec(1000)
            );
        }
        let middle = world.nodes[3].bucket.unwrap();
        assert!(middle.rate >= Rate::from_kilobytes_per_sec(100));
        assert!(middle.rate <= Rate::from_kilobytes_per_sec(1000));
        assert_eq!(middle.interval, Some(Duration::from_millis(100)));
        assert_eq!(world.nodes[4].bucket, None);
        for (number, circuit) in world.circuits.iter().enumerate() {
            let path: Vec<_> = circuit.path.iter().map(|node| node.index()).collect();
            assert_eq!(path[0], 5 + number);
            assert!(path[1] < 3);
            assert_eq!(path[2..], [3, 4]);
            assert_eq!(circuit.class, Class::Web);
            assert!(circuit.start <= Duration::from_secs(2));
        }
    }
}

#[test]
fn another_group_of_circuits_changes_nothing_of_what_was_drawn_before() {
    let more = format!("{SMALL}\n[[circuits]]\npath = {{ random = 3 }}\nworkload = \"bulk\"\n");
    let before = parse(SMALL).unwrap().sample(7);
    let after = parse(&more).unwrap().sample(7);
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    assert_eq!(text(&after.nodes[..9].to_vec()), text(&before.nodes));
    assert_eq!(text(&after.circuits[..4].to_vec()), text(&before.circuits));
}

#[test]
fn random_paths_repeat_no_relay_and_prefer_fast_relays_when_weighted() {
    let random = SMALL.replace(
        "[\"guard\", \"middle\", \"exit\"]",
        "{ random = 3, weighted = true }",
    );
    let scenario = parse(&random).unwrap();
    let mut with_exit = 0;
    for seed in 1..100 {
        for circuit in scenario.sample(seed).circuits {
            let distinct: BTreeSet<_> = circuit.path.iter().collect();
            assert_eq!(distinct.len(), 4);
            with_exit += usize::from(circuit.path.iter().any(|node| node.index() == 4));
        }
    }
    // The exit's 1.25 GB/s stand against at most 4 MB/s of all others.
    assert!(with_exit > 390, "{with_exit}");
}

#[test]
fn what_a_scenario_is_written_as_is_read_back() {
    for builtin in builtin::scenarios() {
        let (scenario, _) = Scenario::load(builtin.name).unwrap();
        let written = toml::to_string(&scenario).unwrap();
        assert_eq!(
            Scenario::parse(&written, "written").unwrap(),
            scenario,
            "{written}"
        );
    }
    let scenario = parse(SMALL).unwrap();
    assert_eq!(
        parse(&toml::to_string(&scenario).unwrap()).unwrap(),
        scenario
    );
}

#[test]
fn the_example_in_the_description_of_the_format_is_valid() {
    let page = include_str!("../../../scenarios/README.md");
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let scenario = parse(example).unwrap();
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
    let world = scenario.sample(1);
    world.validate().unwrap();
    assert_eq!(world.nodes.len(), 26 + 36);
    assert_eq!(world.circuits.len(), 37);
    assert_eq!(world.circuits[36].legs.len(), 1);
    assert_eq!(world.circuits[34].path.len(), 2);
}

#[test]
fn users_with_several_paths_share_their_last_relay_and_no_other() {
    let scenario = parse(&SMALL.replace(
        "path = [\"guard\", \"middle\", \"exit\"]",
        "path = { random = 2 }\nlegs = 2",
    ))
    .unwrap();
    for circuit in scenario.sample(3).circuits {
        let [leg] = &circuit.legs[..] else {
            panic!("{:?}", circuit.legs);
        };
        assert_eq!((circuit.path[0], circuit.path[2]), (leg[0], leg[2]));
        assert_ne!(circuit.path[1], leg[1]);
    }
    let fixed = SMALL.replace(
        "path = [\"guard\", \"middle\", \"exit\"]",
        "path = [\"guard-1\", \"middle\", \"exit\"]\nlegs = [[\"guard-2\", \"exit\"]]",
    );
    for circuit in parse(&fixed).unwrap().sample(3).circuits {
        let relays: Vec<_> = circuit.legs[0][1..].iter().map(|n| n.index()).collect();
        assert_eq!(relays, [1, 4]);
    }
}

#[test]
fn paths_that_a_user_cannot_have_are_refused() {
    let path = "path = [\"guard\", \"middle\", \"exit\"]";
    for (legs, expected) in [
        (
            "legs = 1",
            "circuits[0].legs: allowed is a number of paths from 2 to 16",
        ),
        (
            "legs = [[\"guard\", \"exit\"]]",
            "circuits[0].legs[0]: \"guard\" is a group; allowed are single relays",
        ),
        (
            "legs = [[\"guard-1\", \"middle\"]]",
            "circuits[0].legs[0]: \"guard\" is a group",
        ),
    ] {
        let found = message(path, &format!("{path}\n{legs}"));
        assert!(found.contains(expected), "{legs}: {found}");
    }
    let fixed = "path = [\"guard-1\", \"exit\"]";
    for (legs, expected) in [
        ("legs = 2", "must be further paths"),
        (
            "legs = [[\"guard-2\", \"middle\"]]",
            "circuits[0].legs[0]: does not end where the first path does",
        ),
    ] {
        let found = message(path, &format!("{fixed}\n{legs}"));
        assert!(found.contains(expected), "{legs}: {found}");
    }
}

#[test]
fn further_paths_that_could_not_differ_are_refused() {
    let path = "path = [\"guard\", \"middle\", \"exit\"]";
    for same in [
        "path = { random = 1 }\nlegs = 3",
        "path = { random = 2 }\nlegs = 2\nclient = false",
        "path = [\"guard\", \"exit\"]\nlegs = 2\nclient = false",
        "path = [\"middle\", \"guard\"]\nlegs = 2",
        "path = [\"guard\", \"guard-1\", \"guard\"]\nlegs = 2",
    ] {
        let found = message(path, same);
        let expected = "circuits[0].legs: ";
        assert!(found.contains(expected), "{same}: {found}");
    }
    for differ in [
        "path = { random = 2 }\nlegs = 2",
        "path = { random = 3 }\nlegs = 2\nclient = false",
        // All five relays: the ends are shared.
        "path = { random = 3 }\nlegs = 3\nclient = false",
        "path = [\"guard\", \"exit\"]\nlegs = 2",
        "path = [\"middle\", \"guard\", \"exit\"]\nlegs = 2\nclient = false",
        "path = [\"guard\", \"guard\"]\nlegs = 2",
        "path = [\"guard\", \"guard-1\", \"exit\"]\nlegs = 2",
    ] {
        let scenario = parse(&SMALL.replace(path, differ)).unwrap();
        let circuits = scenario.sample(1).circuits;
        for circuit in circuits {
            assert_ne!(circuit.path, circuit.legs[0], "{differ}");
        }
    }
}

#[test]
fn relays_have_no_names_of_clients_and_servers() {
    for name in ["client", "server", "client-x"] {
        let found = message("name = \"guard\"", &format!("name = \"{name}\""));
        let expected = format!("network.relays[0].name: \"{name}-1\" is a name of nodes");
        assert!(found.contains(&expected), "{found}");
    }
    for name in ["client-3", "server-0"] {
        let found = message("name = \"exit\"", &format!("name = \"{name}\""));
        let expected = format!("network.relays[2].name: \"{name}\" is a name of nodes");
        assert!(found.contains(&expected), "{found}");
    }
    let single = SMALL.replace("\"exit\"", "\"server\"");
    parse(&single.replace("\"middle\"", "\"client\"")).unwrap();
}

#[test]
fn what_tcp_cannot_have_is_refused_with_its_key() {
    for (tcp, expected) in [
        (
            "mss = \"9 B\"",
            "network.tcp.mss: 9 B: allowed is 64 B to 65455 B",
        ),
        (
            "mss = \"500 B\", send-buffer = \"511 B\"",
            "network.tcp.send-buffer: 511 B: allowed is `mss`, and a cell (512 B), to 2 GiB",
        ),
        (
            "unsent = \"1448 B\"",
            "network.tcp.unsent: 1448 B: allowed is `mss` and a cell (512 B) together, or more",
        ),
        (
            "initial-window = 0",
            "network.tcp.initial-window: 0: allowed is 1 to 1000",
        ),
    ] {
        let found = message("[network]\n", &format!("[network]\ntcp = {{ {tcp} }}\n"));
        assert!(found.contains(expected), "{tcp}: {found}");
    }
}

#[test]
fn keys_that_change_nothing_are_refused() {
    let path = "path = [\"guard\", \"middle\", \"exit\"]";
    let start = "start = { uniform = [\"0 s\", \"2 s\"] }";
    for (from, to, expected) in [
        (
            path,
            format!("{path}\nclient = false\naccess = {{ rate = \"1 Mbit/s\" }}"),
            "circuits[0].access: is for clients, and with `client = false` there are none",
        ),
        (
            path,
            format!("{path}\nclient = false\nat = \"root\""),
            "circuits[0].at: is for clients",
        ),
        (
            path,
            format!("{path}\nrebuild = \"2 s\""),
            "circuits[0].rebuild: is for circuits over relays that stop; needed is",
        ),
        (
            start,
            "arrivals = [[\"0 s\", 0], [\"10 s\", 0], [\"20 s\", 1]]".to_owned(),
            "circuits[0].arrivals: lets nobody arrive before \"10 s\"; allowed is a load above zero \
             before \"10 s\"",
        ),
    ] {
        let found = message(from, &to);
        assert!(found.contains(expected), "{to}: {found}");
    }
    let stop = "[[faults]]\nwhat = \"stop\"\nat = \"3 s\"\n";
    let rebuilt = SMALL.replace(path, &format!("{path}\nrebuild = \"2 s\""));
    assert!(parse(&format!("{rebuilt}{stop}")).is_ok());
}

#[test]
fn an_upload_counts_what_the_user_sends() {
    let upload = |more: &str| {
        let workload = format!("workload = {{ class = \"bulk\", direction = \"upload\"{more} }}");
        SMALL.replace("workload = \"web\"", &workload)
    };
    let mut random = hopflow_random::Streams::new(1).stream("test", 0);
    for (more, request) in [("", 5 << 20), (", request = \"12.3 MB\"", 12_300_000)] {
        let world = parse(&upload(more)).unwrap().sample(1);
        let model = &world.circuits[0].workload;
        let fetch = model.session().next(&mut random).unwrap();
        assert_eq!(model.measured(), hopflow_overlay::Direction::Forward);
        assert_eq!(fetch.request.get(), request);
        assert_eq!(fetch.response.unwrap().get(), 498);
    }
    let error = parse(&upload(", response = \"endless\"")).unwrap_err();
    assert!(error.contains("workload.response"), "{error}");
}
