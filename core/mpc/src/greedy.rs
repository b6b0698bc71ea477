//! Plans made step by step, by water-filling.
//!
//! In each step the capacities are shared as evenly as the circuits' bounds allow, as if there were
//! no later steps. With the paper's discount of 1/3 that is close to the optimum, at a fraction of
//! its cost; it is where the solver starts, and what it returns when its budget is spent.

use crate::config::{Config, Form};
use crate::plan::{Plan, Plans};
use crate::problem::Problem;

/// The level at which `Σ min(caps, level)` is `capacity`; infinite if the caps' sum is no more.
pub fn water_level(caps: &[f64], capacity: f64) -> f64 {
    let mut level = 0.0;
    // The level only rises and each round but the last drops a circuit below it.
    for _ in 0..=caps.len() {
        let (mut below, mut above) = (0.0, 0_u32);
        for &cap in caps {
            if cap <= level {
                below += cap;
            } else {
                above += 1;
            }
        }
        if above == 0 {
            return f64::INFINITY;
        }
        let next = (capacity - below) / f64::from(above);
        if next <= level {
            break;
        }
        level = next;
    }
    level
}

/// A maker of greedy plans.
#[derive(Clone, Debug)]
pub struct Greedy {
    queue_limit: f64,
    plans: Plans,
    /// Queue, virtual queue and cells that have come in, per circuit.
    queue: Vec<f64>,
    virtual_queue: Vec<f64>,
    arrived: Vec<f64>,
    caps: Vec<f64>,
    pinned: Vec<f64>,
}

impl Greedy {
    /// A maker for problems of this configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            queue_limit: config.queue_limit,
            plans: Plans::default(),
            queue: Vec::new(),
            virtual_queue: Vec::new(),
            arrived: Vec::new(),
            caps: Vec::new(),
            pinned: Vec::new(),
        }
    }

    /// Plans all circuits. No hard constraint is violated; a queue within the limit stays in it,
    /// unless the coded form pins more to it.
    pub fn solve(&mut self, problem: &Problem) {
        self.plans.reset(problem);
        self.queue.clone_from(&problem.queue);
        self.virtual_queue.clone_from(&problem.queue);
        self.arrived.clear();
        self.arrived.resize(problem.len(), 0.0);
        for k in 0..problem.horizon {
            self.plan_in(problem, k);
            self.plan_out(problem, k);
            self.plan_virtual(problem, k);
        }
        self.plans.fill_queues(problem);
    }

    /// The plan of one circuit.
    pub fn plan(&self, circuit: usize) -> Plan<'_> {
        self.plans.get(circuit)
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.plans
    }

    /// Most that can come in: by the source, by the pin.
    fn cap_in(&self, problem: &Problem, circuit: usize, k: usize) -> f64 {
        let reach = problem.reach[circuit * problem.horizon + k] - self.arrived[circuit];
        reach.min(problem.pin_bound(circuit, k)).max(0.0)
    }

    fn plan_in(&mut self, problem: &Problem, k: usize) {
        let n = problem.len();
        let fixed = |circuit: usize| problem.is_fixed(circuit, k);
        // What could go out if as much as possible came in makes room for what comes in.
        self.caps.clear();
        for circuit in 0..n {
            let most = self.queue[circuit] + self.cap_in(problem, circuit, k);
            self.caps
                .push(problem.sink[circuit * problem.horizon + k].min(most));
        }
        let level = water_level(&self.caps, problem.capacity_out);
        for circuit in 0..n {
            let leaves = self.caps[circuit].min(level);
            let room = (self.queue_limit - self.queue[circuit] + leaves).max(0.0);
            let cap = self.cap_in(problem, circuit, k);
            self.caps[circuit] = if fixed(circuit) { cap } else { cap.min(room) };
        }
        let mut capacity = problem.capacity_in;
        if problem.form == Form::Coded && k < problem.pin {
            let (left, kept) = (self.fill_pins(problem, k, capacity), problem.kept(k));
            // The pinned circuits are served; the others share what is left, or what is kept for them.
            capacity = left.max(kept);
            self.plans.capacity_in[k] += (kept - left).max(0.0);
            for circuit in 0..n {
                if fixed(circuit) {
                    self.caps[circuit] = 0.0;
                }
            }
        }
        let level = water_level(&self.caps, capacity);
        for circuit in 0..n {
            self.plans.r_in[circuit * problem.horizon + k] += self.caps[circuit].min(level);
        }
        for circuit in 0..n {
            self.arrived[circuit] += self.plans.r_in[circuit * problem.horizon + k];
        }
    }

    /// Serves the pinned circuits, evenly if there is not enough for all; returns what is left.
    fn fill_pins(&mut self, problem: &Problem, k: usize, capacity: f64) -> f64 {
        self.pinned.clear();
        self.pinned
            .extend(self.caps.iter().enumerate().map(|(circuit, &cap)| {
                if problem.is_fixed(circuit, k) {
                    cap
                } else {
                    0.0
                }
            }));
        let level = water_level(&self.pinned, capacity);
        let mut left = capacity;
        for (circuit, cap) in self.pinned.iter().enumerate() {
            let rate = cap.min(level);
            self.plans.r_in[circuit * problem.horizon + k] = rate;
            left -= rate;
        }
        left.max(0.0)
    }

    fn plan_out(&mut self, problem: &Problem, k: usize) {
        self.caps.clear();
        for (circuit, queue) in self.queue.iter().enumerate() {
            let step = circuit * problem.horizon + k;
            self.caps
                .push(problem.sink[step].min(queue + self.plans.r_in[step]));
        }
        let level = water_level(&self.caps, problem.capacity_out);
        for (circuit, queue) in self.queue.iter_mut().enumerate() {
            let step = circuit * problem.horizon + k;
            let rate = self.caps[circuit].min(level);
            self.plans.r_out[step] = rate;
            *queue = (*queue + self.plans.r_in[step] - rate).max(0.0);
        }
    }

    /// The virtual rate is drawn to a constant above the real one.
    fn plan_virtual(&mut self, problem: &Problem, k: usize) {
        if problem.form == Form::Coded {
            for circuit in 0..problem.len() {
                let step = circuit * problem.horizon + k;
                self.plans.r_virtual[step] = self.plans.r_out[step];
            }
            return;
        }
        let mut capacity = problem.capacity_out;
        self.caps.clear();
        for (circuit, queue) in self.virtual_queue.iter().enumerate() {
            let step = circuit * problem.horizon + k;
            let most = queue + self.plans.r_in[step];
            let base = self.plans.r_out[step].min(most);
            self.plans.r_virtual[step] = base;
            self.caps.push((most - base).max(0.0));
            capacity -= base;
        }
        let level = water_level(&self.caps, capacity.max(0.0));
        for (circuit, queue) in self.virtual_queue.iter_mut().enumerate() {
            let step = circuit * problem.horizon + k;
            self.plans.r_virtual[step] += self.caps[circuit].min(level);
            *queue = (*queue + self.plans.r_in[step] - self.plans.r_virtual[step]).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_is_filled_to_one_level_or_to_the_caps() {
        assert_eq!(water_level(&[1.0, 5.0, 9.0], 7.0), 3.0);
        assert_eq!(water_level(&[1.0, 5.0, 9.0], 15.0), f64::INFINITY);
        assert_eq!(water_level(&[1.0, 5.0], 0.0), 0.0);
        assert_eq!(water_level(&[], 1.0), f64::INFINITY);
    }
}
