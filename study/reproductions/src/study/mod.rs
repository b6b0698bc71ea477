//! Experiments on sampled networks: the same networks and users under several transports.
//!
//! The data file names the cases, what differs in them from the scenario, and what the paper says.
//! Every run is measured in the same way ([`measure`]), whatever the figure; the unit of replication
//! is the sampled network.

mod measure;
mod measured;
mod page;

use hopflow_lab::builtin;
use hopflow_lab::scenario::{InputError, Scenario, allowed};
use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};
use toml::{Table, Value as Toml};

pub(super) use measure::percentiles;
pub(super) use measured::MeasuredStudy;
pub(super) use page::{document, labels};

use crate::description::Case;
use crate::{Expectations, Experiment, Measured, Method, Part, Sweep};

/// An experiment on sampled networks.
#[derive(Debug)]
pub(super) struct Study {
    pub(super) id: &'static str,
    pub(super) also: &'static [&'static str],
    pub(super) data: &'static str,
    pub(super) scenario: &'static str,
}

macro_rules! study {
    ($id:literal, $also:expr, $scenario:literal) => {
        $crate::study::Study {
            id: $id,
            also: $also,
            data: include_str!(concat!("../../experiments/", $id, ".toml")),
            scenario: include_str!(concat!("../../experiments/", $scenario, ".scenario.toml")),
        }
    };
}

pub(super) use study;

pub(super) static BACKTAP_FIG4: Study = study!("backtap-fig4", &[], "dumbbell");
pub(super) static BACKTAP_FIG6A: Study = study!("backtap-fig6a", &["backtap-table1"], "star");
pub(super) static BACKTAP_FIG6B: Study = study!("backtap-fig6b", &[], "one-relay");
pub(super) static BACKTAP_FIG6C: Study = study!("backtap-fig6c", &[], "one-relay");
pub(super) static BACKTAP_FIG7: Study = study!("backtap-fig7", &["backtap-table2"], "dumbbell");
pub(super) static BACKTAP_NSTOR: Study = study!("backtap-nstor", &[], "nstor");
pub(super) static BACKTAP_NSTOR_LONG: Study = study!("backtap-nstor-long", &[], "nstor");
pub(super) static MARUT_FIG7: Study = study!("marut-fig7", &[], "dumbbell");
pub(super) static MARUT_FIG8: Study = study!("marut-fig8", &[], "tree");
pub(super) static MARUT_FIG9: Study = study!("marut-fig9", &[], "dumbbell");
pub(super) static MARUT_FIG11: Study = study!("marut-fig11", &[], "dumbbell");
pub(super) static MARUT_FIG12: Study = study!("marut-fig12", &[], "dumbbell");
pub(super) static MARUT_FIG13: Study = study!("marut-fig13", &[], "dumbbell");
pub(super) static MARUT_FIG14: Study = study!("marut-fig14", &[], "dumbbell");

impl Experiment for Study {
    fn id(&self) -> &'static str {
        self.id
    }

    fn also(&self) -> &'static [&'static str] {
        self.also
    }

    fn data(&self) -> &'static str {
        self.data
    }

    fn scenario(&self) -> &'static str {
        self.scenario
    }

    fn method(&self) -> Method<'_> {
        Method::Simulated(self)
    }

    fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        let percentiles = page.x.as_ref().is_none_or(|x| x.unit == "%");
        document(page, values, |_| percentiles)
    }
}

impl Sweep for Study {
    fn parts(
        &self,
        scenario: &Scenario,
        expectations: &Expectations,
    ) -> Result<Vec<Part>, InputError> {
        let cases = expectations.cases().iter();
        cases.map(|case| self.part(scenario, case)).collect()
    }

    fn measure(&self, part: &Part, run: &Tables) -> Vec<Measured> {
        let span = part
            .scenario
            .duration
            .0
            .saturating_sub(part.scenario.warm_up.0);
        let mut measured = measure::measure(span.as_secs_f64() / 60.0, run);
        // The x axis is either that of the sweep or percentiles.
        measured.retain(|measured| part.x.is_none() || measured.x.is_none());
        part.name_case(&mut measured);
        measured
    }
}

impl Part {
    /// Puts the name of the case, if it has one, behind those of quantities.
    pub(super) fn name_case(&self, measured: &mut [Measured]) {
        if self.case.is_empty() {
            return;
        }
        for measured in measured {
            measured.quantity = format!("{}, {}", measured.quantity, self.case);
        }
    }
}

