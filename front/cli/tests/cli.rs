//! The command line as its users meet it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const SCENARIO: &str = r#"
name = "tiny"
about = "Two circuits."
duration = "3 s"
warm-up = "1 s"
seeds = 2
[transports.vanilla]
[transports.backtap]
[network]
bucket = { rate = "1500 kB/s" }
[[network.relays]]
name = "relay"
count = 3
[[circuits]]
count = 2
path = ["relay", "relay"]
workload = { class = "bulk", response = "100 KiB" }
"#;

/// A folder of its own with `tiny.toml` in it.
fn folder(scenario: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tiny.toml"), scenario).unwrap();
    folder
}

fn hopflow(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopflow"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("NO_COLOR");
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    hopflow(folder, arguments).output().unwrap()
}

fn success(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a command that must fail with exit code 2, one message and no other output.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(
        !error.contains('\u{1b}'),
        "no colours where there is no terminal: {error}"
    );
    let message = error.strip_prefix("error: ").expect(&error).trim_end();
    assert_eq!(message.lines().count(), 1, "{error}");
    message.to_owned()
}

fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&success(folder, arguments)).unwrap()
}

/// All files below a folder with their contents, but for logs of wall time.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn what_is_wrong_in_a_scenario_is_named_with_what_is_allowed() {
    for (from, to, expected) in [
        (
            "duration",
            "durration",
            "tiny.toml:4: durration: unknown key \"durration\"; did you mean \"duration\"? allowed: ",
        ),
        (
            "1500 kB/s",
            "1500 kb/s",
            "tiny.toml:10: network.bucket.rate: \"1500 kb/s\": has the unknown unit \"kb/s\"; allowed is a rate: ",
        ),
        (
            "transports.backtap",
            "transports.baktap",
            "tiny.toml:8: transports.baktap: \"baktap\" is unknown; did you mean `backtap`?",
        ),
    ] {
        let folder = folder(&SCENARIO.replace(from, to));
        for command in ["run", "validate"] {
            let message = refusal(folder.path(), &[command, "tiny.toml"]);
            assert!(
                message.starts_with(expected),
                "expected {expected}\n   found {message}"
            );
        }
        assert_eq!(contents(folder.path()).len(), 1, "nothing is written");
    }
}

