//! Making runs: determinism, interruption, resumption, and what is never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use hopflow_lab::run::{Campaign, Error, Finished, Monitor, Silent};
use hopflow_lab::scenario::Scenario;
use hopflow_results::{Download, Folder, HopSample, RunEntry, Since, Tables};
use hopflow_units::Duration;

const TEXT: &str = r#"
name = "tiny"
duration = "3 s"
warm-up = "1 s"
seeds = 2
[transports.vanilla]
[transports.backtap]
[network]
access = { delay = { uniform = ["5 ms", "20 ms"] } }
bucket = { rate = "1500 kB/s" }
[[network.relays]]
name = "relay"
count = 4
[[circuits]]
count = 2
path = ["relay", "relay"]
workload = { class = "bulk", response = "100 KiB" }
"#;

fn campaign(text: &str) -> Campaign {
    let scenario = Scenario::parse(text, "tiny.toml").unwrap();
    Campaign::new(scenario, text, "test").unwrap()
}

fn run(folder: &Path, threads: usize) -> Finished {
    campaign(TEXT).run(folder, Some(threads), &Silent).unwrap()
}

/// Counts runs, and interrupts once so many are finished.
#[derive(Default)]
struct Counting {
    finished: AtomicUsize,
    stop_after: Option<usize>,
}

impl Monitor for Counting {
    fn begin(&self, _: usize, _: usize, _: Duration) {}

    fn advanced(&self, _: Duration) {}

    fn finished(&self, _: &RunEntry) {
        self.finished.fetch_add(1, Ordering::SeqCst);
    }

    fn interrupted(&self) -> bool {
        self.stop_after
            .is_some_and(|n| self.finished.load(Ordering::SeqCst) >= n)
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

#[test]
fn results_are_the_same_twice_and_for_any_number_of_threads() {
    let parent = tempfile::tempdir().unwrap();
    let hashes: Vec<_> = [("a", 1), ("b", 1), ("c", 2), ("d", 7)]
        .map(|(name, threads)| run(&parent.path().join(name), threads).results)
        .into();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

#[test]
fn the_manifest_lists_all_runs_and_their_tables_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 2);
    let folder = Folder::open(folder.path());
    let manifest = folder.read_manifest().unwrap();
    assert_eq!(manifest.scenario_toml, TEXT);
    let runs: Vec<_> = manifest
        .runs
        .iter()
        .map(|run| (run.key.transport.as_str(), run.key.seed))
        .collect();
    assert_eq!(
        runs,
        [
            ("vanilla", 1),
            ("backtap", 1),
            ("vanilla", 2),
            ("backtap", 2)
        ]
    );
    for entry in &manifest.runs {
        let tables = folder.read_run(entry).unwrap();
        assert_eq!(tables.circuits.len(), 2);
        assert!(
            tables
                .downloads
                .iter()
                .all(|download| download.start_s >= 1.0)
        );
        assert!(
            tables
                .circuits
                .iter()
                .all(|circuit| circuit.goodput_bytes_per_s > 100e3)
        );
        assert!(tables.samples.iter().all(|sample| sample.t_s >= 1.0));
    }
}

#[test]
fn an_interrupted_campaign_goes_on_with_what_is_missing_only() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("interrupted");
    let first = Counting {
        stop_after: Some(1),
        ..Counting::default()
    };
    let error = campaign(TEXT).run(&folder, Some(1), &first).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Interrupted {
                finished: 1,
                planned: 4
            }
        ),
        "{error}"
    );
    let manifest = || Folder::open(&folder).read_manifest().unwrap();
    assert_eq!(manifest().runs.len(), 1);
    assert_eq!(manifest().missing.map(usize::from), Some(3));

    let second = Counting::default();
    let resumed = campaign(TEXT).run(&folder, Some(2), &second).unwrap();
    assert_eq!(second.finished.into_inner(), 3);
    assert_eq!(manifest().missing, None);
    assert_eq!(
        resumed.results,
        run(&parent.path().join("whole"), 1).results
    );

    let third = Counting::default();
    campaign(TEXT).run(&folder, None, &third).unwrap();
    assert_eq!(third.finished.into_inner(), 0);
}

