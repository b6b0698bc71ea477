//! Experiments: figures and tables of papers, made again and compared.
//!
//! An [`Experiment`] sweeps a scenario and measures its runs. What the paper reports, and the band
//! within which a measured value counts as reproduced, stand in a data file beside it, which is
//! fixed before the runs are made.

mod backtap_fig5;
mod description;
mod judge;

use std::fmt::Debug;

use hopflow_results::{Folder, RunEntry, Tables, Value, Verdict};
use hopflow_stats::Mean;

pub use description::{Description, Swept};

use crate::run::{Campaign, Error, Finished};
use crate::scenario::InputError;
use crate::scenario::{Scenario, Seeds, allowed};
use description::Expectations;

/// A figure or table of a paper.
pub trait Experiment: Debug + Sync {
    /// The name on the command line.
    fn id(&self) -> &'static str;

    /// The data file: what the paper reports, as TOML.
    fn data(&self) -> &'static str;

    /// The scenario that is swept, as TOML.
    fn scenario(&self) -> &'static str;

    /// The scenario at the swept value `x`.
    fn at(&self, scenario: Scenario, x: f64) -> Scenario;

    /// What a run measured; quantities that it does not tell are left out.
    fn measure(&self, run: &Tables) -> Vec<Measured>;
}

/// A value that a run measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The quantity, as the data file calls it.
    pub quantity: &'static str,
    /// The value in the unit of the data file.
    pub value: f64,
}

/// All experiments.
pub fn experiments() -> &'static [&'static dyn Experiment] {
    &[&backtap_fig5::BacktapFig5]
}

/// The experiment of this name.
///
/// # Errors
/// If there is none.
pub fn find(id: &str) -> Result<&'static dyn Experiment, InputError> {
    let found = experiments()
        .iter()
        .find(|experiment| experiment.id() == id);
    found.copied().ok_or_else(|| {
        let names = experiments().iter().map(|experiment| experiment.id());
        InputError::new(format!(
            "there is no experiment \"{id}\"; {}",
            allowed(id, names)
        ))
    })
}

/// An experiment that is about to be made again.
#[derive(Debug)]
pub struct Reproduction {
    experiment: &'static dyn Experiment,
    expectations: Expectations,
    /// Runs per swept value.
    runs_per_x: usize,
}

impl Reproduction {
    /// Plans the runs of an experiment, with other seeds than its own if `seeds` says so.
    ///
    /// # Errors
    /// If a scenario cannot be run, which is a defect of the experiment.
    pub fn plan(
        experiment: &'static dyn Experiment,
        seeds: Option<u32>,
        build: &str,
    ) -> Result<(Self, Campaign), Error> {
        let file = format!("{}.toml", experiment.id());
        let expectations = Expectations::parse(experiment.data(), &file)?;
        let mut scenario = Scenario::parse(experiment.scenario(), &file)?;
        if let Some(seeds) = seeds {
            scenario.seeds = Seeds::Count(seeds);
        }
        let runs_per_x = scenario.transports.len() * scenario.seeds.list().len();
        let sweep: Vec<_> = expectations
            .description()
            .x
            .values
            .iter()
            .map(|x| experiment.at(scenario.clone(), *x))
            .collect();
        let text = experiment.scenario();
        let campaign = Campaign::sweep(experiment.id(), text, &sweep, build)?;
        let reproduction = Self {
            experiment,
            expectations,
            runs_per_x,
        };
        Ok((reproduction, campaign))
    }

    /// What the experiment shows and what it is compared with.
    pub fn description(&self) -> &Description {
        self.expectations.description()
    }

    /// Measures the finished runs, judges the values, and writes them to `values.csv`.
    ///
    /// # Errors
    /// If the runs cannot be read or the values not be written.
    pub fn evaluate(&self, finished: &Finished) -> Result<Vec<Value>, Error> {
        let folder = Folder::open(&finished.folder);
        let mut values = Vec::new();
        let sweep = &self.description().x.values;
        for (x, runs) in sweep.iter().zip(finished.runs.chunks(self.runs_per_x)) {
            values.extend(self.values_at(*x, runs, &folder)?);
        }
        judge::judge(&mut values);
        self.expectations.sort(&mut values);
        folder.write_values(&values)?;
        Ok(values)
    }

    /// The values at one x: means over the runs of each transport, beside the paper's.
    fn values_at(&self, x: f64, runs: &[RunEntry], folder: &Folder) -> Result<Vec<Value>, Error> {
        let mut measured: Vec<(&str, Vec<Measured>)> = Vec::new();
        for run in runs {
            let of_run = self.experiment.measure(&folder.read_run(run)?);
            measured.push((&run.key.transport, of_run));
        }
        let mut values = Vec::new();
        for expected in self.expectations.curves() {
            let of_curve = measured
                .iter()
                .filter(|(transport, _)| *transport == expected.transport)
                .flat_map(|(_, of_run)| of_run)
                .filter(|measured| measured.quantity == expected.quantity);
            let of_curve: Vec<f64> = of_curve.map(|measured| measured.value).collect();
            let Some(mean) = Mean::of(&of_curve) else {
                continue;
            };
            let paper = expected.at(x);
            values.push(Value {
                figure: expected.figure.clone(),
                quantity: expected.quantity.clone(),
                unit: expected.unit.clone(),
                transport: expected.transport.clone(),
                x: Some(x),
                n: of_curve.len() as u64,
                mean: mean.mean,
                ci_low: mean.low(),
                ci_high: mean.high(),
                paper: paper.map(|paper| paper.value),
                band_low: paper.map(|paper| paper.low),
                band_high: paper.map(|paper| paper.high),
                verdict: Verdict::NotJudged,
            });
        }
        Ok(values)
    }
}
