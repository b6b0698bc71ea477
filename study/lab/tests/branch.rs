//! One warm-up for several variants of what follows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use hopflow_lab::run::{Campaign, Finished, Job, Monitor, Silent, Watched};
use hopflow_lab::scenario::{Scenario, schema};
use hopflow_results::{Download, Fingerprint, Folder, RunEntry, Tables};
use hopflow_sim::{Outcome, World};
use hopflow_units::Duration;

/// Two clients of each kind behind a slow relay.
const NETWORK: &str = r#"
name = "tiny"
duration = "6 s"
warm-up = "2 s"
seeds = 2

[network]
access = { rate = "20 Mbit/s", delay = "10 ms", jitter = "2 ms", loss = 0.001 }
bucket = "unlimited"

[[network.relays]]
name = "entry"
count = 3

[[network.relays]]
name = "middle"
bucket = { rate = "500 kB/s", depth = "50 kB" }

[[network.relays]]
name = "exit"
count = 3

[[circuits]]
count = 2
path = ["entry", "middle", "exit"]
workload = { class = "bulk", response = "200 kB" }

[[circuits]]
count = 2
path = ["entry", "middle", "exit"]
workload = { class = "web", response = "20 kB", think = ["100 ms", "400 ms"] }

[record]
hops = "100 ms"
latency = true
queues = "50 ms"
traces = "100 ms"
"#;

const VARIANTS: &str = r#"
[branch]

[[branch.variants]]
name = "nothing"

[[branch.variants]]
name = "small"
transports = ["vanilla"]
options = { circuit-window = 100, stream-window = 50 }

[[branch.variants]]
name = "large"
transports = ["backtap"]
options = { alpha = 20 }

[[branch.variants]]
name = "other-draws"
seed = 77
"#;

/// Circuits that come with variants.
const CROWDS: &str = r#"
[[branch.variants]]
name = "one-more"
[[branch.variants.circuits]]
path = ["entry", "middle", "exit"]
workload = { class = "bulk", response = "endless" }
start = "500 ms"

[[branch.variants]]
name = "crowd"
options = {}
[[branch.variants.circuits]]
count = 3
path = { random = 3 }
workload = { class = "web", response = "30 kB", think = ["10 ms", "20 ms"] }
[[branch.variants.circuits]]
path = ["entry-1", "exit-1"]
client = false
workload = "bulk"
"#;

const TRANSPORTS: &str = "[transports.vanilla]\n[transports.backtap]\n";

fn campaign(text: &str, folder: &Path, threads: Option<usize>) -> Finished {
    let scenario = Scenario::parse(text, "tiny").unwrap_or_else(|error| panic!("{error}"));
    let mut campaign = Campaign::new(scenario, text, "test").unwrap();
    if let Some(threads) = threads {
        campaign.split_runs(threads);
    }
    campaign.run(folder, Some(2), &Silent).unwrap()
}

/// The results of all runs by label and seed.
fn hashes(finished: &Finished) -> BTreeMap<(String, u64), Fingerprint> {
    let runs = finished.runs.iter();
    runs.map(|run| ((run.key.transport.clone(), run.key.seed), run.results))
        .collect()
}

fn tables(folder: &Path, finished: &Finished, label: &str) -> Tables {
    let of = |run: &&RunEntry| run.key.transport == label;
    let run = finished.runs.iter().find(of).expect(label);
    Folder::open(folder).read_run(run).unwrap()
}

