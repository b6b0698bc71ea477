//! Evaluations of the transport `joint` on networks on which it was not designed.
//!
//! Data files say what is run, and the goals, which were there before the runs. Besides what every
//! study measures, goals are about the network: how long its cells take without queues, and what a hop
//! holds ([`network`]).

mod measure;
mod network;

use hopflow_lab::scenario::{InputError, Scenario};
use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};

use self::network::Network;
use crate::study::{self, Study, study};
use crate::{Expectations, Experiment, Measured, Method, Part, Sweep};

/// What the names of cases begin with in which a download starts and is seen to do so.
const START: &str = "start";

/// An evaluation.
#[derive(Debug)]
pub(super) struct Evaluation(Study);

pub(super) static EVALUATION: Evaluation = Evaluation(study!("joint", &[], "joint"));
/// On more networks.
pub(super) static NETWORKS: Evaluation = Evaluation(study!("joint-networks", &[], "joint"));
/// On networks like Tor's that nobody had looked at.
pub(super) static TOR: Evaluation = Evaluation(study!("joint-tor", &[], "joint"));
/// Beside connections of other applications on a relay's access link.
pub(super) static SHARES: Evaluation = Evaluation(study!("joint-shares", &[], "joint-shares"));

impl Experiment for Evaluation {
    fn id(&self) -> &'static str {
        self.0.id
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
        study::document(page, values, |_| false)
    }
}

impl Sweep for Evaluation {
    fn parts(
        &self,
        scenario: &Scenario,
        expectations: &Expectations,
    ) -> Result<Vec<Part>, InputError> {
        self.0.parts(scenario, expectations)
    }

    fn measure(&self, _: &Part, run: &Tables) -> Vec<Measured> {
        measure::of_users(run)
    }

    fn measure_network(&self, part: &Part, seed: u64, run: &Tables) -> Vec<Measured> {
        let network = Network::new(&part.scenario.sample(seed));
        let mut measured = if part.case.starts_with(START) {
            measure::of_start(run, &network)
        } else if !run.cross.is_empty() {
            measure::beside_others(run)
        } else {
            let mut measured = self.measure(part, run);
            measured.extend(measure::of_network(run, &network));
            measured
        };
        part.name_case(&mut measured);
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reproduction, Setting};

    const ALL: [&Evaluation; 4] = [&EVALUATION, &NETWORKS, &TOR, &SHARES];

    #[test]
    fn no_network_is_one_of_those_that_joint_was_designed_on() {
        for evaluation in ALL {
            let scenario = Scenario::parse(evaluation.scenario(), "").unwrap();
            let data = Expectations::parse(evaluation.data(), "").unwrap();
            for part in evaluation.parts(&scenario, &data).unwrap() {
                let more = part.scenario.seeds.resized(50);
                for seeds in [part.scenario.seeds, more] {
                    let seeds = seeds.list();
                    assert!(seeds.iter().all(|seed| *seed > 1000), "{}", part.case);
                }
            }
        }
    }

    #[test]
    fn all_cases_are_valid_scenarios() {
        for evaluation in ALL {
            Reproduction::plan(evaluation, &Setting::default(), "").unwrap();
        }
    }
}
