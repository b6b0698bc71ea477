//! The problem with all variables of (25), nothing eliminated, given to Clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use hopflow_mpc::greedy::water_level;
use hopflow_mpc::{Config, Form};

use super::instance::{Circuit, Instance};

/// Clarabel's plans.
pub struct Solution {
    pub objective: f64,
    /// Rates in, out and virtual, circuit-major.
    pub r_in: Vec<f64>,
    pub r_out: Vec<f64>,
    pub r_virtual: Vec<f64>,
    pub solved: bool,
}

/// Variables of a circuit and step.
const VARIABLES: usize = 10;
const IN: usize = 0;
const OUT: usize = 1;
const VIRTUAL: usize = 2;
const EXTRA: usize = 3;
const MINUS: usize = 4;
const QUEUE: usize = 5;
const VIRTUAL_QUEUE: usize = 6;
const SOURCE: usize = 7;
const EXCESS: usize = 8;
const VIRTUAL_EXCESS: usize = 9;

/// Rows as triplets; equalities and inequalities `a·v <= b` apart.
#[derive(Default)]
struct Rows {
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
}

impl Rows {
    fn push(&mut self, terms: &[(usize, f64)], bound: f64) {
        let row = self.bounds.len();
        self.entries
            .extend(terms.iter().map(|&(column, value)| (row, column, value)));
        self.bounds.push(bound);
    }
}

struct Model<'a> {
    config: &'a Config,
    instance: &'a Instance,
    /// Rates and queues are divided by this, so that the solver's tolerances mean the same.
    unit: f64,
    pins: Vec<f64>,
    equal: Rows,
    at_most: Rows,
}

/// A solver for the instance, ready to run, and the scale and constant of its objective.
pub struct Prepared {
    solver: DefaultSolver<f64>,
    unit: f64,
    constant: f64,
    circuits: usize,
    horizon: usize,
}

pub fn settings() -> DefaultSettings<f64> {
    DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-9)
        .tol_gap_rel(1e-12)
        .tol_feas(1e-11)
        .max_iter(200)
        .build()
        .expect("the settings are allowed")
}

pub fn prepare(config: &Config, instance: &Instance, settings: DefaultSettings<f64>) -> Prepared {
    let unit = instance.mean_rate().max(1e-3);
    let mut model = Model {
        config,
        instance,
        unit,
        pins: filled_pins(config, instance),
        equal: Rows::default(),
        at_most: Rows::default(),
    };
    model.build(settings)
}

pub fn solve(config: &Config, instance: &Instance) -> Solution {
    prepare(config, instance, settings()).solve()
}

impl Prepared {
    pub fn solve(&mut self) -> Solution {
        self.solver.solve();
        let solution = &self.solver.solution;
        let pick = |variable: usize| -> Vec<f64> {
            (0..self.circuits * self.horizon)
                .map(|step| solution.x[step * VARIABLES + variable] * self.unit)
                .collect()
        };
        Solution {
            objective: (solution.obj_val + self.constant) * self.unit * self.unit,
            r_in: pick(IN),
            r_out: pick(OUT),
            r_virtual: pick(VIRTUAL),
            solved: matches!(
                solution.status,
                SolverStatus::Solved | SolverStatus::AlmostSolved
            ),
        }
    }
}

/// The pins of the coded form, water-filled where there are too many.
fn filled_pins(config: &Config, instance: &Instance) -> Vec<f64> {
    let mut pins = vec![0.0; instance.circuits.len() * config.pin];
    for k in 0..config.pin {
        let caps: Vec<f64> = instance
            .circuits
            .iter()
            .map(|circuit| {
                if circuit.is_pinned(k, config) {
                    circuit.source_rate[k]
                } else {
                    0.0
                }
            })
            .collect();
        let level = water_level(&caps, instance.capacity_in);
        for (circuit, cap) in caps.iter().enumerate() {
            pins[circuit * config.pin + k] = cap.min(level);
        }
    }
    pins
}

