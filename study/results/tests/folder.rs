//! Result folders as their users see them.

use std::fs;
use std::path::{Path, PathBuf};

use hopflow_results::{
    Cause, Circuit, Class, CrossFlow, Deployment, Direction, Download, Error, FailCause, Failure,
    Fault, FaultKind, Folder, HopSample, Latency, LatencyClass, Link, Manifest, Metric, MetricUnit,
    NewCircuit, Node, OpenRequest, Part, PathNode, Queue, Relay, RunEntry, RunKey, Sample, Since,
    Stage, Tables, Trace, Transfer, Value, Vantage, Verdict, Visit,
};
use tempfile::TempDir;

fn key() -> RunKey {
    RunKey::new("backtap", 2, u64::MAX, &["name = \"star\"", "0.1.0"])
}

fn download(request: u32) -> Download {
    Download {
        circuit: 7,
        class: Class::Web,
        request,
        start_s: 0.1 * f64::from(request),
        ttfb_s: 0.25,
        ttlb_s: 1.75,
        bytes: 327_680,
    }
}

fn metric() -> Metric {
    Metric {
        circuit: 7,
        hop: 1,
        t_s: 0.02,
        metric: "round_trip".into(),
        value: 0.031_25,
    }
}

fn metric_unit() -> MetricUnit {
    MetricUnit {
        metric: "round_trip".into(),
        unit: "seconds".into(),
        about: "the latest round trip of the hop".into(),
    }
}

fn failure() -> Failure {
    Failure {
        circuit: 7,
        class: Class::Bulk,
        request: 2,
        start_s: 0.5,
        end_s: 3.5,
        ttfb_s: Some(0.25),
        bytes: 1_000_000,
        endless: false,
        cause: FailCause::Left,
    }
}

fn new_circuit() -> NewCircuit {
    NewCircuit {
        circuit: 7,
        closed_s: 3.5,
        ready_s: 4.5,
    }
}

fn fault() -> Fault {
    Fault {
        name: "relay-1".to_owned(),
        what: FaultKind::Bucket,
        from_s: 2.5,
        until_s: None,
        rate_bytes_per_s: Some(5e5),
        delay_s: None,
    }
}

fn visit() -> Visit {
    Visit {
        circuit: 7,
        page: 3,
        instance: 24,
        start_s: 0.1,
        end_s: 4.5,
    }
}

fn open_request() -> OpenRequest {
    OpenRequest {
        circuit: 7,
        class: Class::Web,
        request: 3,
        start_s: 50.0,
        waited_s: 10.0,
        ttfb_s: None,
        bytes: 0,
    }
}

