//! Golden hashes: the same bits on every machine, for every processor, and from commit to commit.
//!
//! A hash covers everything that the runs of a scenario recorded. If one changes, behaviour has
//! changed: find out why, say so in the changelog, and only then write the new hash here. CI runs
//! this test as compiled for the baseline processor and for the one it runs on.

use hopflow_lab::run::{Campaign, Silent};
use hopflow_lab::scenario::Scenario;

/// Name, scenario, and the hash of its results.
const GOLDEN: &[(&str, &str, &str)] = &[
    ("quiet", QUIET, "5ce15512ef0dcb82"),
    ("lossy", LOSSY, "47377562230b9fbf"),
    ("managed queues", MANAGED, "200e1f304567c964"),
];

/// Nothing but rates and delays: token buckets, windows, NewReno without Nagle.
const QUIET: &str = r#"
name = "quiet"
duration = "10 s"
seeds = 2
[transports.vanilla]
[transports.backtap]
[transports.backtap-as-printed]
[network]
access = { delay = { uniform = ["5 ms", "20 ms"] } }
bucket = { rate = "1500 kB/s" }
[[network.relays]]
name = "relay"
count = 5
[[circuits]]
count = 3
path = ["relay", "relay", "relay"]
workload = "bulk"
[[circuits]]
count = 3
path = ["relay", "relay", "relay"]
workload = "web"
start = { uniform = ["0 s", "1 s"] }
[record]
circuits = "100 ms"
hops = "500 ms"
"#;

/// Loss and jitter, with all that repairs them: retransmission, CUBIC's roots, exponential delays.
const LOSSY: &str = r#"
name = "lossy"
duration = "10 s"
seeds = 2
[transports.vanilla]
[transports.backtap]
[network]
access = { delay = "15 ms", rate = "20 Mbit/s", loss = 0.01, jitter = "3 ms" }
[[network.relays]]
name = "relay"
count = 4
[[circuits]]
count = 4
path = ["relay", "relay"]
workload = "bulk"
"#;

/// Controlled delay in front of slow links.
const MANAGED: &str = r#"
name = "managed"
duration = "10 s"
seeds = 2
[transports.vanilla]
[transports.backtap]
[network]
access = { delay = "15 ms", rate = "8 Mbit/s", queue = { codel = { target = "5 ms", interval = "100 ms" }, limit = "100 packets" } }
[[network.relays]]
name = "relay"
count = 3
[[circuits]]
count = 4
path = ["relay", "relay"]
workload = "bulk"
"#;

#[test]
fn results_have_not_changed() {
    let found: Vec<_> = GOLDEN
        .iter()
        .map(|(name, text, _)| {
            let scenario = Scenario::parse(text, name).expect("the scenario is valid");
            let campaign = Campaign::new(scenario, text, "golden").expect("it can be planned");
            let folder = tempfile::tempdir().expect("a folder for results");
            let finished = campaign.run(folder.path(), None, &Silent).expect("it runs");
            (*name, finished.results.to_string())
        })
        .collect();
    let expected: Vec<_> = GOLDEN
        .iter()
        .map(|(name, _, hash)| (*name, (*hash).to_string()))
        .collect();
    assert_eq!(found, expected);
}
