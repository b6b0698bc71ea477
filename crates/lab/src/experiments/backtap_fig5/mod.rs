//! Figure 5 of the BackTap paper: rate, backlog and delay of one circuit over the round-trip time.
//!
//! F. Tschorsch and B. Scheuermann, "Mind the Gap: Towards a Backpressure-Based Transport Protocol
//! for the Tor Network", NSDI 2016, section 4.1. `experiments/backtap-fig5.toml` says what is swept
//! and what is expected, [`model`] what theory predicts; `docs/reproductions.md` tells the result.

mod judge;
mod measure;
pub mod model;
mod page;
mod plan;

use std::ops::ControlFlow;

use hopflow_overlay::Factory;
use hopflow_report::Document;
use hopflow_results::Value;
use hopflow_sim::{Progress, Simulated};
use hopflow_units::Duration;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::run::{Error, Monitor};
use measure::Measured;
use plan::{Curve, Plan};

/// The name of the experiment.
pub const ID: &str = "backtap-fig5";

/// What the experiment is about.
pub const TITLE: &str = "Rate, backlog and delay of one circuit over the round-trip time";

/// Makes all runs, on so many threads (all cores for `None`), and judges what they measured.
///
/// `seeds` replaces the number of runs per point. The values do not depend on the threads.
///
/// # Errors
/// If the user interrupts, or a run fails by a defect of the program.
pub fn run(
    seeds: Option<u64>,
    threads: Option<usize>,
    monitor: &dyn Monitor,
) -> Result<Vec<Value>, Error> {
    let plan = Plan::built_in();
    let runs = runs(&plan, seeds.unwrap_or(plan.seeds), threads, monitor)?;
    Ok(judge::values(&plan, &runs))
}

/// The page of the experiment.
pub fn document(values: &[Value]) -> Document {
    page::document(&Plan::built_in(), values)
}

/// One run to be made.
struct Job<'a> {
    curve: &'a Curve,
    factory: &'a dyn Factory<Simulated>,
    rtt_ms: u64,
    seed: u64,
}

/// The runs of each curve at each round-trip time.
fn runs(
    plan: &Plan,
    seeds: u64,
    threads: Option<usize>,
    monitor: &dyn Monitor,
) -> Result<Vec<Vec<Vec<Measured>>>, Error> {
    let factories = factories(plan)?;
    let mut jobs = Vec::new();
    for (curve, factory) in plan.curves.iter().zip(&factories) {
        for &rtt_ms in &plan.rtts_ms {
            jobs.extend((1..=seeds).map(|seed| Job {
                curve,
                factory: &**factory,
                rtt_ms,
                seed,
            }));
        }
    }
    let measured = in_parallel(plan, &jobs, threads, monitor)?;
    let by_rtt: Vec<Vec<Measured>> = measured
        .chunks(seeds as usize)
        .map(<[Measured]>::to_vec)
        .collect();
    Ok(by_rtt
        .chunks(plan.rtts_ms.len())
        .map(<[Vec<Measured>]>::to_vec)
        .collect())
}

fn factories(plan: &Plan) -> Result<Vec<Box<dyn Factory<Simulated>>>, Error> {
    let build = |curve: &Curve| {
        let factory = hopflow_transports::build(&curve.preset, &curve.options);
        factory.map_err(|error| failed(&curve.label, &error.to_string()))
    };
    plan.curves.iter().map(build).collect()
}

fn failed(what: &str, why: &str) -> Error {
    Error::Failed(vec![format!("{what}: {why}")])
}

fn in_parallel(
    plan: &Plan,
    jobs: &[Job],
    threads: Option<usize>,
    monitor: &dyn Monitor,
) -> Result<Vec<Measured>, Error> {
    let simulated = jobs
        .iter()
        .map(|job| measure::world(plan, job.curve, job.rtt_ms, job.seed).end)
        .fold(Duration::ZERO, |sum, end| sum + end);
    monitor.begin(jobs.len(), 0, simulated);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|error| failed("threads", &error.to_string()))?;
    let results: Vec<_> = pool.install(|| {
        let measured = jobs.par_iter().with_max_len(1);
        measured.map(|job| job.measure(plan, monitor)).collect()
    });
    let planned = results.len();
    let mut finished = Vec::with_capacity(planned);
    for result in results {
        finished.extend(result?);
    }
    if finished.len() < planned {
        let finished = finished.len();
        return Err(Error::Interrupted { finished, planned });
    }
    Ok(finished)
}

impl Job<'_> {
    /// `None` if the user interrupts.
    fn measure(&self, plan: &Plan, monitor: &dyn Monitor) -> Result<Option<Measured>, Error> {
        let mut reached = Duration::ZERO;
        let mut observer = |progress: Progress| {
            monitor.advanced(progress.now.saturating_sub(reached));
            reached = progress.now;
            if monitor.interrupted() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        if observer(Progress {
            now: Duration::ZERO,
            end: Duration::ZERO,
        })
        .is_break()
        {
            return Ok(None);
        }
        let run = (self.curve, self.rtt_ms, self.seed);
        let measured = measure::measure(plan, run, self.factory, &mut observer);
        let name = || {
            format!(
                "{} at {} ms with seed {}",
                self.curve.label, self.rtt_ms, self.seed
            )
        };
        match measured {
            Err(error) => Err(failed(&name(), &error.to_string())),
            Ok(None) if !monitor.interrupted() => Err(failed(&name(), "nothing was delivered")),
            Ok(measured) => {
                let end = measure::world(plan, self.curve, self.rtt_ms, self.seed).end;
                monitor.advanced(end.saturating_sub(reached));
                Ok(measured)
            }
        }
    }
}
