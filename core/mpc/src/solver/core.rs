//! Mehrotra's predictor-corrector method over groups of circuits and the capacities between them.

use super::capacity::Capacity;
use super::group::{Group, Sums};
use super::lanes::{Lanes, WIDTH};
use super::step::{Step, StepTerms};
use super::trial::Trial;

/// How far to go towards the boundary.
const FRACTION: f64 = 0.995;

/// Directions that aim at products below this are refined.
const REFINE: f64 = 1e-2;

/// The scaled problem of the busy circuits and the current iterate.
#[derive(Clone, Debug)]
pub(super) struct Core<const D: usize, const H: usize> {
    pub(super) groups: Vec<Group<D, H>>,
    /// Groups in use; the others are kept for larger problems.
    pub(super) used: usize,
    /// Busy circuits.
    pub(super) circuits: usize,
    pub(super) terms: Vec<StepTerms<D>>,
    pub(super) capacity: Capacity<D>,
    /// Slacks times multipliers of the groups' rows.
    in_groups: f64,
    sums: Sums<D>,
    totals: Vec<[f64; D]>,
}

impl<const D: usize, const H: usize> Core<D, H> {
    pub(super) fn new(horizon: usize) -> Self {
        let terms = StepTerms {
            curvature: [[0.0; D]; D],
            pull: [0.0; D],
            price: [0.0; D],
            give: 0.0,
            share: 0.0,
        };
        Self {
            groups: Vec::new(),
            used: 0,
            circuits: 0,
            terms: vec![terms; horizon],
            capacity: Capacity::new(horizon),
            in_groups: 0.0,
            sums: Sums::new(horizon),
            totals: vec![[0.0; D]; horizon],
        }
    }

    /// Makes room for circuits, all groups' steps idle.
    pub(super) fn reset(&mut self, circuits: usize) {
        self.circuits = circuits;
        self.used = circuits.div_ceil(WIDTH);
        let horizon = self.terms.len();
        while self.groups.len() < self.used {
            self.groups.push(Group::new(horizon));
        }
        for group in &mut self.groups[..self.used] {
            group.steps.fill(Step::IDLE);
        }
    }

    /// Slacks times multipliers over all rows, per busy circuit: the gap where rates and
    /// multipliers are feasible.
    pub(super) fn complementarity(&self) -> f64 {
        (self.in_groups + self.capacity.complementarity()) / self.circuits as f64
    }

    /// Takes the sum over the groups' rows from the iterate that was loaded.
    pub(super) fn start(&mut self) {
        let steps = self.groups[..self.used]
            .iter()
            .flat_map(|group| &group.steps);
        let mut sum = Lanes::ZERO;
        for step in steps {
            sum += step.complementarity();
        }
        self.in_groups = sum.sum();
    }

    /// Products of slack and multiplier in [`complementarity`](Self::complementarity), per circuit.
    fn products_per_circuit(&self) -> f64 {
        let in_lanes = self.used * WIDTH * (H + 2 * (D - 1));
        let shares: f64 = self.terms.iter().map(|terms| terms.share).sum();
        shares * (in_lanes + D) as f64 / self.circuits as f64
    }

    /// One iteration; returns the length of the step taken, at most 1.
    pub(super) fn iterate(&mut self) -> f64 {
        let complementarity = self.complementarity();
        self.factorise();
        let mut trial = Trial::START;
        self.capacity.predict(&self.sums.predictor);
        for group in &mut self.groups[..self.used] {
            group.predict(
                &self.capacity.price_step,
                &self.terms,
                &mut self.sums,
                &mut trial,
            );
        }
        let length = step_length(trial.decrease.largest().max(self.capacity.decrease()), 1.0);
        let products = (trial.products.sum() + self.capacity.products()) / self.circuits as f64;
        let reached = (1.0 - length) * complementarity + length * length * products;
        let ratio = (reached / complementarity).clamp(0.0, 1.0);
        let target = ratio * ratio * ratio * complementarity / self.products_per_circuit();
        self.correct(target)
    }

    fn factorise(&mut self) {
        self.sums.clear();
        self.totals.fill([0.0; D]);
        for (k, terms) in self.terms.iter_mut().enumerate() {
            terms.price = self.capacity.price[k];
        }
        for group in &mut self.groups[..self.used] {
            for (total, step) in self.totals.iter_mut().zip(&group.steps) {
                for (total, rates) in total.iter_mut().zip(&step.rates) {
                    *total += rates.sum();
                }
            }
            group.factorise(&self.terms, &mut self.sums);
        }
        self.capacity.set_rest(&self.totals);
        self.capacity.factorise(&self.sums.responses);
    }

    fn correct(&mut self, target: f64) -> f64 {
        let sums = &self.sums;
        let rates = |k: usize, i: usize| {
            let centring = sums.centring[k][i].sum() * target;
            sums.predictor[k][i].sum() + centring + sums.correction[k][i].sum()
        };
        self.capacity.correct(rates, target);
        for (k, terms) in self.terms.iter_mut().enumerate() {
            for i in 0..D {
                terms.price[i] = self.capacity.price[k][i] + self.capacity.price_step[k][i];
            }
        }
        let refine = target < REFINE;
        let mut trial = Trial::START;
        for group in &mut self.groups[..self.used] {
            group.correct(
                &self.capacity.price_step,
                target,
                &self.terms,
                refine,
                &mut trial,
            );
        }
        let decrease = trial.decrease.largest().max(self.capacity.decrease());
        let length = step_length(decrease, FRACTION);
        let mut sum = Lanes::ZERO;
        for group in &mut self.groups[..self.used] {
            sum += group.advance(length);
        }
        self.in_groups = sum.sum();
        self.capacity.advance(length);
        length
    }
}

/// The longest step that takes nothing further than `fraction` of the way to zero.
fn step_length(decrease: f64, fraction: f64) -> f64 {
    if decrease > fraction {
        fraction / decrease
    } else {
        1.0
    }
}
