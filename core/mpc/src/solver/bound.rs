//! A lower bound of the objective from any multipliers.
//!
//! The Lagrangian's minimum over the rates bounds the optimum from below, whatever the (positive)
//! multipliers. It separates into the steps of circuits, each a quadratic of two or three rates.

use super::core::Core;
use super::lanes::WIDTH;
use super::step::{FAR, Step};

/// The bound, in scaled units and without the objective's constant.
pub(super) fn lower_bound<const D: usize, const H: usize>(core: &Core<D, H>) -> f64 {
    let mut sum = 0.0;
    for (limits, prices) in core.capacity.limit.iter().zip(&core.capacity.price) {
        for i in 0..D {
            sum -= limits[i] * prices[i];
        }
    }
    for index in 0..core.circuits {
        sum += circuit_bound(core, index);
    }
    sum
}

fn circuit_bound<const D: usize, const H: usize>(core: &Core<D, H>, index: usize) -> f64 {
    let lane = index % WIDTH;
    let mut sum = 0.0;
    let mut on_totals = [0.0; D];
    for (k, step) in core.groups[index / WIDTH].steps.iter().enumerate().rev() {
        sum -= relax_totals(step, lane, &mut on_totals);
        let mut force = on_totals;
        for i in 0..D {
            force[i] += core.terms[k].pull[i] - core.capacity.price[k][i];
        }
        sum += StepProblem::new(step, lane, core.terms[k].curvature, force).minimum();
    }
    sum
}

/// Takes the rows on totals into the Lagrangian: adds their forces, and returns the sum of their
/// multipliers times bounds.
fn relax_totals<const D: usize, const H: usize>(
    step: &Step<D, H>,
    lane: usize,
    on_totals: &mut [f64; D],
) -> f64 {
    let row =
        |row: usize| bound_of(step, row, lane).map(|bound| (step.rows[row].dual.0[lane], bound));
    let (reach, bound) = row(D + 1).unwrap_or_default();
    on_totals[0] -= reach;
    let mut sum = reach * bound;
    for queue in 1..D {
        let (floor, bound) = row(D + 1 + queue).unwrap_or_default();
        let limit = &step.limits[queue];
        let net = floor - limit.dual.0[lane];
        on_totals[0] += net;
        on_totals[queue] -= net;
        sum += floor * bound + limit.dual.0[lane] * limit.bound.0[lane];
    }
    sum
}

/// The bound of a row; none if it is far.
fn bound_of<const D: usize, const H: usize>(
    step: &Step<D, H>,
    row: usize,
    lane: usize,
) -> Option<f64> {
    let bound = step.rows[row].bound.0[lane];
    (bound < FAR).then_some(bound)
}

/// The least of `½ u·curvature·u - force·u` over the rates of a step within bounds.
struct StepProblem<const D: usize> {
    curvature: [[f64; D]; D],
    force: [f64; D],
    least: [f64; D],
    most: [f64; D],
}

impl<const D: usize> StepProblem<D> {
    fn new<const H: usize>(
        step: &Step<D, H>,
        lane: usize,
        curvature: [[f64; D]; D],
        force: [f64; D],
    ) -> Self {
        let (mut least, mut most) = ([0.0; D], [FAR; D]);
        for i in 0..D {
            if bound_of(step, i, lane).is_none() {
                let (rate, play) = (step.rates[i].0[lane], step.play[i].0[lane]);
                (least[i], most[i]) = ((rate - play).max(0.0), rate + play);
            }
        }
        most[1] = bound_of(step, D, lane).unwrap_or(most[1]);
        if H > 2 * D + 1 {
            most[0] = bound_of(step, 2 * D + 1, lane).unwrap_or(most[0]);
        }
        Self {
            curvature,
            force,
            least,
            most,
        }
    }

    fn minimum(&self) -> f64 {
        let mut rates = [0.0; D];
        rates[0] = self.best(0, &rates);
        if D == 2 {
            rates[1] = self.best(1, &rates);
        } else {
            self.set_outgoing(&mut rates);
        }
        self.value(&rates)
    }

    /// The best of one rate for the others given.
    fn best(&self, i: usize, rates: &[f64; D]) -> f64 {
        let mut force = self.force[i];
        for j in (0..D).filter(|&j| j != i) {
            force -= self.curvature[i][j] * rates[j];
        }
        (force / self.curvature[i][i])
            .max(self.least[i])
            .min(self.most[i])
    }

    /// The outgoing and the virtual rate: the best without bounds if it is within them, or the best
    /// on the edges of their rectangle.
    fn set_outgoing(&self, rates: &mut [f64; D]) {
        let h = &self.curvature;
        let (f, g) = (self.force[1], self.force[2]);
        let determinant = h[1][1] * h[2][2] - h[1][2] * h[2][1];
        let mut free = *rates;
        free[1] = (h[2][2] * f - h[1][2] * g) / determinant;
        free[2] = (h[1][1] * g - h[2][1] * f) / determinant;
        let within = |i: usize| free[i] >= self.least[i] && free[i] <= self.most[i];
        if within(1) && within(2) {
            *rates = free;
            return;
        }
        let mut least = f64::INFINITY;
        for (fixed, other) in [(1, 2), (2, 1)] {
            for bound in [self.least[fixed], self.most[fixed]] {
                if bound >= FAR {
                    continue;
                }
                let mut on_edge = *rates;
                on_edge[fixed] = bound;
                on_edge[other] = self.best(other, &on_edge);
                let value = self.value(&on_edge);
                if value < least {
                    least = value;
                    *rates = on_edge;
                }
            }
        }
    }

    fn value(&self, rates: &[f64; D]) -> f64 {
        let mut value = 0.0;
        for i in 0..D {
            let mut slope = 0.0;
            for j in 0..D {
                slope += self.curvature[i][j] * rates[j];
            }
            value += (0.5 * slope - self.force[i]) * rates[i];
        }
        value
    }
}
