//! The solver: a primal-dual interior-point method over lanes of circuits.
#![expect(
    clippy::needless_range_loop,
    reason = "indices name kinds of rates across several small arrays at once"
)]
#![expect(
    clippy::inline_always,
    reason = "vectors of lanes must stay in registers"
)]

mod bound;
mod capacity;
mod core;
mod group;
mod lanes;
mod load;
mod matrix;
mod soft;
mod step;
mod trial;

use self::bound::lower_bound;
use self::core::Core;
use self::lanes::WIDTH;
use self::load::Loader;
use crate::config::{Budget, Config, ConfigError, Form};
use crate::greedy::Greedy;
use crate::objective::objective;
use crate::plan::{Plan, Plans};
use crate::problem::Problem;

/// A step shorter than this makes no progress.
const SLOW: f64 = 1e-4;
/// This many of them in a row end the iterations.
const STALL: u32 = 10;

/// Iterations after the multipliers have all but met the tolerance: where round-off does not let them
/// prove it by then, it never will.
const ATTEMPTS: u32 = 6;

/// How plans were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// To the tolerance asked for.
    Optimal,
    /// The best plans when the budget was spent; their objective is proven to be within `gap`.
    Early {
        /// As [`Report::gap`].
        gap: f64,
    },
    /// By water-filling, step by step: the budget was spent before anything better was found.
    Greedy,
}

/// What a solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// How the plans were found.
    pub method: Method,
    /// Iterations done.
    pub iterations: u32,
    /// The objective of the plans, over all circuits, in squared cells per step; with the price of
    /// queues above their limit.
    pub objective: f64,
    /// A proven bound of how far the objective is above the optimum, as a multiple of the square of
    /// the mean rate (capacity over busy circuits), per busy circuit.
    pub gap: f64,
}

/// Solves problems of one configuration, one after the other, without allocating once grown.
#[derive(Clone, Debug)]
pub struct Solver {
    config: Config,
    greedy: Greedy,
    plans: Plans,
    trial: Plans,
    busy: Vec<usize>,
    spare_in: Vec<f64>,
    engine: Engine,
}

/// The core for a form: kinds of rates, rows.
#[derive(Clone, Debug)]
enum Engine {
    Printed(Core<3, 7>),
    PrintedWithPins(Core<3, 8>),
    Coded(Core<2, 5>),
}

/// What came of the iterations.
struct Outcome {
    iterations: u32,
    gap: f64,
    better_than_greedy: bool,
}

impl Solver {
    /// A solver for problems of this configuration.
    ///
    /// # Errors
    /// If a value of the configuration is not allowed.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let engine = match config.form {
            Form::Coded => Engine::Coded(Core::new(config.horizon)),
            Form::Printed if config.pin == 0 => Engine::Printed(Core::new(config.horizon)),
            Form::Printed => Engine::PrintedWithPins(Core::new(config.horizon)),
        };
        let greedy = Greedy::new(&config);
        Ok(Self {
            config,
            greedy,
            plans: Plans::default(),
            trial: Plans::default(),
            busy: Vec::new(),
            spare_in: Vec::new(),
            engine,
        })
    }

    /// Plans all circuits of `problem`.
    ///
    /// # Panics
    /// If `problem` was made for another form, horizon or pin.
    pub fn solve(&mut self, problem: &Problem, budget: Budget) -> Report {
        let made_for = (problem.form, problem.horizon, problem.pin);
        let expected = (self.config.form, self.config.horizon, self.config.pin);
        assert_eq!(
            made_for, expected,
            "the problem is made for the solver's configuration"
        );
        self.greedy.solve(problem);
        self.plans.clone_from(self.greedy.plans());
        self.trial.clone_from(self.greedy.plans());
        self.survey(problem);
        let largest = problem.capacity_in.max(problem.capacity_out);
        let unit = largest / self.busy.len().max(1) as f64;
        if self.busy.is_empty() || unit == 0.0 {
            return self.report(problem, Method::Optimal, 0, 0.0);
        }
        let task = Task {
            config: &self.config,
            problem,
            greedy: self.greedy.plans(),
            busy: &self.busy,
            unit,
            spare_in: &self.spare_in,
            iterations: budget.iterations.min(self.config.max_iterations),
        };
        let (plans, trial) = (&mut self.plans, &mut self.trial);
        let outcome = match &mut self.engine {
            Engine::Printed(core) => task.run(core, plans, trial),
            Engine::PrintedWithPins(core) => task.run(core, plans, trial),
            Engine::Coded(core) => task.run(core, plans, trial),
        };
        let method = if outcome.gap <= self.config.tolerance {
            Method::Optimal
        } else if outcome.better_than_greedy {
            Method::Early { gap: outcome.gap }
        } else {
            Method::Greedy
        };
        self.report(problem, method, outcome.iterations, outcome.gap)
    }

    /// Notes which circuits are busy, and what the pinned rates leave of the capacities.
    fn survey(&mut self, problem: &Problem) {
        self.busy.clear();
        self.busy
            .extend((0..problem.len()).filter(|&circuit| !problem.is_idle(circuit)));
        self.spare_in.clear();
        self.spare_in.extend((0..problem.horizon).map(|k| {
            let pinned = (0..problem.len()).filter(|&circuit| problem.is_fixed(circuit, k));
            let held = pinned.map(|circuit| self.plans.r_in[circuit * problem.horizon + k]);
            self.plans.capacity_in[k] - held.sum::<f64>()
        }));
    }

    fn report(&self, problem: &Problem, method: Method, iterations: u32, gap: f64) -> Report {
        let objective = objective(&self.config, problem, &self.plans);
        Report {
            method,
            iterations,
            objective,
            gap,
        }
    }

    /// The plan of a circuit of the problem solved last.
    pub fn plan(&self, circuit: usize) -> Plan<'_> {
        self.plans.get(circuit)
    }
}

