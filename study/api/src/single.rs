//! Runs one by one, for whoever divides them among machines.

use std::path::Path;
use std::sync::Mutex;

use hopflow_lab::run::{Error, Job, Monitor, Share, execute_one};
use hopflow_lab::scenario::Seeds;
use hopflow_results::{EncodedTable, Fingerprint, RunEntry, RunKey, Tables};

use crate::failure::Failure;
use crate::order::{Order, Source};

/// Runs of one transport of a scenario.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// The scenario.
    pub source: &'a Source,
    /// The label of the transport.
    pub transport: &'a str,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The tables that are kept, by name.
    pub tables: Vec<String>,
    /// Identifies the program, as [`Caller::build`](crate::Caller::build) says.
    pub build: &'a str,
}

/// A run that was made, or was to be made and failed.
#[derive(Clone, Debug)]
pub struct Single {
    /// What identifies the run.
    pub key: RunKey,
    /// The run, or why it failed.
    pub made: Result<Made, String>,
}

/// A run in memory.
#[derive(Clone, Debug)]
pub struct Made {
    /// The hash of its results.
    pub results: Fingerprint,
    /// Wall time that it took, in seconds.
    pub wall_seconds: f64,
    /// Its [`quantities`](hopflow_report::quantities), in their order.
    pub measures: Vec<Option<f64>>,
    /// The tables that are kept, by name.
    pub tables: Vec<(&'static str, EncodedTable)>,
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

/// Makes runs one after the other, each on so many threads; nothing is written. There are none of
/// variants.
///
/// A run that fails by a defect is told, and the others are made. Calls on several threads of a process wait
/// for each other where their runs do not fit into memory together.
///
/// # Errors
/// If the scenario cannot be run, a run would not fit into memory alone, or the monitor interrupts.
pub fn run_each(
    runs: &Runs<'_>,
    threads: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<Single>, Failure> {
    let (mut scenario, _) = runs.source.load(&Order::default())?;
    scenario.seeds = Seeds::List(runs.seeds.clone());
    let choices = scenario.transports.iter();
    let chosen = choices.filter(|(label, _)| *label == runs.transport);
    scenario.transports = chosen
        .map(|(label, choice)| (label.to_owned(), choice.clone()))
        .collect();
    let duration = scenario.duration.0;
    let jobs = Job::plan(&scenario.into(), runs.build)?;
    let wanted = jobs
        .iter()
        .filter(|job| job.key.transport == runs.transport);
    let planned = wanted.clone().count();
    monitor.begin(planned, 0, duration * planned as u64);
    let first = wanted.clone().next();
    let _memory = first
        .map(|job| Share::take(job, &|| monitor.interrupted()))
        .transpose()?;
    wanted
        .map(|job| single(job, &runs.tables, threads, monitor))
        .collect()
}

fn single(
    job: &Job,
    wanted: &[String],
    threads: usize,
    monitor: &dyn Monitor,
) -> Result<Single, Failure> {
    let kept = Mutex::new(None);
    let keep = |key: &RunKey, tables: &Tables, wall_seconds: f64| {
        let wanted = |table: &str| wanted.iter().any(|other| other == table);
        let made = Made {
            results: tables.fingerprint(),
            wall_seconds,
            measures: hopflow_report::measures(tables),
            tables: tables.encode(key, wanted, Path::new(""))?,
        };
        let entry = RunEntry {
            key: key.clone(),
            folder: String::new(),
            results: made.results,
            wall_seconds,
            files: std::collections::BTreeMap::new(),
            traces: std::collections::BTreeMap::new(),
        };
        *kept.lock().expect("no thread panics with the lock") = Some(made);
        Ok(entry)
    };
    let made = match execute_one(job, threads, monitor, &keep) {
        Ok(_) => Ok(()),
        Err(Error::Failed(messages)) => Err(messages.join("; ")),
        Err(error) => return Err(error.into()),
    };
    let kept = kept.into_inner().expect("no thread panics with the lock");
    Ok(Single {
        key: job.key.clone(),
        made: made.map(|()| kept.expect("a run that is made is kept")),
    })
}

#[cfg(test)]
mod tests {
    use hopflow_lab::run::Silent;

    use super::*;

    #[test]
    fn runs_are_those_of_the_transport_without_its_variants() {
        let text = r#"
name = "two"
duration = "1 s"
seeds = 1
[transports.vanilla]
[network]
[[network.relays]]
name = "exit"
[[circuits]]
path = ["exit"]
workload = "bulk"
[branch]
at = "500 ms"
variants = [{ name = "other", seed = 8 }]
"#;
        let source = Source::Text(text.to_owned());
        let runs = Runs {
            source: &source,
            transport: "vanilla",
            seeds: vec![1, 2],
            tables: Vec::new(),
            build: "test",
        };
        let made = run_each(&runs, 1, &Silent).unwrap();
        let labels: Vec<_> = made.iter().map(|run| run.key.transport.as_str()).collect();
        assert_eq!(labels, ["vanilla", "vanilla"]);
    }
}
