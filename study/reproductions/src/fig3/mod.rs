//! PredicTor, Figure 3: the plans of one relay that is told what its neighbours plan.
//!
//! C. Döpmann, F. Fiedler, S. Lucia and F. Tschorsch, "Optimization-Based Predictive Congestion
//! Control for the Tor Network: Opportunities and Challenges", ACM TOIT 22(4), 2022, section 5.1.
//! One problem is solved in each form; nothing is simulated.

mod behaviours;
mod names;
mod page;
mod settings;

use hopflow_report::{Document, FigurePage};
use hopflow_results::Value;

use self::behaviours::behaviours;
use self::settings::{FormName, Planned, Settings, Solved};
use crate::{Computation, Computed, Expectations, Experiment, Measured, Method};
use names::{CONDITION, INCOMING, OUTGOING, QUEUE, SOURCE_QUEUE, VIRTUAL, label};

/// Figure 3 of the PredicTor paper.
#[derive(Debug)]
pub(super) struct Fig3;

impl Experiment for Fig3 {
    fn id(&self) -> &'static str {
        "predictor-fig3"
    }

    fn data(&self) -> &'static str {
        include_str!("../../experiments/predictor-fig3.toml")
    }

    fn scenario(&self) -> &'static str {
        include_str!("../../experiments/predictor-fig3.settings.toml")
    }

    fn method(&self) -> Method<'_> {
        Method::Computed(self)
    }

    fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        page::document(page, values, &self.settings())
    }
}

impl Computation for Fig3 {
    fn seeds(&self) -> u32 {
        1
    }

    fn compute(&self, _: &Expectations, seeds: &[u64]) -> Vec<Computed> {
        let settings = self.settings();
        let seed = seeds.first().copied().unwrap_or(0);
        let mut computed = Vec::new();
        for solved in &settings.forms {
            let plans = settings.solve(solved);
            for (circuit, plan) in plans.iter().enumerate() {
                let curve = label(solved, circuit);
                computed.extend(trajectories(solved, plan).map(|measured| Computed {
                    curve: curve.clone(),
                    seed,
                    measured,
                }));
            }
            let seen = judged(&settings, solved, &plans);
            computed.extend(seen.into_iter().map(|measured| Computed {
                curve: solved.name.clone(),
                seed,
                measured,
            }));
        }
        computed
    }
}

impl Fig3 {
    fn settings(&self) -> Settings {
        Settings::parse(self.scenario())
    }
}

/// A plan as values over the steps.
fn trajectories(solved: &Solved, plan: &Planned) -> impl Iterator<Item = Measured> {
    let of = |quantity, unit, first: usize, trajectory: &[f64]| -> Vec<Measured> {
        let steps = trajectory.iter().enumerate();
        let value = |(k, value): (usize, &f64)| Measured {
            x: Some((first + k) as f64),
            ..Measured::new(quantity, unit, *value)
        };
        steps.map(value).collect()
    };
    let mut all = vec![
        of(OUTGOING, "cells/s", 0, &plan.r_out),
        of(INCOMING, "cells/s", 0, &plan.r_in),
        of(QUEUE, "cells", 0, &plan.queue),
        of(SOURCE_QUEUE, "cells", 1, &plan.source_queue),
    ];
    if solved.form == FormName::Printed {
        all.push(of(VIRTUAL, "cells/s", 0, &plan.r_virtual));
    }
    all.into_iter().flatten()
}

/// The part of each behaviour's conditions that are met, and each condition by itself: 1 if it is.
fn judged(settings: &Settings, solved: &Solved, plans: &[Planned]) -> Vec<Measured> {
    let mut values = Vec::new();
    for behaviour in behaviours(settings, solved, plans) {
        values.push(Measured::new(behaviour.name, "", behaviour.met()));
        let number = behaviour.name.split(':').next().unwrap_or_default();
        values.extend(behaviour.conditions.iter().map(|(text, met)| {
            let quantity = format!("{CONDITION} {number}: {text}");
            Measured::new(quantity, "", f64::from(u8::from(*met)))
        }));
    }
    values
}

#[cfg(test)]
mod tests;
