//! What the relay is told, and the plans that it makes.

use hopflow_mpc::{Budget, CircuitData, Config, Form, Problem, Solver};
use serde::Deserialize;

/// The relay, its circuits, and the problems that are solved.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Settings {
    /// In and out, in cells per second.
    pub(super) capacity: f64,
    /// In seconds.
    pub(super) step: f64,
    pub(super) horizon: usize,
    /// In cells.
    pub(super) queue_limit: f64,
    pub(super) circuits: Vec<Told>,
    pub(super) forms: Vec<Solved>,
}

/// What the relay knows of a circuit: rates in cells per second, queues in cells.
///
/// Trajectories hold their last value.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Told {
    /// At the relay, at the beginning.
    pub(super) queue: f64,
    /// At the source, after each step, by the source's own plan.
    pub(super) source_queue: Vec<f64>,
    pub(super) source_rate: Vec<f64>,
    pub(super) source_potential: Vec<f64>,
    /// The most that the successor takes.
    pub(super) sink_rate: Vec<f64>,
}

/// A problem that is solved.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Solved {
    pub(super) name: String,
    pub(super) form: FormName,
    /// As a multiple of the capacity.
    pub(super) target: f64,
    /// Steps whose incoming rates are pinned to the source's.
    pub(super) pin: usize,
}

/// A form of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FormName {
    Printed,
    Coded,
}

/// The plan for a circuit: rates in cells per second by step, queues in cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Planned {
    pub(super) r_in: Vec<f64>,
    pub(super) r_out: Vec<f64>,
    pub(super) r_virtual: Vec<f64>,
    /// From the beginning to the end of the last step.
    pub(super) queue: Vec<f64>,
    /// What is left at the source, from the end of the first step: equation 14 of the paper.
    pub(super) source_queue: Vec<f64>,
}

/// The value of a trajectory in step `k`.
pub(super) fn at(trajectory: &[f64], k: usize) -> f64 {
    let last = trajectory.last().copied().unwrap_or(0.0);
    trajectory.get(k).copied().unwrap_or(last)
}

impl Settings {
    /// Reads the settings of the experiment.
    pub(super) fn parse(text: &str) -> Self {
        toml::from_str(text).expect("the settings are tested")
    }

    /// The plans for all circuits.
    pub(super) fn solve(&self, solved: &Solved) -> Vec<Planned> {
        let config = self.config(solved);
        let mut problem = Problem::new(&config);
        let per_step = self.capacity * self.step;
        problem.clear(per_step, per_step);
        for told in &self.circuits {
            let cells = |rates: &[f64]| -> Vec<f64> {
                let steps = 0..self.horizon;
                steps.map(|k| at(rates, k) * self.step).collect()
            };
            problem.push(&CircuitData {
                queue: told.queue,
                source_queue: &told.source_queue,
                source_rate: &cells(&told.source_rate),
                source_potential: &cells(&told.source_potential),
                sink_rate: &cells(&told.sink_rate),
                edge: false,
            });
        }
        let mut solver = Solver::new(config).expect("the settings are tested");
        solver.solve(&problem, Budget::default());
        let circuits = self.circuits.iter().enumerate();
        circuits
            .map(|(index, told)| self.planned(told, solver.plan(index)))
            .collect()
    }

    fn config(&self, solved: &Solved) -> Config {
        let form = match solved.form {
            FormName::Printed => Form::Printed,
            FormName::Coded => Form::Coded,
        };
        Config {
            horizon: self.horizon,
            r_max: solved.target,
            pin: solved.pin,
            queue_limit: self.queue_limit,
            tolerance: 1e-9,
            max_iterations: 200,
            ..Config::new(form)
        }
    }

    fn planned(&self, told: &Told, plan: hopflow_mpc::Plan<'_>) -> Planned {
        let steps = || 0..self.horizon;
        let r_in: Vec<f64> = steps().map(|k| plan.r_in(k) / self.step).collect();
        let mut more = 0.0;
        let source_queue = steps().map(|k| {
            more += self.step * (r_in[k] - at(&told.source_rate, k));
            at(&told.source_queue, k) - more
        });
        Planned {
            source_queue: source_queue.collect(),
            r_out: steps().map(|k| plan.r_out(k) / self.step).collect(),
            r_virtual: steps().map(|k| plan.r_virtual(k) / self.step).collect(),
            queue: (0..=self.horizon).map(|k| plan.queue(k)).collect(),
            r_in,
        }
    }
}
