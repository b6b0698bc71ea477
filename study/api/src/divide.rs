//! The runs of an experiment, for whoever divides them among machines.

use std::num::NonZeroU32;
use std::path::PathBuf;

use hopflow_lab::run::Error;
use hopflow_reproductions::{Method, Reproduction, Setting, experiments, find};
use hopflow_results::RunKey;

use crate::failure::Failure;
use crate::reproduce::setting;
use crate::runner::Runner;

/// Runs that an experiment's folder lacks.
#[derive(Clone, Debug)]
pub struct Lacking {
    /// The number of networks of the runs' plan; `None`: that of the experiment.
    pub seeds: Option<NonZeroU32>,
    /// The runs.
    pub runs: Vec<RunKey>,
}

/// What became of one of these runs.
#[derive(Clone, Debug)]
pub struct MadeRun {
    /// The name of its folder.
    pub name: String,
    /// Wall time that it took, in seconds, or why it failed.
    pub made: Result<f64, String>,
}

/// The names of the experiments that have runs.
pub fn simulated() -> Vec<&'static str> {
    let all = experiments().iter();
    let simulated = all.filter(|it| matches!(it.method(), Method::Simulated(_)));
    simulated.map(|it| it.id()).collect()
}

/// The runs that an experiment's folder lacks, as far as they are known: when they are made, its
/// values may ask for more networks. What the experiment does not use of the order is left out here.
///
/// With none left, [`reproduce`](crate::reproduce) finds all that it needs.
///
/// # Errors
/// If there is no such experiment, its data are missing, or the folder holds something else.
pub fn lacking(id: &str, runner: &Runner) -> Result<Lacking, Failure> {
    let experiment = find(id)?;
    let folder = folder(runner)?;
    let mut setting = setting(runner.order).fitting(experiment);
    loop {
        let (reproduction, campaign) =
            Reproduction::plan(experiment, &setting, &runner.caller.build()?)?;
        let mut lacking = Lacking {
            seeds: setting.seeds.and_then(NonZeroU32::new),
            runs: Vec::new(),
        };
        if let Method::Computed(_) = experiment.method() {
            return Ok(lacking);
        }
        let missing = campaign.missing(&folder)?;
        lacking.runs = missing.into_iter().cloned().collect();
        if !lacking.runs.is_empty() {
            return Ok(lacking);
        }
        let finished = runner.campaign(campaign, &folder)?;
        let values = reproduction.evaluate(&finished)?;
        let wanted = reproduction.networks_wanted(&values);
        match wanted.filter(|_| runner.order.seeds.is_none()) {
            None => return Ok(lacking),
            seeds => setting = Setting { seeds, ..setting },
        }
    }
}

/// Makes some of the runs that [`lacking`] told, by the names of their folders.
///
/// The order has the number of networks that was told. A run that fails by a defect is told, and the
/// others are made.
///
/// # Errors
/// If the plan has no such run, the folder cannot be written, or the monitor interrupts.
pub fn make_lacking(
    id: &str,
    names: Vec<String>,
    runner: &Runner,
) -> Result<Vec<MadeRun>, Failure> {
    let folder = folder(runner)?;
    let build = runner.caller.build()?;
    let experiment = find(id)?;
    let setting = setting(runner.order).fitting(experiment);
    let (_, campaign) = Reproduction::plan(experiment, &setting, &build)?;
    let threads = runner.order.threads.map_or(1, Into::into);
    let make = |name: String| match campaign.make_one(&name, &folder, threads, runner.monitor) {
        Ok(run) => Ok(MadeRun {
            name,
            made: Ok(run.wall_seconds),
        }),
        Err(Error::Failed(messages)) => Ok(MadeRun {
            name,
            made: Err(messages.join("; ")),
        }),
        Err(error) => Err(error.into()),
    };
    names.into_iter().map(make).collect()
}

fn folder(runner: &Runner) -> Result<PathBuf, Failure> {
    let folder = runner.order.out.clone();
    folder.ok_or_else(|| Failure::bad_input("out is missing; allowed is a folder of all machines"))
}
