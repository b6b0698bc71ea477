//! Studies that measure their runs in a way of their own.

use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

use super::Study;
use crate::experiment::{Expectations, Experiment, Measured, Method, Part, Sweep};
use crate::scenario::{InputError, Scenario};

/// A study whose runs, curves and page are its own.
#[derive(Debug)]
pub(in crate::experiment) struct MeasuredStudy {
    pub(in crate::experiment) study: Study,
    /// What a run of a part measured; the part's case is named afterwards.
    pub(in crate::experiment) measure: fn(&Part, &Tables) -> Vec<Measured>,
    /// See [`Experiment::summarise`].
    pub(in crate::experiment) summarise: fn(&[Value]) -> Option<Measured>,
    /// See [`Experiment::page`].
    pub(in crate::experiment) page: fn(&FigurePage, &[Value]) -> Document,
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

    fn summarise(&self, curve: &[Value]) -> Option<Measured> {
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