fn tables() -> Tables {
    let circuit = Circuit {
        circuit: 7,
        hops: 3,
        class: Class::Bulk,
        packaged_bytes: u64::MAX,
        delivered_bytes: 1_000_000,
        rate_bytes_per_s: 1234.5,
        goodput_bytes_per_s: 1200.0,
        fair_bytes_per_s: None,
        bottleneck: Some(3),
        backlog_mean_bytes: Some(40_000.25),
        latency_mean_s: Some(0.3),
        latency_p50_s: None,
        latency_p95_s: Some(0.9),
        closed: true,
    };
    let hop = |window_cells| HopSample {
        circuit: u32::MAX,
        hop: 1,
        t_s: 0.02,
        queue_cells: 4,
        outstanding_cells: 9,
        window_cells,
    };
    let relay = Relay {
        name: "münchen \"1\"".to_owned(),
        cells_sent: 10,
        cells_retransmitted: 1,
        cells_dropped: 0,
        largest_queue_cells: 5,
        utilisation: Some(0.84),
    };
    let link = Link {
        name: "relay-1".to_owned(),
        direction: Direction::Down,
        drops: 3,
        bytes: None,
        utilisation: Some(1.0),
    };
    Tables {
        downloads: (0..40_000).map(download).collect(),
        open_requests: vec![open_request()],
        breakdown: vec![part()],
        circuits: vec![circuit],
        samples: vec![Sample {
            circuit: 7,
            t_s: 0.01,
            packaged_bytes: 5,
            delivered_bytes: 2,
        }],
        hops: vec![hop(Some(12)), hop(None), hop(Some(u64::MAX))],
        metrics: vec![metric()],
        metric_units: vec![metric_unit()],
        relays: vec![relay],
        links: vec![link],
        cross: vec![cross_flow()],
        latencies: vec![Latency {
            circuit: 7,
            since: Since::Sent,
            cells: 3,
            mean_s: 0.08,
        }],
        latency_classes: vec![LatencyClass {
            circuit: 7,
            since: Since::Packaged,
            from_s: 0.07,
            below_s: 0.09,
            cells: 3,
        }],
        queues: vec![queue()],
        deployments: vec![Deployment {
            circuit: 7,
            upgraded: true,
            preset: "backtap".to_owned(),
        }],
        traces: vec![Trace {
            circuit: 7,
            place: Vantage::Exit,
            t_s: 0.05,
            up_packets: 1,
            up_bytes: 498,
            down_packets: 30,
            down_bytes: 14_940,
        }],
        visits: vec![visit()],
        failures: vec![failure()],
        rebuilt: vec![new_circuit()],
        faults: vec![fault()],
        nodes: vec![node()],
        paths: vec![path_node()],
        trace_files: Vec::new(),
    }
}

fn cross_flow() -> CrossFlow {
    CrossFlow {
        flow: 0,
        goodput_bytes_per_s: 1e6,
    }
}

fn path_node() -> PathNode {
    PathNode {
        circuit: 7,
        leg: 1,
        position: 2,
        node: 3,
    }
}

fn queue() -> Queue {
    Queue {
        name: "relay-1".to_owned(),
        direction: Direction::Down,
        mean_packets: 12.5,
        mean_bytes: 18_000.25,
        packets: 900,
        drops: 3,
    }
}

fn node() -> Node {
    Node {
        node: 3,
        name: "relay-1".to_owned(),
        region: "EU".to_owned(),
        access_bytes_per_s: 12.5e6,
        delay_s: 0.02,
        bucket_bytes_per_s: None,
    }
}

fn part() -> Part {
    Part {
        circuit: 7,
        request: 1,
        transfer: 1,
        way: Transfer::Response,
        stage: Stage::Queue,
        hop: 2,
        name: "relay-1".to_owned(),
        cause: Cause::Turn,
        time_ns: 12_345_678,
        others_cells: 40,
        node_cells: 300,
    }
}

/// A folder with one run.
fn folder() -> (TempDir, Folder, RunEntry) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(&temporary.path().join("results")).unwrap();
    let entry = folder.write_run(&key(), &tables(), 1.5).unwrap();
    (temporary, folder, entry)
}

fn file(folder: &Folder, entry: &RunEntry, name: &str) -> PathBuf {
    folder.path().join(&entry.folder).join(name)
}

fn message(error: &Error) -> String {
    error.to_string()
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let (_guard, folder, entry) = folder();
    assert_eq!(folder.read_run(&entry).unwrap(), tables());
    assert_eq!(entry.results, tables().fingerprint());
    assert_eq!(entry.files["downloads"].rows, 40_000);
}

#[test]
fn an_empty_run_is_read_as_it_was_written() {
    let (_guard, folder, _) = folder();
    let entry = folder.write_run(&key(), &Tables::default(), 0.0).unwrap();
    assert_eq!(folder.read_run(&entry).unwrap(), Tables::default());
}

#[test]
fn a_finished_run_is_recognised_by_its_key_and_only_by_it() {
    let (_guard, folder, entry) = folder();
    assert_eq!(folder.finished(&key()), Some(entry));
    for other in [
        RunKey::new("backtap", 2, 1, &["name = \"star\"", "0.1.0"]),
        RunKey::new("backtap", 2, u64::MAX, &["name = \"star\"", "0.1.1"]),
        RunKey::new("vanilla", 2, u64::MAX, &["name = \"star\"", "0.1.0"]),
    ] {
        assert_eq!(folder.finished(&other), None);
    }
}