#[test]
fn a_variants_seed_draws_something_else_in_each_network() {
    let text = format!("{NETWORK}[transports.vanilla]\n{VARIANTS}");
    let text = text.replace("seeds = 2", "seeds = 3");
    let text = text.replace("transports = [\"backtap\"]", "transports = [\"vanilla\"]");
    let text = text.replace("options = { alpha = 20 }", "options = {}");
    let folder = tempfile::tempdir().unwrap();
    let finished = campaign(&text, folder.path(), None);
    let results = Folder::open(folder.path());
    let of = |run: &&RunEntry| run.key.transport == "vanilla/other-draws";
    let end = |download: &Download| download.start_s + download.ttlb_s;
    let pauses = finished.runs.iter().filter(of).map(|run| {
        let downloads = results.read_run(run).unwrap().downloads;
        let mine = downloads
            .into_iter()
            .filter(|download| download.circuit == 2);
        let later: Vec<_> = mine.filter(|download| end(download) > 2.0).collect();
        let pause = |pair: &[Download]| ((pair[1].start_s - end(&pair[0])) * 1e6).round() as u64;
        later.windows(2).take(3).map(pause).collect::<Vec<_>>()
    });
    let [one, two, three] = &pauses.collect::<Vec<_>>()[..] else {
        panic!("three networks");
    };
    assert!(one.len() == 3 && one != two && two != three && three != one);
    assert!(
        one.iter().all(|pause| !two.contains(pause)),
        "{one:?}, {two:?}"
    );
}

#[test]
fn a_variant_that_changes_nothing_is_the_run_without_a_break() {
    let plain = format!("{NETWORK}{TRANSPORTS}");
    let folder = tempfile::tempdir().unwrap();
    let alone = hashes(&campaign(&plain, folder.path(), None));
    let text = format!("{plain}{VARIANTS}");
    for (at, threads) in [("", None), ("at = \"3137 ms\"", None), ("", Some(3))] {
        let text = text.replace("[branch]\n", &format!("[branch]\n{at}\n"));
        let folder = tempfile::tempdir().unwrap();
        let finished = campaign(&text, folder.path(), threads);
        let found = hashes(&finished);
        assert_eq!(found.len(), 16, "{:?}", found.keys());
        for ((label, seed), results) in &alone {
            let of = |variant: &str| &found[&(format!("{label}{variant}"), *seed)];
            assert_eq!(of(""), results, "{label} {at}");
            assert_eq!(of("/nothing"), results, "{label} {at}");
            assert_ne!(of("/other-draws"), results, "{label} {at}");
        }
        assert_ne!(
            found[&("vanilla/small".to_owned(), 1)],
            alone[&("vanilla".to_owned(), 1)]
        );
        assert_ne!(
            found[&("backtap/large".to_owned(), 1)],
            alone[&("backtap".to_owned(), 1)]
        );
    }
}

#[test]
fn variants_do_not_depend_on_the_number_of_threads() {
    let text = format!("{NETWORK}{TRANSPORTS}{VARIANTS}{CROWDS}");
    let of = |threads| {
        let folder = tempfile::tempdir().unwrap();
        hashes(&campaign(&text, folder.path(), threads))
    };
    let alone = of(Some(1));
    assert_eq!(alone.len(), 24);
    for threads in [2, 5] {
        assert_eq!(of(Some(threads)), alone, "{threads} threads");
    }
}

#[test]
fn a_variant_that_is_watched_has_the_results_of_its_run() {
    let text = format!("{NETWORK}{TRANSPORTS}{VARIANTS}{CROWDS}").replace("seeds = 2", "seeds = 1");
    // The last time is within a window.
    for at in ["0 s", "2 s", "2003137 us"] {
        let text = text.replace("[branch]\n", &format!("[branch]\nat = \"{at}\"\n"));
        let folder = tempfile::tempdir().unwrap();
        let found = hashes(&campaign(&text, folder.path(), None));
        let scenario = Arc::new(Scenario::parse(&text, "tiny").unwrap());
        for job in Job::plan(&scenario, "test").unwrap() {
            let label = job.key.transport.clone();
            let expected = found[&(label.clone(), 1)];
            // Looked at on the way, or not at all.
            for times in [&[500, 1500, 3000][..], &[]] {
                let mut run = Watched::new(&job).unwrap();
                for millis in times {
                    run.advance(Duration::from_millis(*millis));
                }
                assert_eq!(
                    run.finish().fingerprint(),
                    expected,
                    "{label} {at} {times:?}"
                );
            }
        }
    }
}

