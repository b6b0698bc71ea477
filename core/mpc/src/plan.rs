//! Plans: the rates and queues of every circuit over the horizon.

use crate::config::Form;
use crate::problem::Problem;

/// The plan of one circuit. Nothing in it is negative, and no hard constraint is violated by more
/// than round-off.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub(crate) r_in: &'a [f64],
    pub(crate) r_out: &'a [f64],
    pub(crate) r_virtual: &'a [f64],
    /// From the queue at the start to that after the last step.
    pub(crate) queue: &'a [f64],
}

impl Plan<'_> {
    /// Cells to take from the source in step `k`, from 0.
    pub fn r_in(&self, k: usize) -> f64 {
        self.r_in[k]
    }

    /// Cells to forward in step `k`, from 0.
    pub fn r_out(&self, k: usize) -> f64 {
        self.r_out[k]
    }

    /// Cells that could be forwarded in step `k` if the successor took them: the virtual rate of
    /// (16). In the coded form, which has none, what is forwarded.
    pub fn r_virtual(&self, k: usize) -> f64 {
        self.r_virtual[k]
    }

    /// Cells queued after `k` steps, from 0 to the horizon.
    pub fn queue(&self, k: usize) -> f64 {
        self.queue[k]
    }
}

/// The plans of all circuits, circuit-major.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans {
    pub(crate) horizon: usize,
    /// Most cells that come in at each step: the relay's capacity, and what is kept besides it.
    pub(crate) capacity_in: Vec<f64>,
    pub(crate) r_in: Vec<f64>,
    pub(crate) r_out: Vec<f64>,
    pub(crate) r_virtual: Vec<f64>,
    queue: Vec<f64>,
    /// What has come in, the queue and the virtual queue, per circuit; scratch of `repair`.
    stock: Vec<[f64; 3]>,
}

impl Plans {
    /// Makes all plans of `problem` zero.
    pub(crate) fn reset(&mut self, problem: &Problem) {
        self.horizon = problem.horizon;
        self.capacity_in.clear();
        self.capacity_in
            .resize(problem.horizon, problem.capacity_in);
        for rates in [&mut self.r_in, &mut self.r_out, &mut self.r_virtual] {
            rates.clear();
            rates.resize(problem.len() * problem.horizon, 0.0);
        }
    }

    /// Takes away what violates a hard constraint, and only that: from each step what its bounds
    /// and queues do not allow, then from all circuits alike what a capacity does not.
    pub(crate) fn repair(&mut self, problem: &Problem) {
        let n = problem.len();
        self.stock.clear();
        self.stock
            .extend(problem.queue.iter().map(|&queue| [0.0, queue, queue]));
        for k in 0..problem.horizon {
            for circuit in 0..n {
                let at = circuit * problem.horizon + k;
                let most = problem.reach[at] - self.stock[circuit][0];
                let most = most.min(problem.pin_bound(circuit, k));
                self.r_in[at] = clip(self.r_in[at], most);
            }
            let pinned = |circuit: usize| problem.is_fixed(circuit, k);
            fit(&mut self.r_in, problem, k, self.capacity_in[k], pinned);
            for circuit in 0..n {
                let at = circuit * problem.horizon + k;
                let [arrived, queue, virtual_queue] = &mut self.stock[circuit];
                *arrived += self.r_in[at];
                *queue += self.r_in[at];
                *virtual_queue += self.r_in[at];
                self.r_out[at] = clip(self.r_out[at], queue.min(problem.sink[at]));
                self.r_virtual[at] = clip(self.r_virtual[at], *virtual_queue);
            }
            fit(&mut self.r_out, problem, k, problem.capacity_out, |_| false);
            if problem.form == Form::Printed {
                fit(
                    &mut self.r_virtual,
                    problem,
                    k,
                    problem.capacity_out,
                    |_| false,
                );
            }
            for circuit in 0..n {
                let at = circuit * problem.horizon + k;
                if problem.form == Form::Coded {
                    self.r_virtual[at] = self.r_out[at];
                }
                self.stock[circuit][1] -= self.r_out[at];
                self.stock[circuit][2] -= self.r_virtual[at];
            }
        }
        self.fill_queues(problem);
    }

    /// Follows the queues from the rates; called when these are final.
    pub(crate) fn fill_queues(&mut self, problem: &Problem) {
        self.queue.clear();
        for circuit in 0..problem.len() {
            let mut queue = problem.queue[circuit];
            self.queue.push(queue);
            let start = circuit * self.horizon;
            for k in start..start + self.horizon {
                queue = (queue + self.r_in[k] - self.r_out[k]).max(0.0);
                self.queue.push(queue);
            }
        }
    }

    /// The plan of one circuit.
    pub(crate) fn get(&self, circuit: usize) -> Plan<'_> {
        let steps = circuit * self.horizon..(circuit + 1) * self.horizon;
        let states = circuit * (self.horizon + 1)..(circuit + 1) * (self.horizon + 1);
        Plan {
            r_in: &self.r_in[steps.clone()],
            r_out: &self.r_out[steps.clone()],
            r_virtual: &self.r_virtual[steps],
            queue: &self.queue[states],
        }
    }
}

/// The value within 0 and `most`.
fn clip(value: f64, most: f64) -> f64 {
    value.min(most).max(0.0)
}

/// Scales the rates of step `k` down to the capacity, but for those that are `kept`.
fn fit(
    rates: &mut [f64],
    problem: &Problem,
    k: usize,
    capacity: f64,
    kept: impl Fn(usize) -> bool,
) {
    let (mut left, mut sum) = (capacity, 0.0);
    for circuit in 0..problem.len() {
        let rate = rates[circuit * problem.horizon + k];
        if kept(circuit) {
            left -= rate;
        } else {
            sum += rate;
        }
    }
    let left = left.max(0.0);
    if sum > left {
        let factor = left / sum;
        for circuit in (0..problem.len()).filter(|&circuit| !kept(circuit)) {
            rates[circuit * problem.horizon + k] *= factor;
        }
    }
}
