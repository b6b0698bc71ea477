//! Timing of whole runs.

use std::fmt;
use std::ops::ControlFlow;

use hopflow_overlay::Factory;
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{Counters, Simulated, run};

/// What is timed: the words behind the benchmark's name, `[TRANSPORT [RUNS]]`.
pub(crate) struct Order {
    /// Presets with their factories.
    pub(crate) transports: Vec<(String, Box<dyn Factory<Simulated>>)>,
    /// Timed runs of each.
    pub(crate) runs: usize,
}

impl Order {
    /// Reads the program's arguments; without any, `backtap` and `vanilla` are run `runs` times.
    pub(crate) fn read(runs: usize) -> Self {
        let words = std::env::args()
            .skip(1)
            .filter(|word| !word.starts_with('-'));
        let words: Vec<String> = words.collect();
        let presets = match words.first() {
            Some(preset) => vec![preset.clone()],
            None => ["backtap", "vanilla"].map(String::from).to_vec(),
        };
        let transports = presets.into_iter().map(|preset| {
            let factory = hopflow_transports::build::<Simulated>(&preset, &toml::Table::new());
            (preset, factory.expect("the preset can be built"))
        });
        Self {
            transports: transports.collect(),
            runs: words
                .get(1)
                .map_or(runs, |word| word.parse().expect("a number of runs")),
        }
    }
}

/// The same simulation, run several times.
pub(crate) struct Timings {
    /// What each run did.
    pub(crate) counters: Counters,
    /// Seconds of each run, the fastest first.
    seconds: Vec<f64>,
}

impl Timings {
    /// Runs a simulation `runs` times.
    pub(crate) fn of(runs: usize, spec: &WorldSpec, factory: &dyn Factory<Simulated>) -> Self {
        let (counters, mut seconds): (Vec<_>, Vec<_>) =
            (0..runs).map(|_| timed(spec, factory)).unzip();
        seconds.sort_by(f64::total_cmp);
        Self {
            counters: counters[0],
            seconds,
        }
    }

    /// How many millions of what a run has `count` of pass in a second.
    pub(crate) fn millions_per_second(&self, count: u64) -> Spread {
        self.spread(|seconds| count as f64 / seconds / 1e6)
    }

    /// A quantity that rises or falls with the seconds of a run.
    pub(crate) fn spread(&self, of: impl Fn(f64) -> f64) -> Spread {
        let [fastest, slowest] = [0, self.seconds.len() - 1].map(|run| of(self.seconds[run]));
        Spread {
            median: of(self.seconds[self.seconds.len() / 2]),
            least: fastest.min(slowest),
            most: fastest.max(slowest),
        }
    }
}

/// The median of several runs; shown with the least and the most.
pub(crate) struct Spread {
    /// The median.
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            median,
            least,
            most,
        } = self;
        write!(f, "{median:5.2} ({least:.2} to {most:.2})")
    }
}

/// One run: its work and the seconds it took.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn timed(spec: &WorldSpec, factory: &dyn Factory<Simulated>) -> (Counters, f64) {
    let start = std::time::Instant::now();
    let outcome = run(spec, factory, &mut |_| ControlFlow::Continue(()));
    let seconds = start.elapsed().as_secs_f64();
    let outcome = outcome
        .expect("the network is valid")
        .expect("no observer stops the run");
    (outcome.counters, seconds)
}