impl Study {
    /// The scenario with what differs in a case.
    fn part(&self, scenario: &Scenario, case: &Case) -> Result<Part, InputError> {
        let mut text = base(scenario, case.scenario.as_deref())?;
        replace(&mut text, &case.set);
        let file = format!("{}.toml, case \"{}\"", self.id, case.name);
        let mut changed = Scenario::parse(&text.to_string(), &file)?;
        if !case.transports.is_empty() {
            let all = std::mem::take(&mut changed.transports);
            let choice = |label: &String| {
                let choice = all.get(label).cloned();
                (label.clone(), choice.unwrap_or_default())
            };
            changed.transports = case.transports.iter().map(choice).collect();
        }
        Ok(Part {
            case: case.name.clone(),
            x: case.x,
            scenario: changed,
        })
    }
}

/// What a case changes: the experiment's scenario, or a built-in one with its transports.
fn base(scenario: &Scenario, builtin: Option<&str>) -> Result<Table, InputError> {
    let of = |text: &str| -> Table { text.parse().expect("a scenario's text is TOML") };
    let own = of(&scenario.to_toml());
    let Some(name) = builtin else { return Ok(own) };
    let found = builtin::find(name).ok_or_else(|| {
        let names = builtin::scenarios().iter().map(|scenario| scenario.name);
        let problem = format!("there is no scenario \"{name}\"; {}", allowed(name, names));
        InputError::at("cases.scenario", problem)
    })?;
    let mut text = of(found.text);
    text.extend(own.into_iter().filter(|(key, _)| key == "transports"));
    Ok(text)
}

/// Replaces the keys of `table` by those of `new`; tables within are entered.
fn replace(table: &mut Table, new: &Table) {
    for (key, value) in new {
        match (table.get_mut(key), value) {
            (Some(Toml::Table(old)), Toml::Table(new)) => replace(old, new),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;

    #[test]
    fn tables_are_entered_and_all_else_is_replaced() {
        let mut table: Table = "a = { b = 1, c = [1] }\nd = 2".parse().unwrap();
        replace(&mut table, &"a = { c = [2, 3] }\ne = 4".parse().unwrap());
        let expected: Table = "a = { b = 1, c = [2, 3] }\nd = 2\ne = 4".parse().unwrap();
        assert_eq!(table, expected);
    }

    #[test]
    fn a_case_changes_options_of_the_transports_that_it_lists() {
        let study = study!("predictor-settings", &[], "random");
        let scenario = Scenario::parse(study.scenario, "").unwrap();
        let data = Expectations::parse(study.data, "").unwrap();
        let mut cases = data.cases().iter();
        let case = cases.find(|case| case.name == "20 steps").unwrap();
        let part = study.part(&scenario, case).unwrap();
        assert_eq!(part.scenario.transports.len(), 3);
        let text = part.scenario.to_toml();
        assert_eq!(text.matches("horizon = 20").count(), 3, "{text}");
        // What the scenario says stands beside it.
        assert_eq!(text.matches("form = \"printed\"").count(), 2, "{text}");
    }

    #[test]
    fn a_case_of_a_builtin_scenario_has_the_experiment_s_transports() {
        let study = study!("joint", &[], "joint");
        let scenario = Scenario::parse(study.scenario, "").unwrap();
        let text = base(&scenario, Some("quickstart")).unwrap();
        assert_eq!(
            text["transports"].as_table().unwrap().len(),
            scenario.transports.len()
        );
        assert_eq!(text["name"].as_str(), Some("quickstart"));
        let error = base(&scenario, Some("quick")).unwrap_err().to_string();
        assert!(error.contains("there is no scenario \"quick\""), "{error}");
    }

    #[test]
    fn every_data_file_is_valid_and_claims_what_its_cases_measure() {
        for experiment in experiments() {
            let data = Expectations::parse(experiment.data(), experiment.id()).unwrap();
            let names: Vec<_> = data.cases().iter().map(|case| case.name.as_str()).collect();
            for claim in data.claims() {
                let case = claim.quantity.split_once(", ").map_or("", |(_, case)| case);
                assert!(
                    names.contains(&case),
                    "{}: {}",
                    experiment.id(),
                    claim.quantity
                );
            }
            for curve in data.curves() {
                let case = curve.quantity.split_once(", ").map_or("", |(_, case)| case);
                assert!(
                    names.is_empty() || names.contains(&case),
                    "{}: {}",
                    experiment.id(),
                    curve.quantity
                );
            }
        }
    }
}
