//! A simulation in progress.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;

use hopflow_lab::run::{Error, Job, Watched, that_fit};
use hopflow_lab::scenario::{InputError, Scenario, Seeds};
use hopflow_picture::{Network, view};
use hopflow_sim::Download;
use hopflow_units::{Duration, Instant};
use serde_json::{Value, json};

use crate::clock;
use crate::stream::Stream;

/// Moments are shown so often.
const SHOW_EVERY: std::time::Duration = std::time::Duration::from_millis(40);
/// Simulated time between two moments that are kept, at least.
const KEEP_EVERY: Duration = Duration::from_millis(100);
/// Moments that are kept, at most and, whatever the network, at least.
const MOST_KEPT: u64 = 600;
const LEAST_KEPT: u64 = 20;
/// Hops of circuits in all moments that are kept, about: some 50 MB.
const MOST_HOPS: u64 = 2_000_000;

/// How many moments may be kept of a network with so many hops of circuits.
pub(crate) fn most_moments(hops: usize) -> u64 {
    (MOST_HOPS / (hops as u64).max(1)).clamp(LEAST_KEPT, MOST_KEPT)
}

/// How fast a simulation is shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace(Option<f64>);

impl Pace {
    /// As fast as time passes.
    pub const REAL_TIME: Self = Self(Some(1.0));
    /// As fast as it computes.
    pub const MAX: Self = Self(None);
    const LEAST: f64 = 0.001;
    const MOST: f64 = 1000.0;
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::MAX);
        }
        let factor = text.parse::<f64>().ok();
        let factor = factor.filter(|it| (Self::LEAST..=Self::MOST).contains(it));
        factor.map(|it| Self(Some(it))).ok_or_else(|| {
            format!(
                "allowed are numbers from {} to {}, and max",
                Self::LEAST,
                Self::MOST
            )
        })
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(factor) => write!(f, "{factor} times real time"),
            None => f.write_str("as fast as it computes"),
        }
    }
}

/// The runs of a scenario's transports with one seed, side by side.
#[derive(Debug)]
pub struct Simulation {
    runs: Vec<Watched>,
    network: Network,
    pace: Pace,
    keep_every: Duration,
    end: Duration,
    /// The last moment that was kept.
    kept: Duration,
}

impl Simulation {
    /// The runs of a scenario with a seed, by default its first one, at their beginning.
    ///
    /// # Errors
    /// If the scenario cannot be run, or the runs do not fit into memory side by side.
    pub fn new(mut scenario: Scenario, seed: Option<u64>, pace: Pace) -> Result<Self, Error> {
        let seed = seed.unwrap_or_else(|| scenario.seeds.list()[0]);
        scenario.seeds = Seeds::List(vec![seed]);
        let scenario = Arc::new(scenario);
        let jobs = Job::plan(&scenario, "")?;
        check_memory(&jobs)?;
        let runs = jobs
            .iter()
            .map(|job| Watched::new(job).map_err(|error| InputError::new(error.to_string())));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        let labels = jobs.iter().map(|job| job.key.transport.clone()).collect();
        let Scenario { name, about, .. } = &*scenario;
        let network = Network::of_world(name, about, runs[0].spec(), labels);
        let end = runs[0].spec().end;
        let most = most_moments(network.hops() * runs.len());
        let keep_every = Duration::from_nanos(end.as_nanos() / most).max(KEEP_EVERY);
        Ok(Self {
            runs,
            network,
            pace,
            keep_every,
            end,
            kept: Duration::ZERO,
        })
    }

    /// The stream that it writes, with the network in it.
    pub fn stream(&self) -> Arc<Stream> {
        let head = json!({
            "kind": "simulation",
            "network": self.network,
            "pace": self.pace.0,
        });
        let moments = self.end.as_nanos() / self.keep_every.as_nanos();
        Arc::new(Stream::new("network", &head, moments as usize + 3))
    }