#[test]
fn runs_of_variants_are_in_the_order_of_the_scenario_and_kept() {
    let text = format!("{NETWORK}{TRANSPORTS}{VARIANTS}");
    let folder = tempfile::tempdir().unwrap();
    let first = campaign(&text, folder.path(), None);
    let labels: Vec<_> = first
        .runs
        .iter()
        .map(|run| run.key.transport.as_str())
        .collect();
    let one = [
        "vanilla",
        "vanilla/nothing",
        "vanilla/small",
        "vanilla/other-draws",
    ];
    let other = [
        "backtap",
        "backtap/nothing",
        "backtap/large",
        "backtap/other-draws",
    ];
    assert_eq!(labels, [one, other, one, other].concat());
    let manifest = Folder::open(folder.path()).read_manifest().unwrap();
    assert_eq!(manifest.transports, [one, other].concat());
    // One that is missing alone is run without a break at other runs' time, to the same results.
    let run = &first.runs[6].key;
    std::fs::remove_dir_all(folder.path().join("runs").join(run.folder())).unwrap();
    let again = campaign(&text, folder.path(), None);
    assert_eq!(again.results, first.results);
}

/// The run has so many circuits and nodes, numbered and named as if there were no others.
fn assert_part(run: &Tables, circuits: u32, nodes: usize) {
    let numbers: Vec<_> = run.circuits.iter().map(|row| row.circuit).collect();
    assert_eq!(numbers, (0..circuits).collect::<Vec<_>>());
    assert_eq!((run.relays.len(), run.queues.len()), (nodes, 2 * nodes));
    let mut names: Vec<_> = run.relays.iter().map(|row| row.name.as_str()).collect();
    let clients = names
        .iter()
        .filter(|name| name.starts_with("client-"))
        .count();
    assert!(
        names.contains(&format!("client-{}", clients - 1).as_str()),
        "{names:?}"
    );
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), nodes);
    let samples = run.samples.iter().map(|row| row.circuit).max();
    assert_eq!(samples, Some(circuits - 1));
}

/// Watches how much was simulated before each run was finished.
#[derive(Default)]
struct Watch {
    simulated: Mutex<Duration>,
    at_finish: Mutex<Vec<Duration>>,
}

impl Monitor for Watch {
    fn begin(&self, _: usize, _: usize, _: Duration) {}

    fn advanced(&self, simulated: Duration) {
        let mut all = self.simulated.lock().unwrap();
        *all += simulated;
    }

    fn finished(&self, _: &RunEntry) {
        let now = *self.simulated.lock().unwrap();
        self.at_finish.lock().unwrap().push(now);
    }