impl Model<'_> {
    fn column(&self, circuit: usize, k: usize, variable: usize) -> usize {
        (circuit * self.config.horizon + k) * VARIABLES + variable
    }

    fn build(&mut self, settings: DefaultSettings<f64>) -> Prepared {
        let instance = self.instance;
        for (index, circuit) in instance.circuits.iter().enumerate() {
            self.circuit(index, circuit);
        }
        for k in 0..self.config.horizon {
            let mut kinds = vec![(IN, self.capacity_in(k)), (OUT, instance.capacity_out)];
            if self.config.form == Form::Printed {
                kinds.push((VIRTUAL, instance.capacity_out));
            }
            for (variable, capacity) in kinds {
                let terms: Vec<_> = (0..instance.circuits.len())
                    .map(|circuit| (self.column(circuit, k, variable), 1.0))
                    .collect();
                self.at_most.push(&terms, capacity / self.unit);
            }
        }
        let (quadratic, linear, constant) = self.objective();
        let (rows, bounds, equalities) = self.rows();
        let columns = linear.len();
        let cones = [
            SupportedConeT::ZeroConeT(equalities),
            SupportedConeT::NonnegativeConeT(bounds.len() - equalities),
        ];
        let p = from_triplets(columns, columns, quadratic);
        let a = from_triplets(bounds.len(), columns, rows);
        let solver = DefaultSolver::new(&p, &linear, &a, &bounds, &cones, settings)
            .expect("the problem is well formed");
        Prepared {
            solver,
            unit: self.unit,
            constant,
            circuits: instance.circuits.len(),
            horizon: self.config.horizon,
        }
    }

    /// The capacity for incoming cells, and what is kept for circuits without pins beyond it.
    fn capacity_in(&self, k: usize) -> f64 {
        let (config, capacity) = (self.config, self.instance.capacity_in);
        if config.form == Form::Printed || k >= config.pin {
            return capacity;
        }
        let busy = |circuit: &&Circuit| circuit.is_busy(config.horizon);
        let circuits: Vec<_> = self.instance.circuits.iter().filter(busy).collect();
        let free = circuits
            .iter()
            .filter(|circuit| !circuit.is_pinned(k, config))
            .count();
        let kept = config.reserve * capacity * free as f64 / circuits.len().max(1) as f64;
        let pinned: f64 = self.pins.iter().skip(k).step_by(config.pin).sum();
        capacity.max(pinned + kept)
    }

    fn circuit(&mut self, index: usize, circuit: &Circuit) {
        let printed = self.config.form == Form::Printed;
        let initial = circuit.queue / self.unit;
        let mut possible = 0.0;
        for k in 0..self.config.horizon {
            let at = |variable: usize| self.column(index, k, variable);
            let before = |variable: usize| self.column(index, k - 1, variable);
            let (rate, sink) = (
                circuit.source_rate[k] / self.unit,
                circuit.sink_rate[k] / self.unit,
            );
            let (equal, at_most) = (&mut Rows::default(), &mut Rows::default());
            // (25a)-(25c) from the initial conditions (25n).
            for (queue, out) in [(QUEUE, OUT), (VIRTUAL_QUEUE, VIRTUAL)] {
                let mut terms = vec![(at(queue), 1.0), (at(IN), -1.0), (at(out), 1.0)];
                if k > 0 {
                    terms.push((before(queue), -1.0));
                }
                equal.push(&terms, if k == 0 { initial } else { 0.0 });
            }
            let mut terms = vec![(at(SOURCE), 1.0), (at(IN), -1.0)];
            if k > 0 {
                terms.push((before(SOURCE), -1.0));
            }
            equal.push(&terms, -rate);
            // (25d)-(25f), (25m), (25g), (25j).
            at_most.push(&[(at(SOURCE), 1.0)], circuit.source_queue[k] / self.unit);
            let limit = self.config.queue_limit / self.unit;
            for (queue, excess) in [(QUEUE, EXCESS), (VIRTUAL_QUEUE, VIRTUAL_EXCESS)] {
                at_most.push(&[(at(queue), -1.0)], 0.0);
                at_most.push(&[(at(queue), 1.0), (at(excess), -1.0)], limit);
                at_most.push(&[(at(excess), -1.0)], 0.0);
            }
            for variable in [IN, OUT, VIRTUAL] {
                at_most.push(&[(at(variable), -1.0)], 0.0);
            }
            at_most.push(&[(at(OUT), 1.0)], sink);
            if printed {
                // (24) and (25i).
                let target = self.config.r_max * self.instance.capacity_out / self.unit;
                equal.push(
                    &[
                        (at(VIRTUAL), 1.0),
                        (at(OUT), -1.0),
                        (at(EXTRA), 1.0),
                        (at(MINUS), 1.0),
                    ],
                    target,
                );
                possible += circuit.source_potential[k] / self.unit;
                let terms: Vec<_> = (0..=k).map(|l| (self.column(index, l, IN), 1.0)).collect();
                at_most.push(&terms, possible);
                if circuit.is_pinned(k, self.config) {
                    at_most.push(&[(at(IN), 1.0)], rate);
                }
            } else {
                equal.push(&[(at(VIRTUAL), 1.0), (at(OUT), -1.0)], 0.0);
                if circuit.is_pinned(k, self.config) {
                    equal.push(
                        &[(at(IN), 1.0)],
                        self.pins[index * self.config.pin + k] / self.unit,
                    );
                }
            }
            append(&mut self.equal, equal);
            append(&mut self.at_most, at_most);
        }
    }

    /// Quadratic and linear coefficients and the constant.
    fn objective(&self) -> (Vec<(usize, usize, f64)>, Vec<f64>, f64) {
        let config = self.config;
        let target_in = config.r_max * self.instance.capacity_in / self.unit;
        let target_out = config.r_max * self.instance.capacity_out / self.unit;
        let printed = config.form == Form::Printed;
        let weight_in = if printed { 1.0 } else { 10.0 };
        let price = 4.0 * (weight_in + 2.0) * target_in.max(target_out);
        let mut quadratic = Vec::new();
        let mut linear = vec![0.0; self.instance.circuits.len() * config.horizon * VARIABLES];
        let mut constant = 0.0;
        for circuit in 0..self.instance.circuits.len() {
            let mut discount = 1.0;
            for k in 0..config.horizon {
                let at = |variable: usize| self.column(circuit, k, variable);
                for (variable, weight, target) in
                    [(IN, weight_in, target_in), (OUT, 1.0, target_out)]
                {
                    quadratic.push((at(variable), at(variable), 2.0 * weight * discount));
                    linear[at(variable)] = -2.0 * weight * discount * target;
                    constant += weight * discount * target * target;
                }
                if printed {
                    quadratic.push((at(EXTRA), at(EXTRA), 2.0 * discount));
                    quadratic.push((at(MINUS), at(MINUS), 2.0 * discount));
                    linear[at(VIRTUAL_EXCESS)] = price * discount;
                }
                linear[at(EXCESS)] = price * discount;
                discount *= config.discount;
            }
        }
        (quadratic, linear, constant)
    }

    fn rows(&self) -> (Vec<(usize, usize, f64)>, Vec<f64>, usize) {
        let equalities = self.equal.bounds.len();
        let mut entries = self.equal.entries.clone();
        let below = self.at_most.entries.iter();
        entries.extend(below.map(|&(row, column, value)| (row + equalities, column, value)));
        let mut bounds = self.equal.bounds.clone();
        bounds.extend(&self.at_most.bounds);
        (entries, bounds, equalities)
    }
}

fn append(rows: &mut Rows, more: &Rows) {
    let offset = rows.bounds.len();
    let entries = more.entries.iter();
    rows.entries
        .extend(entries.map(|&(row, column, value)| (row + offset, column, value)));
    rows.bounds.extend(&more.bounds);
}

fn from_triplets(rows: usize, columns: usize, entries: Vec<(usize, usize, f64)>) -> CscMatrix<f64> {
    let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, value) in entries {
        i.push(row);
        j.push(column);
        v.push(value);
    }
    CscMatrix::new_from_triplets(rows, columns, i, j, v)
}
