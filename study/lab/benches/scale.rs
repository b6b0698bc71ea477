//! How long a tenth of Tor's relays take: 650 relays of the population, 400 users that download
//! without pause and 7,600 that load pages, on two continents.
//!
//! `cargo bench -p hopflow-lab --bench scale [-- TRANSPORT [SECONDS [THREADS ...]]]` prints, for each
//! number of threads, seconds of wall time, cells forwarded per second and hop, and a hash of the
//! results, which is the same for all. Without arguments: backtap, 4 simulated seconds, 1 and 2
//! threads. Each number is run three times, in turn; the median is printed with all three.
//!
//! The critical path says how long a run would take with a core for each thread, whatever this
//! machine has: the CPU time of the thread that took longest in each window, summed over windows. It
//! leaves out what threads wait for at the end of a window besides each other. Next to it stands how
//! many times its events all events are. 16 threads: `cargo bench ... -- backtap 4 1 16`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use hopflow_lab::scenario::Scenario;
use hopflow_sim::{Parallelism, World};
use hopflow_units::Duration;
use rustix::time::{ClockId, clock_gettime};

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

/// What a run was like.
#[derive(Clone, Copy)]
struct Run {
    /// Of wall time.
    seconds: f64,
    cell_hops: u64,
    /// Of its results.
    hash: u64,
    parallelism: Parallelism,
}

/// The time that this thread has run.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec as u64) + Duration::from_nanos(time.tv_nsec as u64)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn run(scenario: &Scenario, transport: &str, seconds: u64, threads: usize) -> Run {
    let mut spec = scenario.sample(1);
    spec.end = Duration::from_secs(seconds);
    spec.sampling.circuits = None;
    let factory = scenario
        .transport(transport)
        .expect("the transport is known");
    let mut world = World::new(&spec, &*factory).expect("the network makes sense");
    world.split(threads);
    world.measure(thread_time);
    let begun = std::time::Instant::now();
    assert!(world.run(&mut |_| ControlFlow::Continue(())));
    let seconds = begun.elapsed().as_secs_f64();
    let parallelism = world.parallelism().expect("it is measured");
    let outcome = world.into_outcome();
    let mut hasher = DefaultHasher::new();
    format!(
        "{:?} {:?} {:?}",
        outcome.downloads, outcome.circuits, outcome.nodes
    )
    .hash(&mut hasher);
    Run {
        seconds,
        cell_hops: outcome.counters.cell_hops,
        hash: hasher.finish(),
        parallelism,
    }
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
        "{transport}, {seconds} simulated seconds\n\nthreads  seconds               million cell-hops/s  \
         critical path: s  events x  hash"
    );
    for (mut runs, threads) in runs.into_iter().zip(threads) {
        runs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let Run {
            seconds,
            cell_hops,
            hash,
            parallelism,
        } = runs[1];
        let shortest = runs.iter().map(|run| run.parallelism.longest_time).min();
        println!(
            "{threads:<8} {seconds:5.2} ({:.2} to {:.2})  {:6.2}               {:6.2}            {:5.2}     {hash:016x}",
            runs[0].seconds,
            runs[2].seconds,
            cell_hops as f64 / seconds / 1e6,
            shortest.map_or(0.0, Duration::as_secs_f64),
            parallelism.events as f64 / parallelism.longest_events as f64,
        );
    }
}