#[test]
fn values_of_a_scenario_are_changed_on_the_command_line() {
    let folder = folder(SCENARIO);
    let tiny = |command, changes: &[&str]| {
        let changes = changes.iter().flat_map(|change| ["--set", change]);
        let arguments = [command, "tiny.toml"].into_iter().chain(changes);
        arguments.map(str::to_owned).collect::<Vec<_>>()
    };
    let with = |command, changes: &[&str]| {
        let arguments = tiny(command, changes);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        output(folder.path(), &arguments)
    };
    let said = |output: Output| String::from_utf8(output.stdout).unwrap();
    let valid = said(with("validate", &["seeds=3", "circuits[0].count = 7"]));
    assert!(valid.contains("6 runs"), "{valid}");
    assert!(valid.contains("7 circuits"), "{valid}");
    // Text needs no quotation marks of its own.
    let changes = [
        "network.relays[relay].bucket.rate=\"1 MB/s\"",
        "network.bucket.rate=2 MB/s",
    ];
    assert!(with("run", &changes).status.success());
    let kept = contents(&folder.path().join("results"));
    let mut manifests = kept
        .iter()
        .filter(|(name, _)| name.ends_with("manifest.json"));
    let manifest = String::from_utf8(manifests.next().unwrap().1.clone()).unwrap();
    assert!(manifest.contains("2 MB/s"), "{manifest}");
    let folder_of_results = Path::new(&kept[0].0)
        .ancestors()
        .find(|it| it.join("manifest.json").is_file());
    let results = folder_of_results.unwrap().to_str().unwrap();
    let message = refusal(folder.path(), &["explain", results, "--set", "seeds=1"]);
    assert!(
        message.starts_with("--set: allowed with a scenario"),
        "{message}"
    );

    let message = refusal(folder.path(), &["explain", results, "--seeds", "1"]);
    assert!(message.starts_with("--seeds: allowed with a"), "{message}");
    for (arguments, expected) in [
        (
            "compare tiny.toml --transports vanilla,backtap --set transports.vanilla.options.circuit-window=100",
            "--set transports.vanilla.options.circuit-window: has no effect with --transports",
        ),
        (
            "run tiny.toml --seeds 1 --set seeds=2",
            "--set seeds: has no effect with --seeds",
        ),
        (
            "explain tiny.toml --transport nope",
            "--transport: the scenario has no \"nope\"; allowed: ",
        ),
        (
            "run tiny.toml --set circuits[0].start=100s",
            "tiny.toml: circuits[0].start: \"100 s\": nobody would start; allowed is ",
        ),
        ("atlas results --out atlas", "results holds no experiment"),
    ] {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let message = refusal(folder.path(), &arguments);
        assert!(message.starts_with(expected), "{message}");
    }

    // What is wrong with the file itself has its line; what was mended is not told.
    let zero = SCENARIO.replace("seeds = 2", "seeds = 0");
    fs::write(folder.path().join("zero.toml"), zero).unwrap();
    let message = refusal(folder.path(), &["run", "zero.toml", "--set", "about=x"]);
    assert!(message.starts_with("zero.toml:6: seeds: is 0"), "{message}");
    let mended = [
        "run",
        "zero.toml",
        "--set",
        "seeds=3",
        "--set",
        "duration=3",
    ];
    let message = refusal(folder.path(), &mended);
    assert!(message.starts_with("zero.toml: duration: "), "{message}");
    fs::write(folder.path().join("none.toml"), "name = \n").unwrap();
    let message = refusal(folder.path(), &["run", "none.toml", "--set", "seeds=1"]);
    assert!(message.starts_with("none.toml:1: "), "{message}");

    for (change, expected) in [
        (
            "seeds",
            "error: invalid value 'seeds' for '--set <KEY=VALUE>': allowed is a key and a value",
        ),
        (
            "seedz=1",
            "error: tiny.toml: seedz: unknown key \"seedz\"; did you mean \"seeds\"?",
        ),
        (
            "seeds[0]=1",
            "error: seeds[0]: [0] stands behind a value of type integer; allowed is a list",
        ),
        ("duration=3", "error: tiny.toml: duration: "),
    ] {
        let refused = with("run", &[change]);
        assert_eq!(refused.status.code(), Some(2), "{change}");
        let message = String::from_utf8(refused.stderr).unwrap();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_missing_scenario_and_an_unknown_transport_are_named() {
    let folder = folder(SCENARIO);
    let message = refusal(folder.path(), &["run", "tiny.tml"]);
    assert!(
        message.starts_with("cannot read the scenario tiny.tml: No such file"),
        "{message}"
    );
    let message = refusal(folder.path(), &["run", "quickstrat"]);
    assert!(
        message.contains("did you mean \"quickstart\"?"),
        "{message}"
    );
    for (transports, expected) in [
        ("vanilla,nonsense", "\"nonsense\" is unknown; allowed: "),
        (
            "vanilla,baktap",
            "\"baktap\" is unknown; did you mean \"backtap\"?",
        ),
        (
            "vanilla",
            "only \"vanilla\"; allowed are two or more, such as vanilla and one of ",
        ),
        (
            "backtap,backtap",
            "\"backtap\" is listed twice; allowed is once",
        ),
        ("vanilla,", "\"\" is unknown; allowed: "),
    ] {
        let arguments = ["compare", "tiny.toml", "--transports", transports];
        let message = refusal(folder.path(), &arguments);
        assert!(
            message.starts_with(&format!("transports: {expected}")),
            "{message}"
        );
    }
    let message = refusal(folder.path(), &["compare", "tiny.toml"]);
    assert!(
        message.starts_with("transports: it is missing; allowed are two or more of vanilla, "),
        "{message}"
    );
    assert_eq!(contents(folder.path()).len(), 1, "nothing is written");
}

#[test]
fn a_number_of_seeds_that_makes_no_runs_is_refused() {
    let folder = folder(SCENARIO);
    for count in ["0", "-1", "many", "99999999999"] {
        let expected =
            format!("'{count}' for '--seeds <N>': allowed are whole numbers from 1 to 1000000");
        is_misused(
            folder.path(),
            &["run", "tiny.toml", "--seeds", count],
            &expected,
        );
    }
}

#[test]
fn numbers_beyond_what_an_option_takes_are_refused_with_its_bounds() {
    let folder = folder(SCENARIO);
    for (option, value, allowed) in [
        (
            "--slowest",
            "70000",
            "allowed are whole numbers from 1 to 65535",
        ),
        (
            "--slowest",
            "-1",
            "allowed are whole numbers from 1 to 65535",
        ),
        (
            "--threads",
            "-1",
            "allowed are whole numbers from 1 to 1844",
        ),
        ("--circuit", "-1", "-1 is not in 0..=4294967295"),
    ] {
        let expected = format!("invalid value '{value}' for '{option} <N>': {allowed}");
        is_misused(
            folder.path(),
            &["explain", "tiny.toml", option, value],
            &expected,
        );
    }
}

/// The command line is refused, for this reason.
fn is_misused(folder: &Path, arguments: &[&str], expected: &str) {
    let output = output(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = folder(SCENARIO);
    let before = contents(folder.path());
    let message = refusal(
        folder.path(),
        &["run", "tiny.toml", "--out", "tiny.toml/results"],
    );
    assert!(message.contains("tiny.toml/results"), "{message}");
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn results_of_others_are_left_as_they_are() {
    let folder = folder(SCENARIO);
    let run = ["run", "tiny.toml", "--out", "out"];
    success(folder.path(), &run);
    fs::write(
        folder.path().join("tiny.toml"),
        SCENARIO.replace("1500 kB", "900 kB"),
    )
    .unwrap();
    let before = contents(folder.path());
    let message = refusal(folder.path(), &run);
    assert!(
        message.starts_with("out holds results of \"tiny\" as it was before it changed"),
        "{message}"
    );
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_damaged_manifest_is_named_and_not_replaced() {
    let folder = folder(SCENARIO);
    let run = ["run", "tiny.toml", "--out", "out"];
    success(folder.path(), &run);
    fs::write(folder.path().join("out/manifest.json"), "{").unwrap();
    let before = contents(folder.path());
    for command in [&run[..], &["report", "out"]] {
        let message = refusal(folder.path(), command);
        assert!(
            message.contains("out/manifest.json is damaged"),
            "{message}"
        );
    }
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_damaged_table_is_named_by_the_report_and_not_replaced() {
    let folder = folder(SCENARIO);
    success(folder.path(), &["run", "tiny.toml", "--out", "out"]);
    let run = fs::read_dir(folder.path().join("out/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let table = run.path().join("downloads.parquet");
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    let before = contents(folder.path());
    let message = refusal(folder.path(), &["report", "out"]);
    assert!(
        message.contains("downloads.parquet is damaged"),
        "{message}"
    );
    assert_eq!(contents(folder.path()), before);
    let message = refusal(folder.path(), &["report", "nowhere"]);
    assert!(
        message.contains("nowhere/manifest.json does not exist"),
        "{message}"
    );
}

#[test]
fn the_hash_is_the_same_twice_and_for_any_number_of_threads() {
    let folder = folder(SCENARIO);
    let hash = |out: &str, threads: &str| {
        let arguments = [
            "run",
            "tiny.toml",
            "--json",
            "--out",
            out,
            "--threads",
            threads,
        ];
        json(folder.path(), &arguments)["results"].clone()
    };
    let first = hash("a", "1");
    assert_eq!(first.as_str().unwrap().len(), 16);
    assert_eq!(hash("b", "1"), first);
    assert_eq!(hash("c", "2"), first);
    assert_eq!(hash("a", "2"), first, "what is finished is kept");
}

#[test]
fn the_summary_names_each_transport_for_readers_and_for_machines() {
    let folder = folder(SCENARIO);
    let text = success(folder.path(), &["run", "tiny.toml", "--out", "out"]);
    for expected in [
        "Two circuits.",
        "Bulk: goodput of a circuit, mean (kB/s)",
        "backtap",
        "vanilla",
        "Differences are to vanilla",
        "Means over 2 sampled networks",
        "out/report.html",
        "hash",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    assert!(folder.path().join("out/report.html").exists());
    let summary = json(
        folder.path(),
        &["run", "tiny.toml", "--out", "out", "--json"],
    );
    assert_eq!(summary["transports"][0], "vanilla");
    assert_eq!(summary["networks"], 2);
    let quantities = summary["quantities"].as_array().unwrap();
    let goodput = quantities
        .iter()
        .find(|quantity| quantity["key"] == "bulk_goodput")
        .unwrap();
    assert_eq!(goodput["unit"], "B/s");
    let [vanilla, backtap] = goodput["transports"].as_array().unwrap().as_slice() else {
        panic!("{goodput}")
    };
    assert!(vanilla["mean"].as_f64().unwrap() > 1e5);
    assert!(vanilla["ci_low"].is_f64() && vanilla["difference"].is_null());
    let difference = &backtap["difference"];
    assert_eq!(difference["n"], 2);
    assert!(difference["ci_high"].is_f64() && difference["percent"]["ci_low"].is_f64());
    assert_eq!(summary["runs"].as_array().unwrap().len(), 4);
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn one_network_has_neither_intervals_nor_winners() {
    let folder = folder(SCENARIO);
    let arguments = ["run", "tiny.toml", "--seeds", "1", "--out", "out"];
    let text = success(folder.path(), &arguments);
    assert!(text.contains("One sampled network"), "{text}");
    assert!(!text.contains('[') && !text.contains("worse "), "{text}");
}

#[test]
fn transports_are_compared_on_the_networks_of_a_scenario() {
    let folder = folder(SCENARIO);
    let arguments = [
        "compare",
        "tiny.toml",
        "--transports",
        "backtap,vanilla",
        "--seeds",
        "3",
        "--out",
        "out",
        "--json",
    ];
    let summary = json(folder.path(), &arguments);
    assert_eq!(summary["transports"][0], "backtap");
    assert_eq!(summary["transports"][1], "vanilla");
    assert_eq!(summary["networks"], 3);
    assert_eq!(summary["runs"].as_array().unwrap().len(), 6);
}

#[test]
fn lists_schema_completions_and_manual_are_printed() {
    let folder = folder(SCENARIO);
    assert!(success(folder.path(), &["list", "transports"]).contains("backtap "));
    assert!(success(folder.path(), &["list", "scenarios"]).starts_with("quickstart "));
    let experiments = json(folder.path(), &["list", "experiments", "--json"]);
    assert!(experiments.is_array());
    assert_eq!(json(folder.path(), &["schema"])["title"], "Scenario");
    assert!(success(folder.path(), &["completions", "bash"]).contains("complete"));
    success(folder.path(), &["man", "manual/man1"]);
    let page = fs::read_to_string(folder.path().join("manual/man1/hopflow-compare.1")).unwrap();
    assert!(page.contains(".SH SYNOPSIS"), "{page}");
    let valid = success(folder.path(), &["validate", "tiny.toml"]);
    assert!(valid.starts_with("tiny.toml is valid: 4 runs"), "{valid}");
}

#[cfg(unix)]
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test waits for another process"
)]
fn an_interrupted_command_keeps_what_is_finished_and_goes_on_with_the_rest() {
    use std::process::Stdio;
    use std::thread::sleep;
    use std::time::Duration;

    let long = SCENARIO
        .replace("duration = \"3 s\"", "duration = \"20 s\"")
        .replace("seeds = 2", "seeds = 40");
    let folder = folder(&long);
    let arguments = [
        "run",
        "tiny.toml",
        "--out",
        "out",
        "--threads",
        "1",
        "--json",
    ];
    let child = hopflow(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let runs = folder.path().join("out/runs");
    let finished = || {
        let names = fs::read_dir(&runs).into_iter().flatten().flatten();
        names
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .count()
    };
    for _ in 0..3000 {
        if finished() >= 2 {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(
        error.contains("the same command makes the missing runs"),
        "{error}"
    );
    let kept = finished();
    assert!((2..80).contains(&kept), "{kept}");

    let output = self::output(folder.path(), &arguments);
    assert!(output.status.success());
    let notice = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        notice.trim_end(),
        format!("{kept} of 80 runs are finished already")
    );
    let resumed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let whole = json(
        folder.path(),
        &["run", "tiny.toml", "--out", "whole", "--json"],
    );
    assert_eq!(resumed["results"], whole["results"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_told_ends_no_command() {
    let folder = folder(SCENARIO);
    let folder = folder.path();
    let run = |arguments: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = hopflow(folder, arguments);
        command
            .stderr(full.unwrap())
            .output()
            .unwrap()
            .status
            .code()
    };
    for _ in 0..2 {
        assert_eq!(run(&["run", "tiny.toml", "--out", "out"]), Some(0));
    }
    assert_eq!(run(&["validate", "none.toml"]), Some(2));
}

#[test]
fn an_experiment_writes_its_values_and_a_page_that_can_be_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let message = refusal(folder, &["reproduce", "baktap-fig5"]);
    assert!(
        message.contains("did you mean \"backtap-fig5\"?"),
        "{message}"
    );
    let text = success(
        folder,
        &["reproduce", "backtap-fig5", "--seeds", "1", "--out", "out"],
    );
    assert!(text.contains("not reproduced"), "{text}");
    let values = fs::read_to_string(folder.join("out/values.csv")).unwrap();
    let mut lines = values.lines();
    let header = "figure,quantity,unit,transport,x,n,mean,ci_low,ci_high,paper,band_low,band_high,\
                  verdict,wanted";
    assert_eq!(lines.next(), Some(header));
    assert!(lines.count() > 50);
    let page = fs::read(folder.join("out/report.html")).unwrap();
    fs::remove_file(folder.join("out/report.html")).unwrap();
    success(folder, &["report", "out"]);
    assert_eq!(fs::read(folder.join("out/report.html")).unwrap(), page);
}

#[test]
fn the_tables_of_results_are_described() {
    let folder = folder(SCENARIO);
    let one = success(folder.path(), &["describe", "downloads"]);
    assert!(one.contains("double, seconds: Time to last byte"), "{one}");
    let all = json(folder.path(), &["describe", "--json"]);
    let mut tables = all.as_array().unwrap().iter();
    let runs = tables.next().unwrap();
    assert_eq!(runs["table"], "runs");
    assert_eq!(runs["columns"][0]["column"], "transport");
    assert!(tables.any(|table| table["table"] == "latency_classes"));
    let unknown = refusal(folder.path(), &["describe", "downlods"]);
    assert!(unknown.contains("did you mean \"downloads\"?"), "{unknown}");
}

#[test]
fn options_of_all_transports_are_printed_as_scenarios_take_them() {
    let folder = folder(SCENARIO);
    let folder = folder.path();
    let transports = json(folder, &["list", "transports", "--json"]);
    for transport in transports.as_array().unwrap() {
        let name = transport["name"].as_str().unwrap();
        let printed = success(folder, &["options", name]);
        let set = printed.lines().map(|line| match line.split_once(" = ") {
            // A default, and no sentence with an equals sign in it.
            Some((key, _)) if key.starts_with("# ") && is_key(&key[2..]) => &line[2..],
            _ => line,
        });
        let set: Vec<_> = set.collect();
        assert!(
            set.iter().filter(|line| !line.starts_with('#')).count() > 10,
            "{printed}"
        );
        let results = ["", &printed, &(set.join("\n") + "\n")].map(|options| {
            let label = format!("[transports.{name}]\n");
            let label = if options.is_empty() { &label } else { options };
            let transports = "[transports.vanilla]\n[transports.backtap]\n";
            fs::write(folder.join("set.toml"), SCENARIO.replace(transports, label)).unwrap();
            let summary = json(folder, &["run", "set.toml", "--seeds", "1", "--json"]);
            assert_eq!(summary["downloads"][0]["transport"], name);
            summary["quantities"].clone()
        });
        assert!(results.iter().all(|same| *same == results[0]), "{name}");
    }
    let joint = json(folder, &["options", "joint", "--json"]);
    let mut options = joint["options"].as_array().unwrap().iter();
    let alpha = options.find(|option| option["key"] == "alpha").unwrap();
    assert_eq!(alpha["default"], 2);
    assert_eq!(alpha["allowed"], "a whole number of cells, at least 1");
    let unknown = refusal(folder, &["options", "backtab"]);
    assert!(unknown.contains("did you mean \"backtap\"?"), "{unknown}");
}

fn is_key(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[test]
fn where_the_time_of_downloads_went_is_told() {
    let folder = folder(SCENARIO);
    let folder = folder.path();
    let text = success(folder, &["explain", "tiny.toml", "--out", "out"]);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("vanilla: The 5 slowest of "), "{text}");
    assert!(
        text.contains("Longest,") && text.contains(", seed "),
        "{text}"
    );
    let report = fs::read_to_string(folder.join("out/report.html")).unwrap();
    assert!(report.contains("Where the time goes</h2>"));
    assert!(folder.join("out/plots/time-bulk.svg").exists());
    let one = [
        "explain",
        "out",
        "--transport",
        "backtap",
        "--slowest",
        "1",
        "--circuit",
        "1",
    ];
    let text = success(folder, &one);
    assert!(text.starts_with("backtap: The slowest of "), "{text}");
    assert_eq!(text.matches("Circuit 1, request ").count(), 1, "{text}");
    // The parts of the download are all of it.
    let shares = text
        .lines()
        .filter_map(|line| line.split_whitespace().last()?.parse::<f64>().ok());
    assert!((shares.sum::<f64>() - 100.0).abs() < 1.0, "{text}");
    let same = json(folder, &[&one[..], &["--json"]].concat());
    let download = &same["transports"][0]["downloads"][0];
    assert_eq!(
        (&download["circuit"], &download["class"]),
        (&1.into(), &"bulk".into())
    );
    let parts = download["parts"].as_array().unwrap().iter();
    let sum: u64 = parts.map(|part| part["time_ns"].as_u64().unwrap()).sum();
    assert_eq!(download["time_ns"], sum);
    let message = refusal(folder, &["explain", "out", "--transport", "baktap"]);
    assert!(message.contains("did you mean \"backtap\"?"), "{message}");
    let message = refusal(folder, &["explain", "out", "--circuit", "9"]);
    assert!(message.ends_with("allowed are 0, 1"), "{message}");
    let message = refusal(folder, &["explain", "out", "--class", "web"]);
    assert!(message.contains("no download that fits"), "{message}");
    success(folder, &["run", "tiny.toml", "--out", "plain"]);
    let message = refusal(folder, &["explain", "plain"]);
    assert!(
        message.contains("`breakdown = true` under `[record]`"),
        "{message}"
    );
    // Nothing is complete.
    for response in ["1 GiB", "endless"] {
        let endless = SCENARIO.replace("100 KiB", response);
        fs::write(folder.join("tiny.toml"), endless).unwrap();
        let arguments = ["explain", "tiny.toml", "--out", response];
        let message = refusal(folder, &arguments);
        assert!(
            message.contains("no download that was requested after the warm-up was completed")
                && message.contains("`duration`")
                && !message.contains("breakdown"),
            "{message}"
        );
    }
}

#[test]
fn what_is_made_in_python_says_how() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let message = refusal(folder, &["reproduce", "gan-fig1"]);
    assert!(message.contains("python -m hopflow reproduce gan-fig1"));
    let message = refusal(folder, &["observe", "quickstart", "--seeds", "3"]);
    assert!(message.contains("python -m hopflow observe"));
    let message = refusal(folder, &["campaign", "quickstart", "--dry-run"]);
    assert!(message.contains("python -m hopflow campaign"));
    assert!(success(folder, &["list", "experiments"]).contains("gan-fig1"));
}

#[test]
fn sections_of_other_programs_become_part_of_the_report() {
    let folder = folder(SCENARIO);
    let out = folder.path().join("out");
    success(folder.path(), &["run", "tiny.toml", "--out", "out"]);
    fs::create_dir(out.join("sections")).unwrap();
    let section = r#"{"heading": "What it gives away", "prose": ["Much."]}"#;
    fs::write(out.join("sections/observed.json"), section).unwrap();
    success(folder.path(), &["report", "out"]);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    let place = page.find("What it gives away</h2>").unwrap();
    assert!(place < page.find("Origin</h2>").unwrap());
    fs::write(out.join("sections/observed.json"), "{").unwrap();
    let message = refusal(folder.path(), &["report", "out"]);
    assert!(message.contains("observed.json"), "{message}");
}
