//! The objective of (25), with what can be minimised over in advance minimised over.
//!
//! The two deviations of (24), call them a = `Δr_extra` and m = `r_minus`, occur nowhere else, and
//! their sum is `R + r_out - r_virtual`. The least `a² + m²` for a given sum is half its square.

use crate::config::{Config, Form};
use crate::plan::Plans;
use crate::problem::Problem;

/// The coefficients of the objective for given capacities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    pub(crate) form: Form,
    /// The rate that incoming rates are drawn to, r^max.
    pub(crate) target_in: f64,
    /// The same for outgoing and virtual rates.
    pub(crate) target_out: f64,
    /// Weight of an incoming rate's square; that of an outgoing one's is 1.
    pub(crate) weight_in: f64,
    /// Price of a cell of queue above the limit, in each step.
    pub(crate) penalty: f64,
}

impl Weights {
    pub(crate) fn new(config: &Config, capacity_in: f64, capacity_out: f64) -> Self {
        let target_in = config.r_max * capacity_in;
        let target_out = config.r_max * capacity_out;
        let weight_in = match config.form {
            Form::Printed => 1.0,
            Form::Coded => 10.0,
        };
        // A cell less in a queue costs at most the marginal value, twice target times weight, of a
        // cell in a few rates: its own, and those of a circuit it displaces.
        let penalty = 10.0 * (weight_in + 2.0) * target_in.max(target_out);
        Self {
            form: config.form,
            target_in,
            target_out,
            weight_in,
            penalty,
        }
    }

    /// The undiscounted cost of a circuit's rates in a step.
    fn cost(&self, r_in: f64, r_out: f64, r_virtual: f64) -> f64 {
        let (short_in, short_out) = (self.target_in - r_in, self.target_out - r_out);
        let real = self.weight_in * short_in * short_in + short_out * short_out;
        match self.form {
            Form::Coded => real,
            Form::Printed => {
                let short = self.target_out + r_out - r_virtual;
                real + 0.5 * short * short
            }
        }
    }
}

/// The objective of plans, in squared cells per step.
pub(crate) fn objective(config: &Config, problem: &Problem, plans: &Plans) -> f64 {
    let weights = Weights::new(config, problem.capacity_in, problem.capacity_out);
    let mut sum = 0.0;
    for circuit in 0..problem.len() {
        let mut discount = 1.0;
        let mut queue = problem.queue[circuit];
        let mut virtual_queue = queue;
        for step in circuit * problem.horizon..(circuit + 1) * problem.horizon {
            let (r_in, r_out) = (plans.r_in[step], plans.r_out[step]);
            let r_virtual = plans.r_virtual[step];
            queue += r_in - r_out;
            let mut excess = (queue - config.queue_limit).max(0.0);
            if config.form == Form::Printed {
                virtual_queue += r_in - r_virtual;
                excess += (virtual_queue - config.queue_limit).max(0.0);
            }
            sum += discount * weights.cost(r_in, r_out, r_virtual) + weights.penalty * excess;
            discount *= config.discount;
        }
    }
    sum
}
