//! Runs one by one, for whoever divides them among machines.

use std::path::Path;

use hopflow_lab::run::{Error, Job, Monitor, Threads, execute};
use hopflow_lab::scenario::Seeds;
use hopflow_results::{Folder, RunEntry, RunKey};

use crate::failure::Failure;
use crate::order::{Order, Source};

/// A run that was made, or was to be made and failed.
#[derive(Clone, Debug)]
pub struct Single {
    /// What identifies the run.
    pub key: RunKey,
    /// Its entry and its [`quantities`](hopflow_report::quantities), in their order; or why it
    /// failed.
    pub made: Result<(RunEntry, Vec<Option<f64>>), String>,
}

/// The keys of all runs of a scenario: all transports with the first seed, then with the next.
///
/// `build` identifies the program, as [`Caller::build`](crate::Caller::build) says.
///
/// # Errors
/// If the scenario cannot be run.
pub fn keys(source: &Source, build: &str) -> Result<Vec<RunKey>, Failure> {
    let (scenario, _) = source.load(&Order::default())?;
    let jobs = Job::plan(&scenario.into(), build)?;
    Ok(jobs.into_iter().map(|job| job.key).collect())
}

/// Makes the runs of one transport of a scenario with `seeds`, one after the other, each on
/// `threads` threads, and writes their tables into `folder`.
///
/// A run that fails by a defect is told, and the others are made.
///
/// # Errors
/// If the scenario cannot be run, the folder cannot be written, or the monitor interrupts.
pub fn run_each(
    source: &Source,
    (label, seeds): (&str, Vec<u64>),
    (folder, threads): (&Path, usize),
    build: &str,
    monitor: &dyn Monitor,
) -> Result<Vec<Single>, Failure> {
    let (mut scenario, _) = source.load(&Order::default())?;
    scenario.seeds = Seeds::List(seeds);
    let choices = scenario.transports.iter();
    let chosen = choices.filter(|(other, _)| *other == label);
    scenario.transports = chosen
        .map(|(label, choice)| (label.to_owned(), choice.clone()))
        .collect();
    let folder = Folder::create(folder)?;
    let threads = Threads {
        all: Some(threads),
        each: None,
    };
    let mut runs = Vec::new();
    for job in Job::plan(&scenario.into(), build)? {
        let key = job.key.clone();
        let made = match execute(&[job], &folder, threads, monitor) {
            Ok(entries) => {
                let entry = entries.into_iter().next().expect("one job has one entry");
                let measures = hopflow_report::measures(&folder, &entry)?;
                Ok((entry, measures))
            }
            Err(Error::Failed(messages)) => Err(messages.join("; ")),
            Err(error) => return Err(error.into()),
        };
        runs.push(Single { key, made });
    }
    Ok(runs)
}