    fn interrupted(&self) -> bool {
        false
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

#[test]
fn runs_with_one_beginning_are_finished_before_the_next_begin() {
    let text = format!("{NETWORK}[transports.vanilla]\n{VARIANTS}").replace("backtap", "vanilla");
    let text = text.replace("alpha = 20", "circuit-window = 200");
    let scenario = Scenario::parse(&text, "tiny").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let watch = Watch::default();
    let campaign = Campaign::new(scenario, &text, "test").unwrap();
    campaign.run(folder.path(), Some(1), &watch).unwrap();
    let seconds = watch.at_finish.into_inner().unwrap().into_iter();
    let seconds: Vec<_> = seconds.map(|time| time.as_secs_f64().round()).collect();
    // Two warm-ups of 2 s, each with five continuations of 4 s.
    let one = [6.0, 10.0, 14.0, 18.0, 22.0];
    assert_eq!(seconds[..5], one);
    assert_eq!(seconds[5..], one.map(|time| 22.0 + time));
}

/// The numbers of all circuits that the tables of a run name.
fn named_circuits(run: &Tables) -> Vec<(&'static str, u32)> {
    let failures = run.failures.iter().map(|row| ("failures", row.circuit));
    let rebuilt = run.rebuilt.iter().map(|row| ("rebuilt", row.circuit));
    let open = run.open_requests.iter();
    let open = open.map(|row| ("open_requests", row.circuit));
    let downloads = run.downloads.iter().map(|row| ("downloads", row.circuit));
    let hops = run.hops.iter().map(|row| ("hops", row.circuit));
    let traces = run.traces.iter().map(|row| ("traces", row.circuit));
    let all = failures.chain(rebuilt).chain(open).chain(downloads);
    all.chain(hops).chain(traces).collect()
}

#[test]
fn tables_name_the_circuits_of_their_run_alone() {
    let faults =
        "[[faults]]\nrelays = [\"exit\"]\nwhat = \"stop\"\nmttf = \"3 s\"\nmttr = \"1 s\"\n";
    let text = format!("{NETWORK}{TRANSPORTS}{faults}{VARIANTS}{CROWDS}");
    let folder = tempfile::tempdir().unwrap();
    let finished = campaign(&text, folder.path(), None);
    let mut seen = BTreeMap::new();
    for run in &finished.runs {
        let tables = Folder::open(folder.path()).read_run(run).unwrap();
        let circuits = tables.circuits.len() as u32;
        for (table, circuit) in named_circuits(&tables) {
            let label = &run.key.transport;
            assert!(circuit < circuits, "{label} {table}: {circuit}");
            *seen.entry(table).or_insert(0) += usize::from(circuit >= 4);
        }
    }
    // The users of variants are in each of them.
    assert!(
        seen.len() == 6 && seen.values().all(|rows| *rows > 0),
        "{seen:?}"
    );
}

#[test]
fn users_of_a_variant_are_in_its_run_alone() {
    let text = format!("{NETWORK}{TRANSPORTS}{VARIANTS}{CROWDS}");
    let folder = tempfile::tempdir().unwrap();
    let finished = campaign(&text, folder.path(), None);
    let of = |label: &str| tables(folder.path(), &finished, label);
    let (plain, nothing) = (of("backtap"), of("backtap/nothing"));
    assert_eq!(plain.fingerprint(), nothing.fingerprint());
    for (label, circuits, nodes) in [
        ("backtap", 4, 11),
        ("backtap/one-more", 5, 12),
        ("vanilla/crowd", 8, 14),
    ] {
        let run = of(label);
        assert_part(&run, circuits, nodes);
    }
    let more = of("backtap/one-more");
    let new: Vec<_> = more.samples.iter().filter(|row| row.circuit == 4).collect();
    let first = new
        .iter()
        .find(|row| row.delivered_bytes > 0)
        .expect("it gets something");
    assert!((2.5..3.2).contains(&first.t_s), "{}", first.t_s);
    assert!(more.circuits[4].fair_bytes_per_s.is_some(), "it is greedy");
    let goodput = |run: &Tables| {
        run.circuits[..2]
            .iter()
            .map(|row| row.goodput_bytes_per_s)
            .sum::<f64>()
    };
    assert!(goodput(&more) < 0.9 * goodput(&plain));
}

#[test]
fn variants_of_a_roll_out_have_more_load_and_the_same_transports() {
    let text = format!(
        "{NETWORK}[transports.mixed]\npreset = \"vanilla\"\n\
         upgrade = {{ preset = \"backtap\", clients = 0.5 }}\n[branch]\n{CROWDS}"
    );
    let folder = tempfile::tempdir().unwrap();
    let finished = campaign(&text, folder.path(), None);
    let more = tables(folder.path(), &finished, "mixed/one-more");
    assert_eq!(more.deployments.len(), 5);
    let plain = tables(folder.path(), &finished, "mixed");
    assert_eq!(plain.deployments[..], more.deployments[..4]);
}

#[test]
fn what_cannot_be_branched_is_refused() {
    let refused = |variants: &str| {
        let text = format!("{NETWORK}{TRANSPORTS}{variants}");
        Scenario::parse(&text, "tiny").unwrap_err().to_string()
    };
    let variant = |keys: &str| {
        refused(&format!(
            "[branch]\nvariants = [{{ name = \"v\", {keys} }}]\n"
        ))
    };
    for (message, expected) in [
        (
            refused("[branch]\nvariants = []\n"),
            "branch.variants: is empty",
        ),
        (
            refused("[branch]\nat = \"6 s\"\nvariants = [{ name = \"v\" }]\n"),
            "branch.at: \"6 s\" leaves nothing to run; allowed is less than the duration, \"6 s\"",
        ),
        (
            refused("[branch]\nvariants = [{ name = \"v\" }, { name = \"v\" }]\n"),
            "branch.variants[1].name: the name \"v\" is taken",
        ),
        (
            refused("[branch]\nvariants = [{ name = \"V/w\" }]\n"),
            "\"V/w\" is not a valid name",
        ),
        (
            variant("transports = [\"n23\"]"),
            "there is no \"n23\"; allowed",
        ),
        (
            variant("options = { alpha = 3 }"),
            "transport \"vanilla\": unknown;",
        ),
        (
            variant("transports = [\"vanilla\"], options = { circuit-increment = 50 }"),
            "branch.variants[0].options.circuit-increment: transport \"vanilla\": is 50; allowed is \
             100, as before, in nodes that run: both ends of a circuit count by it",
        ),
        (
            variant("transports = [\"backtap\"], options = { carrier = \"stream\" }"),
            "transport \"backtap\"",
        ),
        (
            variant("transports = [\"backtap\"], options = { scheduler = \"ewma\" }"),
            "branch.variants[0].options.scheduler: transport \"backtap\": differs",
        ),
        (
            variant("circuits = [{ path = [\"nowhere\", \"exit\"], workload = \"web\" }]"),
            "branch.variants[0].circuits[0].path",
        ),
        (
            variant("circuits = [{ path = \"published\", workload = \"web\" }]"),
            "branch.variants[0].circuits[0].path",
        ),
        (
            variant("circuits = [{ path = [\"exit\"], workload = \"web\", start = \"4 s\" }]"),
            "branch.variants[0].circuits[0].start: \"4 s\": nobody would start; allowed is less than \"4 s\"",
        ),
        (variant("optoins = {}"), "did you mean \"options\""),
    ] {
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    assert!(schema().contains("\"Branch\""));
}

/// Everything that is recorded, with new options on the way or without; how many events there were
/// apart, for new options wake all nodes.
fn outcome(scenario: &Scenario, label: &str, again: bool) -> Outcome {
    let factory = scenario.transport(label).unwrap();
    let mut world = World::new(&scenario.sample(1), &*factory).unwrap();
    for millis in [0, 700, 1111, 1900] {
        assert!(world.run_until(Duration::from_millis(millis), &mut |_| {
            ControlFlow::Continue(())
        }));
        if again {
            world.reconfigure(&*factory).unwrap();
        }
    }
    assert!(world.run(&mut |_| ControlFlow::Continue(())));
    let mut outcome = world.into_outcome();
    outcome.counters.events = 0;
    outcome
}

#[test]
fn the_same_options_again_change_nothing_in_any_preset() {
    for network in ["lossy", "legs", "managed"] {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{network}.toml"));
        let text = std::fs::read_to_string(&file).unwrap();
        for preset in hopflow_transports::presets() {
            let text = format!("{text}\n[transports.{}]\n", preset.name);
            let scenario = Scenario::parse(&text, file.to_str().unwrap()).unwrap();
            let [plain, again] = [false, true].map(|again| outcome(&scenario, preset.name, again));
            let same = format!("{plain:?}") == format!("{again:?}");
            assert!(same, "{network} {}", preset.name);
        }
    }
}
