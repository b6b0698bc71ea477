//! Experiments: figures and tables of papers, made again and compared.
//!
//! An [`Experiment`] sweeps a scenario and measures its runs. What the paper reports, and the band
//! within which a measured value counts as reproduced, stand in a data file beside it, which is
//! fixed before the runs are made.

pub mod backtap_fig5;
mod description;
mod judge;

use std::fmt::Debug;

use hopflow_report::{Document, FigurePage};
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

    /// The scenarios that make up the sweep of `scenario` over the values of `xs`, each with the
    /// value that it belongs to; one value may have several with different transports.
    fn sweep(&self, scenario: &Scenario, xs: &[f64]) -> Vec<(f64, Scenario)>;

    /// What a run measured; quantities that it does not tell are left out.
    fn measure(&self, run: &Tables) -> Vec<Measured>;

    /// What all runs of a transport together tell: the means of a quantity by the swept value to
    /// one value. By default nothing.
    fn summarise(&self, _curve: &[Value]) -> Option<Measured> {
        None
    }

    /// The page of the values; by default a chart and a table for each quantity.
    fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        hopflow_report::figure_page(page, values)
    }
}

/// A value that a run measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The quantity, as the data file calls it.
    pub quantity: &'static str,
    /// The unit, as the data file calls it.
    pub unit: &'static str,
    /// The value.
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
    /// The swept values, each with the number of runs; one value may stand there repeatedly.
    parts: Vec<(f64, usize)>,
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
        let xs = &expectations.description().x.values;
        let (xs, sweep): (Vec<f64>, Vec<Scenario>) =
            experiment.sweep(&scenario, xs).into_iter().unzip();
        let runs = |part: &Scenario| part.transports.len() * part.seeds.list().len();
        let parts = xs.into_iter().zip(sweep.iter().map(runs)).collect();
        let text = experiment.scenario();
        let campaign = Campaign::sweep(experiment.id(), text, &sweep, build)?;
        let reproduction = Self {
            experiment,
            expectations,
            parts,
        };
        Ok((reproduction, campaign))
    }

    /// What the experiment shows and what it is compared with.
    pub fn description(&self) -> &Description {
        self.expectations.description()
    }

    /// The page of the values.
    pub fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        self.experiment.page(page, values)
    }

    /// Measures the finished runs, judges the values, and writes them to `values.csv`.
    ///
    /// # Errors
    /// If the runs cannot be read or the values not be written.
    pub fn evaluate(&self, finished: &Finished) -> Result<Vec<Value>, Error> {
        let folder = Folder::open(&finished.folder);
        let mut runs = finished.runs.as_slice();
        let mut values = Vec::new();
        for (x, count) in &self.parts {
            let (part, rest) = runs.split_at(*count);
            values.extend(self.values_at(*x, part, &folder)?);
            runs = rest;
        }
        values.extend(self.summaries(&values));
        judge::judge(&mut values);
        self.expectations.sort(&mut values);
        folder.write_values(&values)?;
        Ok(values)
    }

    /// The values at one x: means over the runs of each transport, beside the paper's.
    fn values_at(&self, x: f64, runs: &[RunEntry], folder: &Folder) -> Result<Vec<Value>, Error> {
        let mut measured: Vec<(&str, Measured)> = Vec::new();
        for run in runs {
            let of_run = self.experiment.measure(&folder.read_run(run)?);
            measured.extend(of_run.into_iter().map(|m| (run.key.transport.as_str(), m)));
        }
        let mut values: Vec<Value> = Vec::new();
        for (transport, first) in &measured {
            let same =
                |value: &Value| value.transport == *transport && value.quantity == first.quantity;
            if values.iter().any(same) {
                continue;
            }
            let of_curve = measured
                .iter()
                .filter(|(other, m)| other == transport && m.quantity == first.quantity);
            let of_curve: Vec<f64> = of_curve.map(|(_, measured)| measured.value).collect();
            values.extend(self.value(transport, first, Some(x), &of_curve));
        }
        Ok(values)
    }

    /// What each curve tells as a whole.
    fn summaries(&self, values: &[Value]) -> Vec<Value> {
        let mut curves: Vec<Vec<Value>> = Vec::new();
        for value in values {
            let same = |curve: &&mut Vec<Value>| {
                curve[0].transport == value.transport && curve[0].quantity == value.quantity
            };
            match curves.iter_mut().find(same) {
                Some(curve) => curve.push(value.clone()),
                None => curves.push(vec![value.clone()]),
            }
        }
        let summary = |curve: &Vec<Value>| {
            let measured = self.experiment.summarise(curve)?;
            self.value(&curve[0].transport, &measured, None, &[measured.value])
        };
        curves.iter().filter_map(summary).collect()
    }

    /// The mean of the values of one transport at one x, beside the paper's.
    fn value(
        &self,
        transport: &str,
        measured: &Measured,
        x: Option<f64>,
        of_runs: &[f64],
    ) -> Option<Value> {
        let mean = Mean::of(of_runs)?;
        let mut curves = self.expectations.curves().iter();
        let expected = curves
            .find(|curve| curve.transport == transport && curve.quantity == measured.quantity);
        let paper = expected.and_then(|curve| curve.at(x));
        let figure = expected.map_or(self.experiment.id(), |curve| curve.figure.as_str());
        Some(Value {
            figure: figure.to_owned(),
            quantity: measured.quantity.to_owned(),
            unit: measured.unit.to_owned(),
            transport: transport.to_owned(),
            x,
            n: mean.n as u64,
            mean: mean.mean,
            ci_low: mean.low(),
            ci_high: mean.high(),
            paper: paper.map(|paper| paper.value),
            band_low: paper.map(|paper| paper.low),
            band_high: paper.map(|paper| paper.high),
            verdict: Verdict::NotJudged,
        })
    }
}