#[test]
fn a_damaged_run_counts_as_unfinished_and_can_be_written_again() {
    let (_guard, folder, entry) = folder();
    fs::write(file(&folder, &entry, "hops.parquet"), b"PAR1").unwrap();
    assert_eq!(folder.finished(&key()), None);
    folder.write_run(&key(), &tables(), 1.5).unwrap();
    assert_eq!(folder.finished(&key()), Some(entry));
}

#[test]
fn a_label_with_odd_characters_stays_within_the_folder() {
    let (_guard, folder, _) = folder();
    let key = RunKey::new("../../e\u{301}vil transport/", 0, 1, &[]);
    let entry = folder.write_run(&key, &Tables::default(), 0.0).unwrap();
    assert_eq!(Path::new(&entry.folder).parent(), Some(Path::new("runs")));
    assert_eq!(folder.finished(&key), Some(entry));
}

#[test]
fn the_hash_of_results_depends_on_every_row_but_metrics_and_on_nothing_else() {
    assert_eq!(tables().fingerprint(), tables().fingerprint());
    let mut other = tables();
    other.breakdown.clear();
    assert_ne!(other.fingerprint(), tables().fingerprint());
    // Frozen: a change means that hashes of published results no longer agree.
    other.queues.clear();
    assert_ne!(other.fingerprint(), tables().fingerprint());
    let before = other.fingerprint();
    other.faults.clear();
    assert_ne!(other.fingerprint(), before);
    let before = other.fingerprint();
    other.rebuilt.clear();
    assert_ne!(other.fingerprint(), before);
    let before = other.fingerprint();
    other.failures.clear();
    assert_ne!(other.fingerprint(), before);
    other.visits.clear();
    let before = other.fingerprint();
    other.traces.clear();
    assert_ne!(other.fingerprint(), before);
    assert_ne!(other.fingerprint(), tables().fingerprint());
    let before = other.fingerprint();
    other.deployments.clear();
    assert_ne!(other.fingerprint(), before);
    assert_eq!(other.fingerprint().to_string(), "2bbca062a9b6b9ca");
    // Tables that are there only where they were asked for change no other results.
    other.latencies.clear();
    other.latency_classes.clear();
    assert_eq!(other.fingerprint().to_string(), "da7af3b361f6c66a");
    other = tables();
    other.metrics.clear();
    other.metric_units.clear();
    other.nodes.clear();
    other.paths.clear();
    assert_eq!(other.fingerprint(), tables().fingerprint());
    other.hops[2].window_cells = Some(u64::MAX - 1);
    assert_ne!(other.fingerprint(), tables().fingerprint());
    other = tables();
    other.downloads.swap(0, 1);
    assert_ne!(other.fingerprint(), tables().fingerprint());
}

#[test]
fn a_manifest_is_read_as_it_was_written() {
    let (_guard, folder, entry) = folder();
    let mut manifest = Manifest::new("0.1.0", "star", "name = \"star\"\n# µ\n");
    manifest.command = Some("hopflow run star.toml".to_owned());
    manifest.commit = Some("0123abc".to_owned());
    manifest.build = Some("fedcba9876543210".to_owned());
    manifest.transports = vec!["backtap".to_owned()];
    manifest.seeds = vec![1, u64::MAX];
    manifest.runs = vec![entry];
    folder.write_manifest(&manifest).unwrap();
    assert_eq!(folder.read_manifest().unwrap(), manifest);
}

#[test]
fn a_manifest_tells_the_seeds_of_all_its_runs() {
    let (_guard, _, entry) = folder();
    let mut manifest = Manifest::new("0.1.0", "star", "");
    manifest.seeds = vec![7, 3];
    assert_eq!(manifest.seeds_of_runs(), [7, 3]);
    let run = |seed| {
        let mut run = entry.clone();
        run.key.seed = seed;
        run
    };
    manifest.runs = [7, 3, 9, 7].map(run).to_vec();
    assert_eq!(manifest.seeds_of_runs(), [3, 7, 9]);
}

