//! Studies that measure their runs in a way of their own.

use hopflow_lab::scenario::{InputError, Scenario};
use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

use super::Study;
use crate::{Curve, Expectations, Experiment, Measured, Method, Part, Sweep};

/// A study whose runs, curves and page are its own.
#[derive(Debug)]
pub(crate) struct MeasuredStudy {
    pub(crate) study: Study,
    /// What a run of a part measured; the part's case is named afterwards.
    pub(crate) measure: fn(&Part, &Tables) -> Vec<Measured>,
    /// See [`Experiment::summarise`].
    pub(crate) summarise: fn(&Curve<'_>) -> Option<Measured>,
    /// See [`Experiment::page`].
    pub(crate) page: fn(&FigurePage, &[Value]) -> Document,
}

impl Experiment for MeasuredStudy {
    fn id(&self) -> &'static str {
        self.study.id
    }

    fn also(&self) -> &'static [&'static str] {
        self.study.also
    }

    fn data(&self) -> &'static str {
        self.study.data
    }

    fn scenario(&self) -> &'static str {
        self.study.scenario
    }

    fn method(&self) -> Method<'_> {
        Method::Simulated(self)
    }

    fn summarise(&self, curve: &Curve<'_>) -> Option<Measured> {
        (self.summarise)(curve)
    }

    fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        (self.page)(page, values)
    }
}

impl Sweep for MeasuredStudy {
    fn parts(
        &self,
        scenario: &Scenario,
        expectations: &Expectations,
    ) -> Result<Vec<Part>, InputError> {
        self.study.parts(scenario, expectations)
    }

    fn measure(&self, part: &Part, run: &Tables) -> Vec<Measured> {
        let mut measured = (self.measure)(part, run);
        part.name_case(&mut measured);
        measured
    }
}