#[test]
fn more_seeds_add_to_what_is_there_and_another_build_does_not_trust_it() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 2);
    let more = TEXT.replace("seeds = 2", "seeds = 3");
    let counting = Counting::default();
    campaign(&more).run(folder.path(), None, &counting).unwrap();
    assert_eq!(counting.finished.into_inner(), 2);

    let scenario = Scenario::parse(TEXT, "tiny.toml").unwrap();
    let changed = Campaign::new(scenario, TEXT, "changed").unwrap();
    let counting = Counting::default();
    changed.run(folder.path(), None, &counting).unwrap();
    assert_eq!(counting.finished.into_inner(), 4);
}

#[test]
fn a_damaged_run_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(folder.path(), 2);
    let damaged = folder
        .path()
        .join(&whole.runs[1].folder)
        .join("samples.parquet");
    fs::write(&damaged, b"PAR1 and nothing more").unwrap();
    let counting = Counting::default();
    let again = campaign(TEXT).run(folder.path(), None, &counting).unwrap();
    assert_eq!(counting.finished.into_inner(), 1);
    assert_eq!(again.results, whole.results);
}

#[test]
fn what_belongs_to_others_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("results");
    run(&folder, 2);
    let manifest = fs::read(folder.join("manifest.json")).unwrap();
    let other = TEXT.replace("\"20 ms\"", "\"30 ms\"");
    let refused = |text: &str, folder: &Path| {
        let error = campaign(text).run(folder, None, &Silent).unwrap_err();
        error.to_string()
    };
    let message = refused(&other, &folder);
    assert!(
        message.contains("results of \"tiny\" as it was before it changed"),
        "{message}"
    );
    assert_eq!(fs::read(folder.join("manifest.json")).unwrap(), manifest);

    fs::write(folder.join("manifest.json"), "{ \"format\": 1,").unwrap();
    let message = refused(TEXT, &folder);
    assert!(message.contains("manifest.json is damaged"), "{message}");
    assert_eq!(
        fs::read(folder.join("manifest.json")).unwrap(),
        b"{ \"format\": 1,"
    );

    let mine = parent.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("report.html"), "mine").unwrap();
    let message = refused(TEXT, &mine);
    assert!(
        message.contains("files but no results of hopflow"),
        "{message}"
    );
    assert_eq!(fs::read_dir(&mine).unwrap().count(), 1);

    let message = refused(TEXT, &mine.join("report.html"));
    assert!(message.contains("is no folder"), "{message}");
}

#[test]
fn a_folder_that_was_claimed_in_vain_can_be_used() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("results");
    fs::create_dir_all(folder.join("runs")).unwrap();
    fs::write(folder.join(".manifest.json.7-0.partial"), "").unwrap();
    assert_eq!(campaign(TEXT).missing(&folder).unwrap().len(), 4);
    Folder::open(&folder).read_manifest().unwrap();
}

#[test]
fn files_beside_the_scenario_are_found_when_seeds_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let relay = |number: u32| format!("{number:040X} EU 500000");
    let line = |n| format!("{n}\t{}\t{}\t{}\n", relay(n), relay(n + 10), relay(n + 20));
    let lines: String = (0..4).map(line).collect();
    fs::write(folder.path().join("some.dat"), lines).unwrap();
    let file = folder.path().join("some.toml").display().to_string();
    let missing = |seeds: u32| {
        let text = format!(
            "name = \"some\"\nduration = \"3 s\"\nseeds = {seeds}\n[transports.vanilla]\n\
             [network]\nsource = {{ circuits = \"some.dat\" }}\n\
             [[circuits]]\ncount = 2\npath = \"published\"\nworkload = \"bulk\"\n"
        );
        let scenario = Scenario::parse(&text, &file).unwrap();
        let mut campaign = Campaign::new(scenario, &text, "test").unwrap();
        campaign.set_file(&file);
        campaign.missing(&folder.path().join("out")).unwrap().len()
    };
    assert_eq!([missing(1), missing(2)], [1, 2]);
}

