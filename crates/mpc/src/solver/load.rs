//! From a problem in cells to the scaled rows of the busy circuits.

use super::core::Core;
use super::lanes::{Lanes, WIDTH};
use super::step::{FAR, GIVE};
use crate::config::Config;
use crate::greedy::is_fixed;
use crate::objective::Weights;
use crate::plan::Plans;
use crate::problem::Problem;

/// Scaled bounds below this leave no room: the rate is held at zero.
const TINY: f64 = 1e-9;
/// Slacks and multipliers start with products of about this, and slacks of at least this.
const START_PRODUCT: f64 = 0.1;
const START_SLACK: f64 = 1.0;

/// What the loader works with.
pub(super) struct Loader<'a> {
    pub(super) config: &'a Config,
    pub(super) problem: &'a Problem,
    /// The plans to start at; the coded form's pinned rates are taken from them.
    pub(super) start: &'a Plans,
    /// Indices of the busy circuits.
    pub(super) busy: &'a [usize],
    /// Cells per scaled unit.
    pub(super) unit: f64,
}

impl Loader<'_> {
    /// Fills `core` with the problem and the initial iterate.
    pub(super) fn load<const D: usize, const H: usize>(&self, core: &mut Core<D, H>) {
        core.reset(self.busy.len());
        let weights = Weights::new(
            self.config,
            self.problem.capacity_in / self.unit,
            self.problem.capacity_out / self.unit,
        );
        self.load_terms(core, &weights);
        for index in 0..core.used * WIDTH {
            self.load_circuit(core, index, weights.penalty);
        }
        for group in &mut core.groups[..core.used] {
            group.total();
        }
        self.start_capacities(core);
        for (terms, &price) in core.terms.iter_mut().zip(&core.capacity.price) {
            terms.price = price;
        }
        self.start_rows(core, weights.penalty);
    }

    fn load_terms<const D: usize, const H: usize>(&self, core: &mut Core<D, H>, weights: &Weights) {
        let mut discount = 1.0;
        for (k, terms) in core.terms.iter_mut().enumerate() {
            let (curvature, pull) = weights.quadratic::<D>();
            terms.curvature = curvature.map(|row| row.map(|value| value * discount));
            terms.pull = pull.map(|value| value * discount);
            terms.give = GIVE / discount;
            terms.share = discount;
            core.capacity.share[k] = discount;
            discount *= self.config.discount;
            core.capacity.limit[k] = [self.problem.capacity_out / self.unit; D];
            core.capacity.limit[k][0] = self.problem.capacity_in / self.unit;
        }
    }

    /// Sets the bounds of one circuit, or of the idle lane that `index` is.
    fn load_circuit<const D: usize, const H: usize>(
        &self,
        core: &mut Core<D, H>,
        index: usize,
        penalty: f64,
    ) {
        let lane = index % WIDTH;
        let steps = &mut core.groups[index / WIDTH].steps;
        let Some(&circuit) = self.busy.get(index) else {
            for step in steps {
                for limit in &mut step.limits[1..] {
                    limit.bound.0[lane] = penalty.min(1.0);
                }
            }
            return;
        };
        let problem = self.problem;
        let scaled = |value: f64| value / self.unit;
        let queue = scaled(problem.queue[circuit]);
        let mut fixed_total = 0.0;
        let mut incoming = false;
        for (k, step) in steps.iter_mut().enumerate() {
            let at = circuit * problem.horizon + k;
            let limit_in = core.capacity.limit[k][0];
            let limit_out = core.capacity.limit[k][1];
            let pin = scaled(problem.pin_bound(circuit, k));
            let reach = scaled(problem.reach[at]);
            let sink = scaled(problem.sink[at]);
            let pinned = is_fixed(problem, circuit, k);
            let free_in = !pinned && limit_in > TINY && pin > TINY && reach - fixed_total > TINY;
            step.rates[0].0[lane] = 0.0;
            if pinned {
                let rate = scaled(self.start.r_in[at]);
                step.rates[0].0[lane] = rate;
                fixed_total += rate;
            }
            incoming |= free_in;
            let filled = queue + fixed_total > TINY || incoming;
            let free_virtual = filled && limit_out > TINY;
            let free_out = free_virtual && sink > TINY;
            let stock = queue + reach;
            let mut set = |row: usize, acts: bool, bound: f64, width: f64| {
                step.rows[row].bound.0[lane] = if acts { bound } else { FAR };
                step.rows[row].slack.0[lane] = START_SLACK.min(0.5 * width);
            };
            set(0, free_in, 0.0, (reach - fixed_total).min(pin));
            set(1, free_out, 0.0, stock.min(sink));
            if D == 3 {
                set(2, free_virtual, 0.0, stock);
            }
            set(D, free_out && sink < limit_out, sink, sink);
            let most_in = limit_in * (k + 1) as f64 + fixed_total;
            set(
                D + 1,
                incoming && reach < most_in,
                reach,
                reach - fixed_total,
            );
            for queue_row in D + 2..=2 * D {
                set(queue_row, filled, queue, stock);
            }
            if H > 2 * D + 1 {
                set(
                    2 * D + 1,
                    free_in && pin < limit_in,
                    pin,
                    pin.min(reach - fixed_total),
                );
            }
            for limit in &mut step.limits[1..] {
                limit.bound.0[lane] = scaled(self.config.queue_limit) - queue;
            }
            let start = [
                self.start.r_in[at],
                self.start.r_out[at],
                self.start.r_virtual[at],
            ];
            let free = [free_in, free_out, free_virtual];
            for i in 0..D {
                if free[i] {
                    step.rates[i].0[lane] = scaled(start[i]);
                }
            }
        }
    }

    /// Starts slacks where the rates leave them, but not too close to zero, and multipliers so that
    /// all products are alike.
    fn start_rows<const D: usize, const H: usize>(&self, core: &mut Core<D, H>, penalty: f64) {
        let terms = &core.terms;
        let largest = terms[0].pull.iter().fold(0.0_f64, |a, &b| a.max(b));
        for group in &mut core.groups[..core.used] {
            let mut discount = 1.0;
            for step in &mut group.steps {
                let product = largest * discount;
                for index in 0..H {
                    let distance = step.distance(index);
                    let row = &mut step.rows[index];
                    row.slack = distance.max(row.slack);
                    row.dual = row.slack.max(Lanes::splat(START_SLACK)).recip() * product;
                }
                let price = penalty * discount;
                for queue in 1..D {
                    let value = step.totals[0] - step.totals[queue];
                    let limit = &mut step.limits[queue];
                    for lane in 0..WIDTH {
                        // On the central path of the limit alone.
                        let distance = limit.bound.0[lane] - value.0[lane];
                        let (slack, excess) = split(distance, price, product);
                        limit.slack.0[lane] = slack;
                        limit.excess.0[lane] = excess;
                        limit.dual.0[lane] = product / slack;
                        limit.spare.0[lane] = product / excess;
                    }
                }
                discount *= self.config.discount;
            }
        }
    }

    /// Starts the prices of used-up capacities where a circuit with a mean rate is content.
    fn start_capacities<const D: usize, const H: usize>(&self, core: &mut Core<D, H>) {
        let count = self.busy.len() as f64;
        for k in 0..core.terms.len() {
            for i in 0..D {
                let mut used = 0.0;
                let mut free = false;
                for group in &core.groups[..core.used] {
                    let step = &group.steps[k];
                    used += step.rates[i].sum();
                    free |= step.rows[i].bound.0.iter().any(|&bound| bound < FAR);
                }
                let limit = core.capacity.limit[k][i];
                let left = limit - used;
                let terms = &core.terms[k];
                let mut marginal = terms.pull[i];
                for j in 0..D {
                    marginal -= terms.curvature[i][j] * core.capacity.limit[k][j] / count;
                }
                let (slack, price) = if !free {
                    (FAR, START_PRODUCT * core.terms[k].share / FAR)
                } else if left > 1e-6 * limit || marginal <= 1e-3 * core.terms[k].share {
                    let slack = left.max(START_SLACK);
                    (slack, START_PRODUCT * core.terms[k].share / slack)
                } else {
                    (START_PRODUCT * core.terms[k].share / marginal, marginal)
                };
                core.capacity.slack[k][i] = slack;
                core.capacity.price[k][i] = price;
            }
        }
    }
}

/// Slack and excess whose difference is `distance`, of which `product / slack + product / excess`
/// is `price`.
fn split(distance: f64, price: f64, product: f64) -> (f64, f64) {
    let ratio = product / price;
    let half = 0.5 * distance.abs();
    // The larger and the smaller: with both, ratio (larger + smaller) = larger smaller.
    let root = (half * half + ratio * ratio).sqrt();
    let larger = half + ratio + root;
    let smaller = ratio + ratio * ratio / (half + root);
    if distance > 0.0 {
        (larger, smaller)
    } else {
        (smaller, larger)
    }
}
