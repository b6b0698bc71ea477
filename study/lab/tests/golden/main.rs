//! Golden hashes: the same bits on every machine, for every processor, and from commit to commit.
//!
//! Every preset, and every variant of `variants.toml`, runs on every network of this folder. A hash
//! covers what one run recorded, [`Tables::fingerprint`](hopflow_results::Tables::fingerprint);
//! `hashes.txt` keeps them. If one changes, behaviour has
//! changed: find out why, say so in the changelog, and only then run this test with
//! `HOPFLOW_FREEZE=1`, which writes the file anew. CI runs it as compiled for the baseline processor
//! and for the one it runs on.
//!
//! The same hashes come of runs on several threads each: a second test makes every run on 2, 3, 4, 7
//! and 16 of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hopflow_lab::run::{Campaign, Silent};
use hopflow_lab::scenario::{Choice, Scenario};

const NETWORKS: &[&str] = &[
    "star", "lossy", "managed", "upload", "legs", "dumbbell", "tree", "graph",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("the file is in this folder")
}

/// The presets and the variants of them, by label.
fn transports() -> BTreeMap<String, Choice> {
    let variants: BTreeMap<String, Choice> =
        toml::from_str(&read("variants.toml")).expect("they are tables of transports");
    let presets = hopflow_transports::presets().into_iter();
    let presets = presets.map(|preset| (preset.name.to_owned(), Choice::default()));
    presets.chain(variants).collect()
}

/// The hashes of a network's runs, a line each; of runs on so many threads each.
fn hashes(network: &str, transports: &BTreeMap<String, Choice>, threads: Option<usize>) -> String {
    let table = transports
        .iter()
        .map(|(label, choice)| {
            (
                label,
                toml::Value::try_from(choice).expect("it is plain data"),
            )
        })
        .collect::<BTreeMap<_, _>>();
    let file = format!("{network}.toml");
    let table = toml::to_string(&BTreeMap::from([("transports", table)])).expect("it is a table");
    let text = format!("{}\n{table}", read(&file));
    let path = folder().join(&file);
    let scenario = Scenario::parse(&text, path.to_str().expect("a path of this project"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut campaign = Campaign::new(scenario, &text, "golden").expect("it can be planned");
    if let Some(threads) = threads {
        campaign.split_runs(threads);
    }
    let results = tempfile::tempdir().expect("a folder for results");
    let finished = campaign
        .run(results.path(), None, &Silent)
        .expect("it runs");
    let mut lines = String::new();
    for run in finished.runs {
        let (label, seed, hash) = (&run.key.transport, run.key.seed, &run.results);
        writeln!(lines, "{network} {label} {seed} {hash}").expect("text takes text");
    }
    lines
}

#[test]
fn results_have_not_changed() {
    let transports = transports();
    let mut found = String::new();
    for network in NETWORKS {
        found += &hashes(network, &transports, None);
    }
    if std::env::var_os("HOPFLOW_FREEZE").is_some() {
        std::fs::write(folder().join("hashes.txt"), &found).expect("the file can be written");
    }
    let expected = read("hashes.txt");
    let changed: Vec<_> = found
        .lines()
        .filter(|line| !expected.lines().any(|other| other == *line))
        .collect();
    assert!(
        changed.is_empty(),
        "{} of {} runs have other results:\n{}",
        changed.len(),
        found.lines().count(),
        changed.join("\n")
    );
    assert_eq!(
        found.lines().count(),
        expected.lines().count(),
        "a run is missing"
    );
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let transports = transports();
    let expected = read("hashes.txt");
    for network in NETWORKS {
        for threads in [2, 3, 4, 7, 16] {
            let found = hashes(network, &transports, Some(threads));
            for line in found.lines() {
                let known = expected.lines().any(|other| other == line);
                assert!(known, "on {threads} threads: {line}");
            }
            let of_network = |line: &&str| line.starts_with(&format!("{network} "));
            let wanted = expected.lines().filter(of_network).count();
            assert_eq!(found.lines().count(), wanted, "a run is missing");
        }
    }
}