#[test]
fn the_default_folder_differs_by_scenario_and_transports_but_not_by_seeds() {
    let name = |text: &str| campaign(text).default_folder(Path::new("results"));
    let base = name(TEXT);
    assert!(base.to_string_lossy().contains("tiny-"));
    assert_eq!(name(&TEXT.replace("seeds = 2", "seeds = 9")), base);
    assert_ne!(name(&TEXT.replace("3 s", "4 s")), base);
    assert_ne!(name(&TEXT.replace("[transports.backtap]", "")), base);
    let fault = |at| format!("{TEXT}[[faults]]\nwhat = \"outage\"\nat = \"{at} s\"\n");
    assert_ne!(name(&fault(1)), base);
    assert_ne!(name(&fault(1)), name(&fault(2)));
}

/// The tables of all runs in a folder.
fn read(folder: &Path) -> Vec<Tables> {
    let folder = Folder::open(folder);
    let runs = folder.read_manifest().unwrap().runs;
    let tables = runs.iter().map(|run| folder.read_run(run).unwrap());
    tables.collect()
}

#[test]
fn latencies_are_recorded_on_request_and_change_nothing_else() {
    let without = tempfile::tempdir().unwrap();
    run(without.path(), 2);
    let with = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}[record]\nlatency = true\n");
    campaign(&text).run(with.path(), Some(2), &Silent).unwrap();
    for (without, mut with) in read(without.path()).into_iter().zip(read(with.path())) {
        let counted: u64 = with.latency_classes.iter().map(|class| class.cells).sum();
        let cells: u64 = with.latencies.iter().map(|latency| latency.cells).sum();
        assert!(cells > 0 && counted == cells);
        // A circuit's cells enter the overlay before they leave its exit.
        for pair in with.latencies.chunks(2) {
            assert_eq!(
                [pair[0].since, pair[1].since],
                [Since::Packaged, Since::Sent]
            );
            assert_eq!(pair[0].cells, pair[1].cells);
            assert!(pair[0].mean_s >= pair[1].mean_s && pair[1].mean_s > 0.02);
        }
        with.latencies.clear();
        with.latency_classes.clear();
        assert_eq!(without, with);
    }
}

#[test]
fn breakdowns_are_recorded_on_request_add_up_and_change_nothing_else() {
    let without = tempfile::tempdir().unwrap();
    run(without.path(), 2);
    let with = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}[record]\nbreakdown = true\n");
    campaign(&text).run(with.path(), Some(2), &Silent).unwrap();
    for (without, mut with) in read(without.path()).into_iter().zip(read(with.path())) {
        let mut sums = BTreeMap::new();
        for part in &with.breakdown {
            *sums.entry((part.circuit, part.request)).or_insert(0) += part.time_ns;
        }
        let ttlb = |it: &Download| ((it.circuit, it.request), (it.ttlb_s * 1e9).round() as u64);
        let downloads: BTreeMap<_, _> = with.downloads.iter().map(ttlb).collect();
        assert!(!downloads.is_empty() && sums == downloads);
        with.breakdown.clear();
        assert_eq!(without, with);
    }
}

#[test]
fn metrics_of_layers_are_recorded_with_hops_where_layers_have_some() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}[record]\nhops = \"50 ms\"\n");
    campaign(&text)
        .run(folder.path(), Some(2), &Silent)
        .unwrap();
    let folder = Folder::open(folder.path());
    for run in folder.read_manifest().unwrap().runs {
        let tables = folder.read_run(&run).unwrap();
        if run.key.transport == "vanilla" {
            assert!(!run.files.contains_key("metrics"), "no layer has any");
            continue;
        }
        let units = tables.metric_units.iter();
        let units: Vec<_> = units.map(|it| (&*it.metric, &*it.unit)).collect();
        let expected = [
            ("base_round_trip", "seconds"),
            ("round_trip", "seconds"),
            ("waiting", "cells"),
        ];
        assert_eq!(units, expected);
        let places: BTreeSet<_> = tables.hops.iter().map(place).collect();
        for row in &tables.metrics {
            assert!(row.value.is_finite() && expected.iter().any(|it| it.0 == row.metric));
            let place = (row.circuit, row.hop, row.t_s.to_bits());
            assert!(places.contains(&place), "as queues and windows: {row:?}");
        }
        assert!(tables.metrics.len() > tables.hops.len());
    }
}

