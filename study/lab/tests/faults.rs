//! Faults of relays: what a scenario may say, and what is drawn from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use hopflow_lab::run::{Campaign, Job, Silent, Watched};
use hopflow_lab::scenario::Scenario;
use hopflow_results::{FailCause, FaultKind, Folder, Tables};
use hopflow_sim::spec::{Fault, FaultKind as Kind};
use hopflow_units::{Bytes, Duration, Rate};

const NETWORK: &str = r#"
name = "faults"
duration = "10 s"
seeds = 1
[transports.vanilla]
[network]
bucket = { rate = "1 MB/s" }
[[network.relays]]
name = "guard"
count = 30
[[network.relays]]
name = "exit"
[[circuits]]
path = ["guard", "guard", "exit"]
workload = "bulk"
"#;

fn parse(faults: &str) -> Result<Scenario, String> {
    let text = format!("{NETWORK}[[faults]]\n{faults}\n");
    Scenario::parse(&text, "faults.toml").map_err(|error| error.to_string())
}

/// The faults of a network of this seed.
fn drawn(faults: &str, seed: u64) -> Vec<Fault> {
    let scenario = parse(faults).unwrap_or_else(|error| panic!("{error}"));
    scenario.sample(seed).faults
}

#[test]
fn errors_name_key_value_and_what_is_allowed() {
    let cases = [
        (
            "what = 'outtage'\nat = '1 s'",
            "faults[0].what: unknown value \"outtage\"; did you mean \"outage\"? allowed: stop, \
             outage, rate, delay, bucket",
        ),
        (
            "what = 'outage'",
            "faults[0]: needs either `at`, when it happens once, or `mttf` and `mttr`, the mean times \
             to a fault and to its repair",
        ),
        (
            "what = 'outage'\nat = '10 s'",
            "faults[0].at: \"10 s\" is not before the end; allowed is less than the duration, \"10 s\"",
        ),
        (
            "what = 'outage'\nat = '1 s'\nfor = '0 s'",
            "faults[0].for: may be zero; allowed is a time above zero",
        ),
        (
            "what = 'outage'\nmttf = '1 s'\nmttr = '10 us'",
            "faults[0].mttr: \"10 us\" is too short; allowed is 1 ms or more",
        ),
        (
            "what = 'outage'\nmttf = '1 s'\nmttr = '1 s'\nfor = '1 s'",
            "faults[0].for: belongs to `at`; with `mttf`, `mttr` says how long faults last",
        ),
        (
            "what = 'outage'\nat = '1 s'\ndetected = '2 s'",
            "faults[0].detected: belongs to `what = \"stop\"`; nobody closes a circuit for other faults",
        ),
        (
            "what = 'outage'\nat = '1 s'\nshare = 1.5",
            "faults[0].share: 1.5 is outside of what is allowed: 0 to 1",
        ),
    ];
    for (faults, expected) in cases {
        let error = parse(faults).expect_err(faults);
        assert!(error.contains(expected), "{error}");
    }
    let error = parse("relays = ['exit', 'gard*']\nwhat = 'outage'\nat = '1 s'").unwrap_err();
    let expected = "faults[0].relays[1]: there is no relay \"gard*\"; did you mean \"guard\"? \
                    allowed: guard, exit, relays of these groups, or the beginning of names with a * behind";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn relays_are_named_by_group_by_name_and_by_beginning() {
    let nodes = |relays: &str| {
        let text = format!("relays = {relays}\nwhat = 'outage'\nat = '1 s'");
        let faults = drawn(&text, 1);
        faults
            .iter()
            .map(|fault| fault.node.index())
            .collect::<Vec<_>>()
    };
    assert_eq!(nodes("['exit']"), [30]);
    assert_eq!(nodes("['guard']"), (0..30).collect::<Vec<_>>());
    assert_eq!(nodes("['guard-2', 'ex*']"), [1, 30]);
    assert_eq!(
        nodes("['guard-2*']"),
        [1, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28]
    );
    assert_eq!(nodes("[]"), (0..31).collect::<Vec<_>>());
}

#[test]
fn a_relay_that_fails_at_some_share_does_at_all_larger_ones_at_the_same_time() {
    let text = "what = 'outage'\nat = { uniform = ['1 s', '9 s'] }\nfor = '2 s'";
    let all = drawn(text, 3);
    let times: BTreeSet<_> = all.iter().map(|fault| fault.from).collect();
    assert_eq!((all.len(), times.len()), (31, 31), "each draws for itself");
    let of = |share: f64| drawn(&format!("{text}\nshare = {share}"), 3);
    let (some, more) = (of(0.3), of(0.6));
    assert!(!some.is_empty() && some.len() < more.len() && more.len() < 31);
    assert!(some.iter().all(|fault| more.contains(fault)));
    assert!(more.iter().all(|fault| all.contains(fault)));
    for fault in &all {
        assert_eq!(fault.until, Some(fault.from + Duration::from_secs(2)));
    }
}

#[test]
fn mean_times_to_a_fault_and_to_its_repair_are_kept() {
    let faults = drawn(
        "what = { rate = '1 Mbit/s' }\nmttf = '30 ms'\nmttr = '10 ms'",
        1,
    );
    let rate = Kind::Rate(Rate::from_megabits_per_sec(1));
    assert!(faults.iter().all(|fault| fault.kind == rate));
    let lasted = |fault: &Fault| (fault.until.expect("it is over") - fault.from).as_secs_f64();
    let count = faults.len() as f64;
    let repair = faults.iter().map(lasted).sum::<f64>() / count;
    // Some 7750 exponentially distributed times: the standard error is 1.1 %.
    assert!((repair / 0.010 - 1.0).abs() < 0.05, "{repair}");
    let between = 31.0 * 10.0 / count;
    assert!((between / 0.040 - 1.0).abs() < 0.05, "{between}");
}

fn tables(faults: &str) -> Tables {
    split(&format!("{NETWORK}{faults}"), 1)
}

/// The results of a scenario's first run, on so many threads.
fn split(text: &str, threads: usize) -> Tables {
    let scenario = Scenario::parse(text, "faults.toml").unwrap_or_else(|error| panic!("{error}"));
    let results = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::new(scenario, text, "test").unwrap();
    campaign.split_runs(threads);
    let finished = campaign.run(results.path(), None, &Silent).unwrap();
    let folder = Folder::open(results.path());
    folder.read_run(&finished.runs[0]).unwrap()
}

#[test]
fn results_list_all_faults_and_no_fair_rates_beside_them() {
    let without = tables("");
    assert!(without.faults.is_empty());
    assert!(without.circuits[0].fair_bytes_per_s.is_some());
    let with = tables(
        "[[faults]]\nrelays = ['exit']\nwhat = { bucket = '100 kB/s' }\nat = '2 s'\n\
         [[faults]]\nrelays = ['guard-1']\nwhat = { delay = '70 ms' }\nat = '3 s'\nfor = '1 s'\n",
    );
    let [bucket, delay] = &with.faults[..] else {
        panic!("{:?}", with.faults);
    };
    assert_eq!(
        (bucket.name.as_str(), bucket.what),
        ("exit", FaultKind::Bucket)
    );
    assert_eq!((bucket.from_s, bucket.until_s), (2.0, None));
    assert_eq!((bucket.rate_bytes_per_s, bucket.delay_s), (Some(1e5), None));
    assert_eq!(
        (delay.name.as_str(), delay.what),
        ("guard-1", FaultKind::Delay)
    );
    assert_eq!((delay.until_s, delay.delay_s), (Some(4.0), Some(0.07)));
    assert_eq!(with.circuits[0].fair_bytes_per_s, None);
    assert!(with.circuits[0].delivered_bytes < without.circuits[0].delivered_bytes / 2);
}

#[test]
fn users_arrive_with_the_load_and_leave_after_their_stay() {
    let text = NETWORK.replace(
        "workload = \"bulk\"",
        "count = 200\nworkload = \"web\"\narrivals = [[\"2 s\", 1], [\"4 s\", 0], [\"8 s\", 0.5]]\n\
         stay = { uniform = [\"1 s\", \"2 s\"] }",
    );
    let scenario = Scenario::parse(&text, "faults.toml").unwrap_or_else(|error| panic!("{error}"));
    let circuits = scenario.sample(1).circuits;
    let secs = Duration::from_secs;
    let early = circuits.iter().filter(|user| user.start < secs(4)).count();
    // Half of them, with a standard deviation of 7.
    assert!((70..130).contains(&early), "{early}");
    for user in &circuits {
        assert!((secs(2)..=secs(8)).contains(&user.start));
        let stay = user.leave.expect("it leaves") - user.start;
        assert!((secs(1)..=secs(2)).contains(&stay));
    }
    let wrong = |from: &str, to: &str| {
        let text = text.replace(from, to);
        let error = Scenario::parse(&text, "faults.toml").expect_err(to);
        error.to_string()
    };
    let error = wrong("\"4 s\", 0]", "\"2 s\", 0]");
    assert!(
        error.contains("circuits[0].arrivals[1]: \"2 s\" does not come after"),
        "{error}"
    );
    let error = wrong("\"2 s\", 1]", "\"2 s\", -1]");
    assert!(
        error.contains("arrivals[0]: -1 is outside of what is allowed: 0 or more"),
        "{error}"
    );
    let error = wrong("stay", "start = \"1 s\"\nstay");
    assert!(
        error.contains("circuits[0].start: conflicts with `arrivals`"),
        "{error}"
    );
    let error = wrong("[\"1 s\", \"2 s\"]", "[\"0 s\", \"2 s\"]");
    assert!(error.contains("circuits[0].stay: may be zero"), "{error}");
}

#[test]
fn downloads_that_are_broken_off_are_listed_with_their_cause() {
    let found = tables("stay = \"3 s\"\n");
    let [failure] = &found.failures[..] else {
        panic!("{:?}", found.failures);
    };
    assert_eq!((failure.circuit, failure.cause), (0, FailCause::Left));
    assert!(failure.end_s >= 3.0 && failure.end_s < 3.2, "{failure:?}");
    assert_eq!(failure.request as usize, found.downloads.len());
    let found = tables("[[faults]]\nwhat = \"stop\"\nrelays = [\"exit\"]\nat = \"3 s\"\n");
    let [failure] = &found.failures[..] else {
        panic!("{:?}", found.failures);
    };
    assert_eq!((failure.circuit, failure.cause), (0, FailCause::Closed));
    assert!(failure.ttfb_s.is_some() && !failure.endless, "{failure:?}");
    assert!(failure.end_s >= 4.0 && failure.end_s < 4.2, "{failure:?}");
    assert!(found.circuits[0].closed);
}

#[test]
fn a_stop_changes_nothing_before_it_happens() {
    let text = NETWORK.replace("workload = \"bulk\"\n", "workload = \"web\"\ncount = 12\n");
    let text = text.replace("count = 30", "count = 5");
    let before = |faults: &str| {
        let scenario = Scenario::parse(&format!("{text}{faults}"), "faults.toml").unwrap();
        let job = &Job::plan(&Arc::new(scenario), "").unwrap()[0];
        let mut run = Watched::new(job).unwrap();
        run.advance(Duration::from_secs(6));
        let users = run.view().users;
        let moved = users.iter().map(|user| (user.packaged, user.delivered));
        moved.collect::<Vec<_>>()
    };
    let stop = "[[faults]]\nwhat = \"stop\"\nrelays = [\"guard-1\"]\nat = \"6 s\"\nfor = \"1 s\"\n";
    let without = before("");
    assert!(without.iter().all(|(_, delivered)| !delivered.is_zero()));
    assert_eq!(before(stop), without);
}

#[test]
fn a_user_has_a_new_circuit_when_its_client_learned_of_the_first_loss() {
    let text = NETWORK.replace("duration = \"10 s\"", "duration = \"60 s\"");
    let text = text.replace("name = \"exit\"\n", "name = \"exit\"\ncount = 2\n");
    let text = text.replace("count = 30", "count = 1");
    let text = text.replace("\"guard\", \"guard\", \"exit\"", "\"guard\", \"exit\"");
    let faults = "[[faults]]\nwhat = \"stop\"\nrelays = [\"exit-1\", \"exit-2\"]\nat = \"10 s\"\nfor = \"20 s\"\n\
                  detected = \"30 s\"\n\
                  [[faults]]\nwhat = \"stop\"\nrelays = [\"guard\"]\nat = \"11 s\"\nfor = \"1 s\"\n";
    let scenario = Scenario::parse(&format!("{text}{faults}"), "faults.toml").unwrap();
    let rebuilt = &scenario.sample(1).circuits[0].rebuilt;
    // Nobody hears of the exit before it is back; the guard's neighbours hear of it at 12 s.
    let from: Vec<_> = rebuilt.iter().map(|circuit| circuit.from).collect();
    assert_eq!(from, [Duration::from_secs(30)], "the exits are back then");
    let faults = faults.replace("\"exit-1\", \"exit-2\"", "\"exit-1\"");
    let text = text.replace("workload = \"bulk\"\n", "workload = \"bulk\"\ncount = 20\n");
    let scenario = Scenario::parse(&format!("{text}{faults}"), "faults.toml").unwrap();
    for circuit in &scenario.sample(1).circuits {
        assert_eq!(circuit.rebuilt[0].from, Duration::from_secs(13));
    }
}

#[test]
fn what_is_seen_as_delivered_never_decreases_when_relays_die() {
    let many = "workload = \"bulk\"\ncount = 12\n";
    let text = NETWORK.replace("workload = \"bulk\"\n", many);
    let text = text.replace("name = \"exit\"\n", "name = \"exit\"\ncount = 4\n");
    let faults =
        "[[faults]]\nwhat = \"stop\"\nat = { uniform = [\"1 s\", \"9 s\"] }\nshare = 0.6\n";
    let scenario = Scenario::parse(&format!("{text}{faults}"), "faults.toml").unwrap();
    let scenario = Arc::new(scenario);
    let job = &Job::plan(&scenario, "").unwrap()[0];
    let mut run = Watched::new(job).unwrap();
    let mut before = [Bytes::ZERO; 12];
    let mut without_circuit = 0;
    for step in 1..=200 {
        run.advance(Duration::from_millis(50 * step));
        for (user, before) in run.view().users.iter().zip(&mut before) {
            assert!(user.delivered >= *before, "{user:?}, before: {before:?}");
            assert!(user.packaged >= user.delivered, "{user:?}");
            without_circuit += u32::from(user.hops.is_empty() && !user.delivered.is_zero());
            *before = user.delivered;
        }
    }
    let found = run.finish();
    assert!(without_circuit > 0 && !found.rebuilt.is_empty());
    let delivered = found.circuits.iter().map(|user| user.delivered_bytes);
    assert!(delivered.eq(before.iter().map(|bytes| bytes.get())));
}

#[test]
fn uploads_that_begin_while_their_exit_stops_fail_alike_on_any_number_of_threads() {
    let text = r#"
name = "uploads"
duration = "12 s"
seeds = 1
[transports.backtap]
[network]
access = { rate = "10 Gbit/s", delay = "50 ms" }
[[network.relays]]
name = "a"
[[network.relays]]
name = "m"
[[network.relays]]
name = "x"
[[circuits]]
count = 400
path = ["a", "m", "x"]
client = false
workload = { class = "web", direction = "upload", request = "5 kB", think = ["10 ms", "2 s"] }
start = { uniform = ["0 s", "3 s"] }
[[faults]]
what = "stop"
relays = ["x"]
at = "10.51 s"
detected = "1 s"
"#;
    let one = split(text, 1);
    assert!(one.failures.iter().any(|failure| failure.start_s > 10.51));
    assert!(one.failures.iter().all(|it| it.end_s >= it.start_s));
    assert!(one.open_requests.is_empty(), "all have no circuit any more");
    for threads in [2, 3] {
        assert_eq!(split(text, threads), one, "{threads} threads");
    }
}

#[test]
fn a_client_learns_within_a_minute_of_a_stop_though_the_word_of_it_is_lost() {
    let text = r#"
name = "lost"
duration = "80 s"
seeds = 1
[transports.backtap]
[network]
access = { rate = "100 Mbit/s", delay = "10 ms" }
bucket = { rate = "2 MB/s" }
[[network.relays]]
name = "a"
[[network.relays]]
name = "b"
count = 2
[[network.relays]]
name = "c"
[[circuits]]
count = 4
path = ["a", "b", "c"]
workload = { class = "web", think = ["100 ms", "1 s"], response = "100 kB" }
[[faults]]
what = "stop"
relays = ["b-1"]
at = "10 s"
[[faults]]
what = "outage"
relays = ["a"]
at = "10.9 s"
for = "200 ms"
"#;
    let found = split(text, 1);
    assert!(
        !found.rebuilt.is_empty(),
        "somebody's circuit had the relay"
    );
    for rebuilt in &found.rebuilt {
        let at = rebuilt.ready_s;
        assert!((71.0..73.0).contains(&at), "{rebuilt:?}");
    }
    let latest = |circuit| {
        let own = found.downloads.iter().filter(|it| it.circuit == circuit);
        own.map(|it| it.start_s + it.ttlb_s).fold(0.0, f64::max)
    };
    assert!((0..4).all(|circuit| latest(circuit) > 75.0));
}

#[test]
fn what_an_exit_packaged_that_does_not_know_yet_that_its_user_has_another_circuit_counts_once() {
    let text = r#"
name = "again"
duration = "12 s"
seeds = 1
[transports.vanilla]
[network]
access = { rate = "100 Mbit/s", delay = "10 ms" }
bucket = { rate = "2 MB/s" }
[[network.relays]]
name = "r"
count = 8
[[circuits]]
count = 40
path = { random = 3 }
workload = { class = "web", think = ["100 ms", "1 s"], response = "100 kB" }
rebuild = "0 s"
[[faults]]
what = "stop"
relays = ["r-1", "r-2"]
at = { uniform = ["5 s", "10 s"] }
for = "2 s"
[record]
circuits = "1 ms"
"#;
    let found = split(text, 1);
    assert!(!found.rebuilt.is_empty());
    for sample in &found.samples {
        let waits = sample.packaged_bytes.saturating_sub(sample.delivered_bytes);
        assert!(waits <= 100_000, "{sample:?}");
    }
}
