//! Experiments: figures and tables of papers, made again and compared.
//!
//! An [`Experiment`] sweeps a scenario and measures its runs. What the paper reports, and the band
//! within which a measured value counts as reproduced, stand in a data file beside it, which is
//! fixed before the runs are made.

pub mod backtap_fig5;
mod claims;
mod description;
mod judge;
mod observed;
mod study;

use std::fmt::Debug;
use std::path::PathBuf;

use hopflow_report::{Document, FigurePage};
use hopflow_results::{Folder, Tables, Value, Verdict};
use hopflow_stats::Mean;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

pub use description::{Description, Expectations, Precision, Swept};

use crate::run::{Campaign, Error, Finished};
use crate::scenario::InputError;
use crate::scenario::{Scenario, Seeds, allowed};
use observed::{Observed, Series};

/// A figure or table of a paper.
pub trait Experiment: Debug + Sync {
    /// The name on the command line.
    fn id(&self) -> &'static str;

    /// The data file: what the paper reports, as TOML.
    fn data(&self) -> &'static str;

    /// The scenario that is swept, as TOML.
    fn scenario(&self) -> &'static str;

    /// Names of other figures and tables that the same runs make.
    fn also(&self) -> &'static [&'static str] {
        &[]
    }

    /// The variants of `scenario` that are run.
    ///
    /// # Errors
    /// If one of them is no valid scenario, which is a defect of the experiment.
    fn parts(
        &self,
        scenario: &Scenario,
        expectations: &Expectations,
    ) -> Result<Vec<Part>, InputError>;

    /// What a run of a part measured; quantities that it does not tell are left out.
    fn measure(&self, part: &Part, run: &Tables) -> Vec<Measured>;

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

/// A variant of an experiment's scenario.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the variant; may be empty.
    pub case: String,
    /// The swept value, where there is one.
    pub x: Option<f64>,
    /// What is run.
    pub scenario: Scenario,
}

/// A value that a run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The quantity, as the data file calls it.
    pub quantity: String,
    /// The unit, as the data file calls it.
    pub unit: &'static str,
    /// Where on the x axis the value belongs, if not at the part's x.
    pub x: Option<f64>,
    /// The value.
    pub value: f64,
}

impl Measured {
    /// A value at the part's x.
    pub fn new(quantity: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self {
            quantity: quantity.into(),
            unit,
            x: None,
            value,
        }
    }
}

/// All experiments.
pub fn experiments() -> &'static [&'static dyn Experiment] {
    ALL
}

/// Each experiment, in the order of the papers.
static ALL: &[&dyn Experiment] = &[
    &study::BACKTAP_FIG4,
    &backtap_fig5::BacktapFig5,
    &study::BACKTAP_FIG6A,
    &study::BACKTAP_FIG6B,
    &study::BACKTAP_FIG6C,
    &study::BACKTAP_FIG7,
    &study::MARUT_FIG7,
    &study::MARUT_FIG8,
    &study::MARUT_FIG9,
    &study::MARUT_FIG11,
    &study::MARUT_FIG12,
    &study::MARUT_FIG13,
    &study::MARUT_FIG14,
];

/// The experiment of this name.
///
/// # Errors
/// If there is none.
pub fn find(id: &str) -> Result<&'static dyn Experiment, InputError> {
    let found = experiments()
        .iter()
        .find(|experiment| experiment.id() == id || experiment.also().contains(&id));
    found.copied().ok_or_else(|| {
        let names = experiments().iter().flat_map(|experiment| {
            std::iter::once(experiment.id()).chain(experiment.also().iter().copied())
        });
        InputError::new(format!(
            "there is no experiment \"{id}\"; {}",
            allowed(id, names)
        ))
    })
}

/// How an experiment is made, where that is not its own choice.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The networks that are sampled; by default as many as the experiment says.
    pub seeds: Option<u32>,
    /// The circuit file; by default that which the experiment names.
    pub circuits: Option<PathBuf>,
}

/// An experiment that is about to be made again.
#[derive(Debug)]
pub struct Reproduction {
    experiment: &'static dyn Experiment,
    expectations: Expectations,
    /// The variants that are run, each with the number of its runs.
    parts: Vec<(Part, usize)>,
    /// The networks that the user asked for, and those of the experiment, if these are more.
    provisional: Option<(u32, usize)>,
}

