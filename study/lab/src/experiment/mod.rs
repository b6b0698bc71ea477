//! Experiments: figures and tables of papers, made again and compared.
//!
//! An [`Experiment`] either sweeps a scenario and measures its runs ([`Sweep`]), or needs no
//! simulation ([`Computation`]). What the paper reports, and the band within which a value counts
//! as reproduced, stand in a data file beside it, which is fixed before the runs are made.

pub mod backtap_fig5;
mod claims;
mod computation;
mod description;
mod fig3;
mod guidelines;
mod judge;
mod observed;
mod predictor;
mod python;
mod reproduction;
mod study;
mod switching;
mod theorem1;

use std::fmt::Debug;

use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

pub use computation::{Computation, Computed};
pub use description::{Description, Expectations, Precision, Swept};
pub use python::{InPython, in_python};
pub use reproduction::{Reproduction, Setting};

use crate::scenario::InputError;
use crate::scenario::{Scenario, allowed};

/// A figure or table of a paper.
pub trait Experiment: Debug + Sync {
    /// The name on the command line.
    fn id(&self) -> &'static str;

    /// The data file: what the paper reports, as TOML.
    fn data(&self) -> &'static str;

    /// The scenario that is swept, or the settings of what is computed, as TOML.
    fn scenario(&self) -> &'static str;

    /// How the values come about.
    fn method(&self) -> Method<'_>;

    /// Names of other figures and tables that the same runs make.
    fn also(&self) -> &'static [&'static str] {
        &[]
    }

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

/// How an experiment's values come about.
#[derive(Clone, Copy, Debug)]
pub enum Method<'a> {
    /// Runs of a scenario's variants are measured.
    Simulated(&'a dyn Sweep),
    /// The values are computed without a simulation.
    Computed(&'a dyn Computation),
}

/// What is run and measured.
pub trait Sweep: Debug + Sync {
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
    &predictor::TOY,
    &predictor::CIRCUITS,
    &predictor::THROTTLING,
    &predictor::FUZZINESS,
    &predictor::TRAFFIC,
    &theorem1::Theorem1,
    &fig3::Fig3,
    &switching::UPLOADS,
    &switching::Moves,
    &switching::PUBLIC,
    &guidelines::Losses,
    &guidelines::START,
    &guidelines::QUEUES,
    &guidelines::SHARES,
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
        if let Some(experiment) = in_python().iter().find(|experiment| experiment.id == id) {
            let how = experiment.how();
            return InputError::new(format!("{id} needs the Python package: {how}"));
        }
        let names = experiments().iter().flat_map(|experiment| {
            std::iter::once(experiment.id()).chain(experiment.also().iter().copied())
        });
        let names = names.chain(in_python().iter().map(|experiment| experiment.id));
        InputError::new(format!(
            "there is no experiment \"{id}\"; {}",
            allowed(id, names)
        ))
    })
}
