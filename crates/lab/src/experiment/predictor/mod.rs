//! `PredicTor`, closed loop: its toy of three circuits, and its random networks.
//!
//! C. Döpmann, F. Fiedler, S. Lucia and F. Tschorsch, "Optimization-Based Predictive Congestion
//! Control for the Tor Network: Opportunities and Challenges", ACM TOIT 22(4), 2022, sections 5.2
//! to 5.5. Latency and fairness are measured as that section defines them ([`measure`]); cases and
//! what the paper says stand in the data files, as for every study.

mod measure;
mod networks;
mod toy;

use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

use super::study::{Study, study};
use super::{Expectations, Experiment, Measured, Method, Part, Sweep};
use crate::scenario::{InputError, Scenario};

/// Figures that the same runs make.
#[derive(Debug)]
pub(super) struct ClosedLoop {
    study: Study,
    measure: fn(&Part, &Tables) -> Vec<Measured>,
    summarise: fn(&[Value]) -> Option<Measured>,
    page: fn(&FigurePage, &[Value]) -> Document,
}

impl ClosedLoop {
    const fn networks(study: Study) -> Self {
        Self {
            study,
            measure: networks::measure,
            summarise: networks::change,
            page: networks::page,
        }
    }
}

pub(super) static TOY: ClosedLoop = ClosedLoop {
    study: study!(
        "predictor-table1",
        &["predictor-fig4", "predictor-fig5", "predictor-fig6"],
        "toy"
    ),
    measure: toy::measure,
    summarise: |_| None,
    page: toy::page,
};
pub(super) static CIRCUITS: ClosedLoop =
    ClosedLoop::networks(study!("predictor-fig7", &["predictor-fig9"], "random"));
pub(super) static THROTTLING: ClosedLoop = ClosedLoop {
    summarise: networks::least,
    ..ClosedLoop::networks(study!("predictor-fig8", &[], "random"))
};
pub(super) static FUZZINESS: ClosedLoop = ClosedLoop::networks(study!(
    "predictor-fig10",
    &["predictor-fig11", "predictor-fig12"],
    "random"
));
pub(super) static TRAFFIC: ClosedLoop =
    ClosedLoop::networks(study!("predictor-fig13", &[], "random"));

impl Experiment for ClosedLoop {
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

impl Sweep for ClosedLoop {
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