/// One solve.
struct Task<'a> {
    config: &'a Config,
    problem: &'a Problem,
    greedy: &'a Plans,
    busy: &'a [usize],
    unit: f64,
    spare_in: &'a [f64],
    iterations: u32,
}

impl Task<'_> {
    /// Iterates until the gap is proven or the budget is spent, and leaves the best in `best`;
    /// `trial` is scratch.
    fn run<const D: usize, const H: usize>(
        &self,
        core: &mut Core<D, H>,
        best: &mut Plans,
        trial: &mut Plans,
    ) -> Outcome {
        self.load(core);
        let tolerance = self.config.tolerance;
        let greedy = self.reduced_objective(self.greedy);
        let (mut reached, mut bound) = (greedy, f64::NEG_INFINITY);
        let gap = |reached: f64, bound: f64| ((reached - bound) / self.busy.len() as f64).max(0.0);
        let (mut iterations, mut slow, mut attempts) = (0, 0, 0);
        while iterations < self.iterations && gap(reached, bound) > tolerance {
            let length = core.iterate();
            iterations += 1;
            slow = if length < SLOW { slow + 1 } else { 0 };
            let complementarity = core.complementarity();
            attempts += u32::from(complementarity <= tolerance);
            let stuck = slow == STALL || attempts == ATTEMPTS || !complementarity.is_finite();
            if complementarity <= tolerance || stuck || iterations == self.iterations {
                self.extract(core, trial);
                let value = self.reduced_objective(trial);
                if value < reached {
                    reached = value;
                    std::mem::swap(best, trial);
                }
                bound = bound.max(lower_bound(core));
            }
            if stuck {
                break;
            }
        }
        Outcome {
            iterations,
            gap: gap(reached, bound),
            better_than_greedy: reached < greedy,
        }
    }

    fn load<const D: usize, const H: usize>(&self, core: &mut Core<D, H>) {
        let loader = Loader {
            config: self.config,
            problem: self.problem,
            start: self.greedy,
            busy: self.busy,
            unit: self.unit,
            spare_in: self.spare_in,
        };
        loader.load(core);
    }

    /// The feasible plans nearest to the iterate.
    fn extract<const D: usize, const H: usize>(&self, core: &Core<D, H>, plans: &mut Plans) {
        for (index, &circuit) in self.busy.iter().enumerate() {
            let lane = index % WIDTH;
            for (k, step) in core.groups[index / WIDTH].steps.iter().enumerate() {
                let at = circuit * self.problem.horizon + k;
                plans.r_in[at] = step.rates[0].0[lane] * self.unit;
                plans.r_out[at] = step.rates[1].0[lane] * self.unit;
                plans.r_virtual[at] = step.rates[D - 1].0[lane] * self.unit;
            }
        }
        plans.repair(self.problem);
    }

    /// The objective in scaled units without its constant, which would drown differences.
    fn reduced_objective(&self, plans: &Plans) -> f64 {
        let Self {
            config,
            problem,
            unit,
            ..
        } = *self;
        crate::objective::reduced(config, problem, plans, unit)
    }
}