impl Reproduction {
    /// Plans the runs of an experiment.
    ///
    /// # Errors
    /// If a file that the experiment needs is not there, or a scenario cannot be run, which is a
    /// defect of the experiment.
    pub fn plan(
        experiment: &'static dyn Experiment,
        setting: &Setting,
        build: &str,
    ) -> Result<(Self, Campaign), Error> {
        let file = format!("{}.toml", experiment.id());
        let expectations = Expectations::parse(experiment.data(), &file)?;
        let circuits = setting.circuits.as_deref();
        let scenario = Scenario::parse_with(experiment.scenario(), &file, circuits)?;
        let own = scenario.seeds.list().len();
        let fewer = setting.seeds.filter(|seeds| (*seeds as usize) < own);
        let mut parts = experiment.parts(&scenario, &expectations)?;
        for part in &mut parts {
            if let Some(seeds) = setting.seeds {
                part.scenario.seeds = Seeds::Count(seeds);
            }
        }
        let scenarios = parts.iter().map(|part| part.scenario.clone()).collect();
        let text = experiment.scenario();
        let campaign = Campaign::sweep(experiment.id(), text, scenarios, build)?;
        let counted = |part: Part| {
            let Scenario {
                transports, seeds, ..
            } = &part.scenario;
            let runs = transports.len() * seeds.list().len();
            (part, runs)
        };
        let reproduction = Self {
            experiment,
            expectations,
            provisional: fewer.map(|seeds| (seeds, own)),
            parts: parts.into_iter().map(counted).collect(),
        };
        Ok((reproduction, campaign))
    }

    /// What the experiment shows and what it is compared with.
    pub fn description(&self) -> &Description {
        self.expectations.description()
    }

    /// What readers must know if there are fewer networks than the experiment has.
    pub fn provisional(&self) -> Option<String> {
        let (networks, own) = self.provisional?;
        Some(format!(
            "Provisional: {networks} of the {own} networks or seeds of this experiment were run."
        ))
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
        let observed = self.observe(finished, &folder)?;
        let series = observed.series().iter();
        let mut values: Vec<Value> = series.filter_map(|series| self.value(series)).collect();
        values.extend(self.summaries(&values));
        judge::judge(&mut values);
        values.extend(claims::test(self.expectations.claims(), &observed));
        self.expectations.sort(&mut values);
        folder.write_values(&values)?;
        Ok(values)
    }

    /// How many networks would make the claims' differences as precise as the experiment wants
    /// them, if more than there are.
    pub fn networks_wanted(&self, values: &[Value]) -> Option<u32> {
        let precision = self.description().precision?;
        let differences = values.iter().filter(|value| claims::pair(value).is_some());
        let (widest, networks) = differences
            .filter_map(|value| Some(((value.ci_high? - value.ci_low?) / 2.0, value.n)))
            .fold((0.0_f64, 0), |(width, n), (w, of)| {
                (width.max(w), n.max(of))
            });
        let networks = networks as u32;
        if widest <= precision.half_width || networks >= precision.most {
            return None;
        }
        // The width falls with the square root of the number.
        let needed = (f64::from(networks) * (widest / precision.half_width).powi(2)).ceil() as u32;
        Some(
            needed
                .clamp(networks + 5, precision.most.max(networks + 5))
                .min(precision.most),
        )
    }

    /// Measures all runs, on all cores.
    fn observe(&self, finished: &Finished, folder: &Folder) -> Result<Observed, Error> {
        let counts = self
            .parts
            .iter()
            .map(|(part, count)| std::iter::repeat_n(part, *count));
        let runs: Vec<_> = counts.flatten().zip(&finished.runs).collect();
        let measured: Result<Vec<Vec<Measured>>, Error> = runs
            .par_iter()
            .map(|(part, run)| Ok(self.experiment.measure(part, &folder.read_run(run)?)))
            .collect();
        let mut observed = Observed::default();
        for ((part, run), measured) in runs.into_iter().zip(measured?) {
            for measured in measured {
                observed.add(&run.key.transport, run.key.seed, part.x, measured);
            }
        }
        Ok(observed)
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
            let mut observed = Observed::default();
            observed.add(&curve[0].transport, 0, None, measured);
            self.value(&observed.series()[0])
        };
        curves.iter().filter_map(summary).collect()
    }

    /// The mean over networks, beside the paper's value.
    fn value(&self, series: &Series) -> Option<Value> {
        let mean = Mean::of(&series.values())?;
        let mut curves = self.expectations.curves().iter();
        let expected = curves
            .find(|curve| curve.transport == series.transport && curve.quantity == series.quantity);
        let paper = expected.and_then(|curve| curve.at(series.x));
        let figure = expected.map_or(self.experiment.id(), |curve| curve.figure.as_str());
        Some(Value {
            figure: figure.to_owned(),
            quantity: series.quantity.clone(),
            unit: series.unit.to_owned(),
            transport: series.transport.clone(),
            x: series.x,
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
