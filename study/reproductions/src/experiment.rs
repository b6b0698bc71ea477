//! An experiment: what is run or computed, what is measured, and how it is shown.

use std::fmt::Debug;

use hopflow_lab::scenario::{InputError, Scenario};
use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

use crate::computation::Computation;
use crate::description::Expectations;
use crate::measured::Measured;
use crate::observed::Curve;

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

    /// What a network's curve of a quantity over the swept value tells as a whole. By default
    /// nothing.
    fn summarise(&self, _curve: &Curve<'_>) -> Option<Measured> {
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

    /// What a run of a part on the network of a seed measured. By default the network itself does not
    /// matter.
    fn measure_network(&self, part: &Part, _seed: u64, run: &Tables) -> Vec<Measured> {
        self.measure(part, run)
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
