//! How long a tenth of Tor's relays take: 650 relays of the population, 400 users that download
//! without pause and 7,600 that load pages, on two continents.
//!
//! `cargo bench -p hopflow-lab --bench scale [-- TRANSPORT [SECONDS [THREADS ...]]]` prints, for each
//! number of threads, seconds of wall time, cells forwarded per second and hop, and a hash of the
//! results, which is the same for all. Without arguments: backtap, 4 simulated seconds, 1 and 2
//! threads. Each number is run three times, in turn; the median is printed with all three.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use hopflow_lab::scenario::Scenario;
use hopflow_sim::World;
use hopflow_units::Duration;

const NETWORK: &str = r#"
name = "scale"
duration = "20 s"
seeds = 1
[transports]
backtap = {}
vanilla = {}
tor-vegas = {}
[network]
topology = { dumbbell = {} }
source = { population = { relays = 650 } }
[[circuits]]
count = 400
path = { tor = 3 }
workload = "bulk"
start = { uniform = ["0 s", "5 s"] }
[[circuits]]
count = 7600
path = { tor = 3 }
workload = "web"
start = { uniform = ["0 s", "20 s"] }
"#;

/// A run: seconds of wall time, cell-hops and the hash of its results.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn run(scenario: &Scenario, transport: &str, seconds: u64, threads: usize) -> (f64, u64, u64) {
    let mut spec = scenario.sample(1);
    spec.end = Duration::from_secs(seconds);
    spec.sampling.circuits = None;
    let factory = scenario
        .transport(transport)
        .expect("the transport is known");
    let mut world = World::new(&spec, &*factory).expect("the network makes sense");
    world.split(threads);
    let begun = std::time::Instant::now();
    assert!(world.run(&mut |_| ControlFlow::Continue(())));
    let took = begun.elapsed().as_secs_f64();
    let outcome = world.into_outcome();
    let mut hasher = DefaultHasher::new();
    format!(
        "{:?} {:?} {:?}",
        outcome.downloads, outcome.circuits, outcome.nodes
    )
    .hash(&mut hasher);
    (took, outcome.counters.cell_hops, hasher.finish())
}

fn main() {
    let args: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let scenario = Scenario::parse(NETWORK, "scale.toml").expect("it makes sense");
    let transport = args.first().map_or("backtap", String::as_str);
    let seconds = args.get(1).map_or(4, |text| text.parse().expect("seconds"));
    let mut threads: Vec<usize> = args
        .iter()
        .skip(2)
        .map(|text| text.parse().expect("threads"))
        .collect();
    if threads.is_empty() {
        threads = vec![1, 2];
    }
    let mut runs = vec![Vec::new(); threads.len()];
    for _ in 0..3 {
        for (runs, &threads) in runs.iter_mut().zip(&threads) {
            runs.push(run(&scenario, transport, seconds, threads));
        }
    }
    println!(
        "{transport}, {seconds} simulated seconds\n\nthreads  seconds               million cell-hops/s  hash"
    );
    for (mut runs, threads) in runs.into_iter().zip(threads) {
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (median, cell_hops, hash) = runs[1];
        let rate = cell_hops as f64 / median / 1e6;
        println!(
            "{threads:<8} {median:5.2} ({:.2} to {:.2})  {rate:6.2}               {hash:016x}",
            runs[0].0, runs[2].0
        );
    }
}