#[test]
fn a_missing_manifest_says_what_it_would_hold() {
    let empty = tempfile::tempdir().unwrap();
    let error = Folder::open(empty.path()).read_manifest().unwrap_err();
    assert!(matches!(error, Error::Missing { .. }));
    assert!(
        message(&error).contains("manifest.json does not exist"),
        "{error}"
    );
    assert!(message(&error).contains("hopflow run"), "{error}");
}

#[test]
fn a_manifest_of_another_format_is_told_apart_from_a_damaged_one() {
    let (_guard, folder, _) = folder();
    let path = folder.path().join("manifest.json");
    for (text, expected) in [
        (
            "{\"format\": 99}",
            "`format` is 99, but this version of hopflow reads 2",
        ),
        (
            "{\"format\": 2, \"hopflow\": \"0.1.0\"}",
            "missing field `scenario`",
        ),
        ("{\"format\": \"one\"}", "`format` must be a whole number"),
        ("{\"format\": 2", "EOF while parsing"),
        ("", "EOF while parsing"),
    ] {
        fs::write(&path, text).unwrap();
        let error = folder.read_manifest().unwrap_err();
        assert!(message(&error).contains(expected), "{error}");
    }
}

#[test]
fn a_missing_table_is_named() {
    let (_guard, folder, entry) = folder();
    fs::remove_file(file(&folder, &entry, "circuits.parquet")).unwrap();
    let error = folder.read_run(&entry).unwrap_err();
    assert!(
        message(&error).contains("circuits.parquet does not exist"),
        "{error}"
    );
}

#[test]
fn truncated_and_changed_tables_are_errors_and_never_panics() {
    let (_guard, folder, entry) = folder();
    let path = file(&folder, &entry, "hops.parquet");
    let whole = fs::read(&path).unwrap();
    let mut state = 1_u64;
    for round in 0..200 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let place = (state >> 33) as usize % whole.len();
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            bytes.truncate(place);
        } else {
            bytes[place] ^= 1 << (state >> 61);
        }
        fs::write(&path, bytes).unwrap();
        let error = folder.read_table::<HopSample>(&entry).unwrap_err();
        assert!(
            message(&error).contains("hops.parquet is damaged: its checksum"),
            "{error}"
        );
    }
}

#[test]
fn an_interrupted_write_leaves_no_run_behind() {
    let (_guard, folder, entry) = folder();
    let run = folder.path().join(&entry.folder);
    let partial = run.with_file_name(format!(".{}.partial", key().folder()));
    fs::rename(&run, &partial).unwrap();
    assert_eq!(folder.finished(&key()), None);
    folder.write_run(&key(), &tables(), 1.5).unwrap();
    assert!(!partial.exists());
}

#[test]
fn files_are_replaced_at_the_same_time_and_leave_nothing_in_the_making() {
    let (_guard, folder, _) = folder();
    std::thread::scope(|scope| {
        for text in ["a", "b", "c", "d"] {
            let folder = &folder;
            scope.spawn(move || {
                for _ in 0..50 {
                    folder.write_extra("extra.txt", text).unwrap();
                }
            });
        }
    });
    let text = folder.read_extra("extra.txt").unwrap().unwrap();
    assert_eq!(text.len(), 1);
    // A folder cannot be replaced by a file.
    folder.write_extra("runs", "text").unwrap_err();
    let names = fs::read_dir(folder.path()).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name());
    assert!(names.all(|name| !name.to_string_lossy().contains("partial")));
}