    /// Runs to the end, or until somebody `ends` it.
    pub fn run(mut self, stream: &Stream, ends: &dyn Fn() -> bool) {
        self.keep(Duration::ZERO, stream);
        let mut due = clock::now();
        let mut time = Duration::ZERO;
        while time < self.end && !ends() {
            let before = time;
            let keep_at = (self.kept + self.keep_every).min(self.end);
            time = self
                .pace
                .step()
                .map_or(keep_at, |it| keep_at.min(time + it));
            let length = time.saturating_sub(before);
            self.advance(time);
            if time == keep_at {
                self.keep(time, stream);
            }
            let Some(factor) = self.pace.0 else { continue };
            self.show(stream);
            due += std::time::Duration::from_secs_f64(length.as_secs_f64() / factor);
            let now = clock::now();
            // What was computed too late is not made up for.
            due = due.max(now);
            clock::wait(due - now);
        }
        stream.keep("done", &json!({ "at": time.as_secs_f64() }));
    }

    fn reached(&self) -> Duration {
        let reached = self.runs.iter().map(Watched::now);
        reached.min().unwrap_or(self.end)
    }

    /// Lets all runs go on to a time, each on its own thread.
    fn advance(&mut self, time: Duration) {
        if let [run] = self.runs.as_mut_slice() {
            return run.advance(time);
        }
        thread::scope(|scope| {
            for run in &mut self.runs {
                scope.spawn(move || run.advance(time));
            }
        });
    }

    fn keep(&mut self, time: Duration, stream: &Stream) {
        let since = Instant::ZERO + self.kept;
        let until = Instant::ZERO + time;
        let new = |it: &Download| (since..until).contains(&(it.requested + it.ttlb));
        let views = self.runs.iter().map(|run| {
            let mut downloads = run.completed(self.kept);
            downloads.retain(new);
            let mut world = run.view();
            // They move on at once: nobody looks at them later.
            world.packets.clear();
            view(&world, &downloads)
        });
        let views: Vec<Value> = views.collect();
        self.kept = time;
        stream.keep(
            "frame",
            &json!({ "at": time.as_secs_f64(), "views": views }),
        );
    }

    fn show(&self, stream: &Stream) {
        let views = self.runs.iter().map(|run| view(&run.view(), &[]));
        let views: Vec<Value> = views.collect();
        let at = self.reached().as_secs_f64();
        stream.show("moment", &json!({ "at": at, "views": views }));
    }
}

impl Pace {
    /// Simulated time between two moments that are shown.
    fn step(self) -> Option<Duration> {
        let seconds = SHOW_EVERY.as_secs_f64() * self.0?;
        Some(Duration::from_secs_f64(seconds).max(Duration::from_micros(10)))
    }
}

/// Whether the runs fit into memory side by side.
fn check_memory(jobs: &[Job]) -> Result<(), Error> {
    let count = jobs.len();
    match that_fit(jobs.iter())? {
        Some(fit) if fit < count => Err(Error::Input(InputError::at(
            "transports",
            format!("{count} run side by side; allowed are {fit}: no more fit into memory"),
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_are_factors_or_as_fast_as_can_be() {
        assert_eq!("max".parse(), Ok(Pace::MAX));
        assert_eq!("1".parse(), Ok(Pace::REAL_TIME));
        for wrong in ["", "0", "-1", "1001", "NaN", "inf", "fast"] {
            let error = wrong.parse::<Pace>().unwrap_err();
            assert!(error.contains("0.001 to 1000, and max"), "{wrong}: {error}");
        }
    }

    #[test]
    fn large_networks_keep_fewer_moments() {
        assert_eq!(most_moments(0), MOST_KEPT);
        assert_eq!(most_moments(69), MOST_KEPT);
        assert_eq!(most_moments(20_000), 100);
        assert_eq!(most_moments(10_000_000), LEAST_KEPT);
    }
}
