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
    /// Price of a cell of queue above the limit; discounted as the rates are.
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
        // A queue is kept within its limit by taking less, or by forwarding more in the place of
        // another circuit that then takes less. That costs at most twice target times weight per
        // cell and rate, in the same step; the price is twice that.
        let penalty = 4.0 * (weight_in + 2.0) * target_in.max(target_out);
        Self {
            form: config.form,
            target_in,
            target_out,
            weight_in,
            penalty,
        }
    }

    /// A step's objective as `½ u·curvature·u - pull·u` up to a constant, in the rates in, out and,
    /// with D = 3, virtual.
    pub(crate) fn quadratic<const D: usize>(&self) -> ([[f64; D]; D], [f64; D]) {
        let mut curvature = [[0.0; D]; D];
        let mut pull = [0.0; D];
        curvature[0][0] = 2.0 * self.weight_in;
        pull[0] = 2.0 * self.weight_in * self.target_in;
        if D == 3 {
            (curvature[1][1], curvature[1][2]) = (3.0, -1.0);
            (curvature[2][1], curvature[2][2]) = (-1.0, 1.0);
            (pull[1], pull[2]) = (self.target_out, self.target_out);
        } else {
            curvature[1][1] = 2.0;
            pull[1] = 2.0 * self.target_out;
        }
        (curvature, pull)
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
    sum(config, problem, plans, 1.0, |rates| {
        weights.cost(rates[0], rates[1], rates[2])
    })
}

/// The same in rates of `unit` cells per step, without the constant that it has at rates of zero.
pub(crate) fn reduced(config: &Config, problem: &Problem, plans: &Plans, unit: f64) -> f64 {
    let weights = Weights::new(
        config,
        problem.capacity_in / unit,
        problem.capacity_out / unit,
    );
    match config.form {
        Form::Coded => {
            let (curvature, pull) = weights.quadratic::<2>();
            sum(config, problem, plans, unit, |[a, b, _]| {
                quadratic(&curvature, &pull, &[a, b])
            })
        }
        Form::Printed => {
            let (curvature, pull) = weights.quadratic::<3>();
            sum(config, problem, plans, unit, |rates| {
                quadratic(&curvature, &pull, &rates)
            })
        }
    }
}

/// `½ u·curvature·u - pull·u`.
fn quadratic<const D: usize>(curvature: &[[f64; D]; D], pull: &[f64; D], rates: &[f64; D]) -> f64 {
    let mut value = 0.0;
    for i in 0..D {
        let mut slope = 0.0;
        for j in 0..D {
            slope += curvature[i][j] * rates[j];
        }
        value += (0.5 * slope - pull[i]) * rates[i];
    }
    value
}

/// The discounted sum of `cost` and of the price of queues above their limit.
fn sum(
    config: &Config,
    problem: &Problem,
    plans: &Plans,
    unit: f64,
    cost: impl Fn([f64; 3]) -> f64,
) -> f64 {
    let weights = Weights::new(
        config,
        problem.capacity_in / unit,
        problem.capacity_out / unit,
    );
    let mut sum = 0.0;
    for circuit in 0..problem.len() {
        let mut discount = 1.0;
        let mut queue = problem.queue[circuit];
        let mut virtual_queue = queue;
        for step in circuit * problem.horizon..(circuit + 1) * problem.horizon {
            let rates = [plans.r_in[step], plans.r_out[step], plans.r_virtual[step]];
            queue += rates[0] - rates[1];
            let mut excess = (queue - config.queue_limit).max(0.0);
            if config.form == Form::Printed {
                virtual_queue += rates[0] - rates[2];
                excess += (virtual_queue - config.queue_limit).max(0.0);
            }
            let step_cost = cost(rates.map(|rate| rate / unit)) + weights.penalty * excess / unit;
            sum += discount * step_cost;
            discount *= config.discount;
        }
    }
    sum
}