#[test]
fn a_folder_is_new_until_somebody_wrote_results_into_it() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("out");
    assert!(Folder::open(&path).is_new());
    let folder = Folder::create(&path).unwrap();
    fs::write(path.join(".manifest.json.7-0.partial"), "").unwrap();
    assert!(folder.is_new());
    fs::create_dir(path.join("runs/backtap-n1-s1-0")).unwrap();
    assert!(!folder.is_new());
    fs::remove_dir(path.join("runs/backtap-n1-s1-0")).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    assert!(!folder.is_new());
}

fn value() -> Value {
    Value {
        figure: "backtap-fig5".to_owned(),
        quantity: "goodput, \"median\"".to_owned(),
        unit: "kB/s".to_owned(),
        transport: "backtap".to_owned(),
        x: Some(0.1 + 0.2),
        n: 25,
        mean: -1.5e-7,
        ci_low: Some(-2.0),
        ci_high: None,
        paper: Some(140.0),
        band_low: None,
        band_high: Some(f64::MAX),
        verdict: Verdict::Undecided,
        wanted: Some(40),
    }
}

#[test]
fn values_are_read_as_they_were_written() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(&temporary.path().join("backtap-fig5"));
    let values: Vec<Value> = Verdict::ALL
        .iter()
        .map(|verdict| Value {
            verdict: *verdict,
            ..value()
        })
        .collect();
    folder.write_values(&values).unwrap();
    assert_eq!(folder.read_values().unwrap(), values);
    let text = fs::read_to_string(folder.path().join("values.csv")).unwrap();
    let header = "figure,quantity,unit,transport,x,n,mean,ci_low,ci_high,paper,band_low,band_high,\
                  verdict,wanted\n";
    assert!(text.starts_with(header), "{text}");
    assert!(
        text.contains("0.30000000000000004,25,-0.00000015,-2,,140,,"),
        "{text}"
    );
}

#[test]
fn a_value_that_is_not_finite_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(temporary.path());
    let error = folder
        .write_values(&[Value {
            mean: f64::NAN,
            ..value()
        }])
        .unwrap_err();
    assert!(
        message(&error).contains("`mean` of goodput, \"median\" is NaN"),
        "{error}"
    );
    assert!(matches!(folder.read_values(), Err(Error::Missing { .. })));
}

#[test]
fn damaged_values_are_errors_that_name_line_column_and_what_is_allowed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(temporary.path());
    let header = hopflow_results::VALUE_COLUMNS.join(",");
    for (text, expected) in [
        (String::new(), "its first line must be `figure,quantity"),
        (
            "a,b\n".to_owned(),
            "its first line must be `figure,quantity",
        ),
        (
            format!("{header}\nf,q,u,t,,3,x,,,,,,reproduced,\n"),
            "line 2: `mean` is `x`",
        ),
        (
            format!("{header}\nf,q,u,t,,3,NaN,,,,,,reproduced,\n"),
            "must be a finite number",
        ),
        (
            format!("{header}\nf,q,u,t,,-3,1,,,,,,reproduced,\n"),
            "`n` is `-3`",
        ),
        (
            format!("{header}\nf,q,u,t,,3,1,,,,,,fine,\n"),
            "`fine` is none of `reproduced`, `not reproduced`, `undecided`",
        ),
        (
            format!("{header}\nf,q,u,t,,3,1,,,,,,undecided,many\n"),
            "`wanted` is `many`",
        ),
        (format!("{header}\nf,q\n"), "2 fields"),
    ] {
        fs::write(temporary.path().join("values.csv"), text).unwrap();
        let error = folder.read_values().unwrap_err();
        assert!(message(&error).contains(expected), "{error}");
    }
}

#[test]
fn random_bytes_are_errors_and_never_panics() {
    let (_guard, folder, _) = folder();
    let mut state = 99_u64;
    for length in [1, 4, 12, 100, 5000] {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        fs::write(folder.path().join("manifest.json"), &bytes).unwrap();
        fs::write(folder.path().join("values.csv"), &bytes).unwrap();
        assert!(matches!(folder.read_manifest(), Err(Error::Damaged { .. })));
        assert!(matches!(folder.read_values(), Err(Error::Damaged { .. })));
    }
}
