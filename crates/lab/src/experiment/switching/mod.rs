//! Circuit switching: four uploads over the same relays, multiplexed and switched.
//!
//! T. G. Kale, S. Ohzahata, C. Wu and T. Kato, "Reducing Congestion in the Tor Network with Circuit
//! Switching", Journal of Information Processing 23(5), 2015, section 5. Cases and what the paper
//! says stand in the data files, as for every study.

mod measure;
mod moves;

use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

use super::study::{Study, document, study};
use super::{Expectations, Experiment, Measured, Method, Part, Sweep};
use crate::scenario::{InputError, Scenario};

pub(super) use moves::Moves;

/// Tables and figures that the same runs make.
#[derive(Debug)]
pub(super) struct Uploads(Study);

pub(super) static UPLOADS: Uploads = Uploads(study!(
    "switching-table2",
    &["switching-table1", "switching-fig7", "switching-fig8"],
    "switching"
));

pub(super) static PUBLIC: Uploads = Uploads(study!(
    "switching-table3",
    &["switching-fig10", "switching-fig11", "switching-fig12"],
    "switching"
));

impl Experiment for Uploads {
    fn id(&self) -> &'static str {
        self.0.id
    }

    fn also(&self) -> &'static [&'static str] {
        self.0.also
    }

    fn data(&self) -> &'static str {
        self.0.data
    }

    fn scenario(&self) -> &'static str {
        self.0.scenario
    }

    fn method(&self) -> Method<'_> {
        Method::Simulated(self)
    }

    fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        document(page, values, |_| true)
    }
}

impl Sweep for Uploads {
    fn parts(
        &self,
        scenario: &Scenario,
        expectations: &Expectations,
    ) -> Result<Vec<Part>, InputError> {
        self.0.parts(scenario, expectations)
    }

    fn measure(&self, part: &Part, run: &Tables) -> Vec<Measured> {
        let mut measured = measure::measure(run);
        part.name_case(&mut measured);
        measured
    }
}