/// Which hop it was, and when.
fn place(sample: &HopSample) -> (u32, u32, u64) {
    (sample.circuit, sample.hop, sample.t_s.to_bits())
}

#[test]
fn queues_are_recorded_on_request_and_change_nothing_else() {
    let without = tempfile::tempdir().unwrap();
    run(without.path(), 2);
    let with = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}[record]\nqueues = \"10 ms\"\n");
    campaign(&text).run(with.path(), Some(2), &Silent).unwrap();
    for (without, mut with) in read(without.path()).into_iter().zip(read(with.path())) {
        assert_eq!(with.queues.len(), with.links.len());
        assert!(with.queues.iter().map(|queue| queue.packets).sum::<u64>() > 1000);
        for (queue, link) in with.queues.iter().zip(&with.links) {
            assert_eq!((&queue.name, queue.direction), (&link.name, link.direction));
            assert!(queue.drops <= queue.packets && queue.drops <= link.drops);
            assert!(queue.mean_bytes <= 1502.0 * queue.mean_packets);
        }
        with.queues.clear();
        assert_eq!(without, with);
    }
}

#[test]
fn observers_and_visits_are_told_only_where_they_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages.csv");
    let lines =
        "page,instance,time_us,size\n7,3,0,500\n7,3,9,-9000\n7,3,90000,400\n7,3,90009,-700\n";
    fs::write(&pages, lines).unwrap();
    let plain = run(&folder.path().join("plain"), 1);
    let replay = format!(
        "{{ class = \"web\", think = [\"1 s\", \"1 s\"], replay = {:?} }}",
        pages.display().to_string()
    );
    let workload = "{ class = \"bulk\", response = \"100 KiB\" }";
    let text = TEXT.replace(workload, &replay) + "[record]\ntraces = \"50 ms\"\n";
    let watched = campaign(&text)
        .run(&folder.path().join("watched"), Some(1), &Silent)
        .unwrap();
    let tables = |finished: &Finished, name: &str| {
        let folder = Folder::open(&folder.path().join(name));
        folder.read_run(&finished.runs[0]).unwrap()
    };
    let without = tables(&plain, "plain");
    assert!(without.traces.is_empty() && without.visits.is_empty());
    let with = tables(&watched, "watched");
    assert!(
        with.traces.iter().all(|bin| bin.t_s >= 1.0),
        "after the warm-up"
    );
    assert!(with.visits.len() > 2);
    for visit in &with.visits {
        assert_eq!((visit.page, visit.instance), (7, 3));
        assert!(visit.end_s >= visit.start_s);
    }
}

#[test]
fn downloads_that_are_not_complete_at_the_end_are_told() {
    let folder = tempfile::tempdir().unwrap();
    // 20 MiB do not come through 1500 kB/s within three seconds.
    let text = TEXT.replace("100 KiB", "20 MiB");
    let text = text.replace("warm-up = \"1 s\"\n", "");
    campaign(&text)
        .run(folder.path(), Some(2), &Silent)
        .unwrap();
    for run in read(folder.path()) {
        assert!(run.downloads.is_empty());
        assert_eq!(run.open_requests.len(), run.circuits.len());
        for (open, circuit) in run.open_requests.iter().zip(&run.circuits) {
            assert_eq!((open.circuit, open.request), (circuit.circuit, 0));
            assert_eq!(open.bytes, circuit.delivered_bytes);
            assert!((open.start_s + open.waited_s - 3.0).abs() < 1e-6);
            assert!(open.ttfb_s.is_some_and(|ttfb| ttfb < open.waited_s));
        }
    }
    // What was requested in the warm-up does not count, and what has no end is not open.
    let endless = text.replace("response = \"20 MiB\"", "response = \"endless\"");
    for text in [endless, TEXT.replace("100 KiB", "20 MiB")] {
        let folder = tempfile::tempdir().unwrap();
        campaign(&text)
            .run(folder.path(), Some(2), &Silent)
            .unwrap();
        assert!(
            read(folder.path())
                .iter()
                .all(|run| run.open_requests.is_empty())
        );
    }
}
