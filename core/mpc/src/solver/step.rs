//! The constraints of one step for one lane group, and their barriers.
//!
//! Every constraint is a row `a·v + t = b` with a slack t and a multiplier z, both positive. The
//! columns v are the rates u of the step, and the cells s that have gone by until after it.

use super::lanes::{Lanes, WIDTH};
use super::matrix::{Matrix, Vector, zero};
use super::soft::SoftRow;
use super::trial::Trial;

/// Stands for "no bound": a row whose bound and slack are this large never acts, and its
/// arithmetic stays finite.
pub(super) const FAR: f64 = 1e40;

/// How much every constraint gives way per unit of multiplier, within one iteration. It bounds the
/// weights of active constraints, which would wipe out the rates' own curvature in floating point;
/// later iterations take back what gave way.
pub(super) const GIVE: f64 = 1e-10;

/// A constraint that is never violated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) bound: Lanes,
    pub(super) slack: Lanes,
    pub(super) dual: Lanes,
    weight: Lanes,
    /// One over the multiplier.
    over_dual: Lanes,
    /// What the bound exceeds the value by.
    rest: Lanes,
    /// The predictor's second-order term, then the direction of the slack.
    slack_step: Lanes,
    dual_step: Lanes,
}

impl Row {
    pub(super) const IDLE: Self = Self {
        bound: Lanes([FAR; WIDTH]),
        slack: Lanes([FAR; WIDTH]),
        dual: Lanes::ZERO,
        weight: Lanes::ZERO,
        over_dual: Lanes::ZERO,
        rest: Lanes::ZERO,
        slack_step: Lanes::ZERO,
        dual_step: Lanes::ZERO,
    };
}

/// The objective and the capacities' prices in one step, the same for all circuits.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepTerms<const D: usize> {
    /// The objective is `½ u·curvature·u - pull·u`.
    pub(super) curvature: [[f64; D]; D],
    pub(super) pull: [f64; D],
    pub(super) price: [f64; D],
    /// What constraints give way per unit of multiplier: see [`GIVE`].
    pub(super) give: f64,
    /// The share of products that this step's rows aim at: the step's discount.
    pub(super) share: f64,
}

/// One step of the horizon for a group of circuits. D kinds of rates: in, out and, in the printed
/// form, virtual. H rows: see [`value`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<const D: usize, const H: usize> {
    pub(super) rates: Vector<D>,
    /// How far rates that are held might be from where they are.
    pub(super) play: Vector<D>,
    /// The rates' sums until after this step.
    pub(super) totals: Vector<D>,
    pub(super) rows: [Row; H],
    /// Limits of the queues before the outgoing and the virtual rate; the first is not used.
    pub(super) limits: [SoftRow; D],
    /// The forces of predictor, centring and second-order correction on the rates.
    pub(super) force: Vector<D>,
    pub(super) centring: Vector<D>,
    pub(super) correction: Vector<D>,
}

/// Rows: a lower bound for each rate; the sink's bound of the outgoing rate; the source's bound of
/// what has come in; a floor for each queue; and, if H is `2 D + 2`, the pin of the incoming rate.
#[inline(always)]
fn value<const D: usize>(row: usize, rates: &Vector<D>, totals: &Vector<D>) -> Lanes {
    if row < D {
        -rates[row]
    } else if row == D {
        rates[1]
    } else if row == D + 1 {
        totals[0]
    } else if row <= 2 * D {
        totals[row - D - 1] - totals[0]
    } else {
        rates[0]
    }
}

/// Pushes rates and totals by `-aᵀ force`.
#[inline(always)]
fn scatter<const D: usize>(
    row: usize,
    force: Lanes,
    rates: &mut Vector<D>,
    totals: &mut Vector<D>,
) {
    if row < D {
        rates[row] += force;
    } else if row == D {
        rates[1] -= force;
    } else if row == D + 1 {
        totals[0] -= force;
    } else if row <= 2 * D {
        totals[row - D - 1] -= force;
        totals[0] += force;
    } else {
        rates[0] -= force;
    }
}

/// Adds `weight a aᵀ` of a row on the rates to `stiffness`, of another to `holding`.
#[inline(always)]
fn stiffen<const D: usize>(
    row: usize,
    weight: Lanes,
    stiffness: &mut Matrix<D>,
    holding: &mut Matrix<D>,
) {
    if row < D {
        stiffness[row][row] += weight;
    } else if row == D {
        stiffness[1][1] += weight;
    } else if row == D + 1 {
        holding[0][0] += weight;
    } else if row <= 2 * D {
        couple(row - D - 1, weight, holding);
    } else {
        stiffness[0][0] += weight;
    }
}

#[inline(always)]
fn couple<const D: usize>(queue: usize, weight: Lanes, holding: &mut Matrix<D>) {
    holding[0][0] += weight;
    holding[queue][queue] += weight;
    holding[0][queue] -= weight;
    holding[queue][0] -= weight;
}

/// The Newton matrix of a step: on the rates, on the totals, and the force on the totals.
pub(super) struct Linear<const D: usize> {
    pub(super) stiffness: Matrix<D>,
    pub(super) holding: Matrix<D>,
    pub(super) total_force: Vector<D>,
}

impl<const D: usize, const H: usize> Step<D, H> {
    pub(super) const IDLE: Self = Self {
        rates: [Lanes::ZERO; D],
        play: [Lanes::ZERO; D],
        totals: [Lanes::ZERO; D],
        rows: [Row::IDLE; H],
        limits: [SoftRow::IDLE; D],
        force: [Lanes::ZERO; D],
        centring: [Lanes::ZERO; D],
        correction: [Lanes::ZERO; D],
    };

    /// What slack a row has at the current rates.
    #[inline(always)]
    pub(super) fn distance(&self, row: usize) -> Lanes {
        self.rows[row].bound - value(row, &self.rates, &self.totals)
    }

    /// Linearises the optimality conditions and sets `force` to the rates' part of the predictor's.
    #[inline(always)]
    pub(super) fn linearise(&mut self, terms: &StepTerms<D>) -> Linear<D> {
        let mut stiffness = zero::<D>();
        let mut holding = zero::<D>();
        let mut on_rates = [Lanes::ZERO; D];
        let mut on_totals = [Lanes::ZERO; D];
        for i in 0..D {
            on_rates[i] = Lanes::splat(terms.pull[i] - terms.price[i]);
            for j in 0..D {
                on_rates[i] -= self.rates[j] * terms.curvature[i][j];
                stiffness[i][j] = Lanes::splat(terms.curvature[i][j]);
            }
            // The bound of a fixed rate is far, and holds the rate where it is.
            stiffness[i][i] += self.rows[i].bound;
        }
        for index in 0..H {
            let value = value(index, &self.rates, &self.totals);
            let row = &mut self.rows[index];
            row.over_dual = row.dual.recip();
            row.weight = (row.slack * row.over_dual + Lanes::splat(terms.give)).recip();
            let missing = (row.bound - value) - row.slack;
            row.rest = row.slack + missing.without_noise(row.bound);
            let force = row.dual - row.weight * row.rest;
            stiffen(index, row.weight, &mut stiffness, &mut holding);
            scatter(index, force, &mut on_rates, &mut on_totals);
        }
        for queue in 1..D {
            let limit = &mut self.limits[queue];
            let force = limit.linearise(self.totals[0] - self.totals[queue], terms.give);
            couple(queue, limit.weight, &mut holding);
            on_totals[0] -= force;
            on_totals[queue] += force;
        }
        self.force = on_rates;
        Linear {
            stiffness,
            holding,
            total_force: on_totals,
        }
    }

    /// Tries the predictor's direction; sets the rates' part of the forces that follow from it and
    /// returns the totals' part.
    #[inline(always)]
    pub(super) fn predict(
        &mut self,
        rates: &Vector<D>,
        totals: &Vector<D>,
        share: f64,
        trial: &mut Trial,
    ) -> [Vector<D>; 2] {
        self.centring = [Lanes::ZERO; D];
        self.correction = [Lanes::ZERO; D];
        let mut centring = [Lanes::ZERO; D];
        let mut correction = [Lanes::ZERO; D];
        for index in 0..H {
            let value = value(index, rates, totals);
            let row = &mut self.rows[index];
            let dual_step = row.weight * (value - row.rest);
            let relative = dual_step * row.over_dual;
            let less = Lanes::splat(1.0) + relative;
            let product = -(row.slack * less * dual_step);
            trial.products += product;
            trial.decrease = trial.decrease.max(-relative).max(less);
            row.slack_step = product;
            let centre = row.weight * row.over_dual;
            scatter(index, centre * share, &mut self.centring, &mut centring);
            scatter(
                index,
                -(product * centre),
                &mut self.correction,
                &mut correction,
            );
        }
        for queue in 1..D {
            let value = totals[0] - totals[queue];
            let [centre, correct] = self.limits[queue].predict(value, trial);
            centring[0] -= centre * share;
            centring[queue] += centre * share;
            correction[0] -= correct;
            correction[queue] += correct;
        }
        [centring, correction]
    }

    /// What is left of the forces on rates and totals after a full step in a direction.
    #[inline(always)]
    pub(super) fn leftover(
        &self,
        terms: &StepTerms<D>,
        rates: &Vector<D>,
        totals: &Vector<D>,
        target: f64,
    ) -> [Vector<D>; 2] {
        let mut on_rates = [Lanes::ZERO; D];
        let mut on_totals = [Lanes::ZERO; D];
        for i in 0..D {
            on_rates[i] = Lanes::splat(terms.pull[i] - terms.price[i]);
            for j in 0..D {
                on_rates[i] -= (self.rates[j] + rates[j]) * terms.curvature[i][j];
            }
            on_rates[i] -= self.rows[i].bound * rates[i];
        }
        for index in 0..H {
            let row = &self.rows[index];
            let aim = (Lanes::splat(target) - row.slack_step) * row.over_dual;
            let step = row.weight * (value(index, rates, totals) - row.rest + aim);
            scatter(index, row.dual + step, &mut on_rates, &mut on_totals);
        }
        for queue in 1..D {
            let limit = &self.limits[queue];
            let dual = limit.dual + limit.dual_step(totals[0] - totals[queue], target);
            on_totals[0] -= dual;
            on_totals[queue] += dual;
        }
        [on_rates, on_totals]
    }

    /// Sets the direction of slacks and multipliers from that of the rates.
    #[inline(always)]
    pub(super) fn correct(
        &mut self,
        rates: &Vector<D>,
        totals: &Vector<D>,
        target: f64,
        trial: &mut Trial,
    ) {
        for index in 0..H {
            let value = value(index, rates, totals);
            let row = &mut self.rows[index];
            let aim = (Lanes::splat(target) - row.slack_step) * row.over_dual;
            row.dual_step = row.weight * (value - row.rest + aim);
            let relative = row.dual_step * row.over_dual;
            row.slack_step = aim - row.slack - row.slack * relative;
            trial.decrease = trial
                .decrease
                .max(-relative)
                .max(-(row.slack_step * row.slack.recip()));
        }
        for queue in 1..D {
            self.limits[queue].correct(totals[0] - totals[queue], target, trial);
        }
    }

    /// Goes along the direction.
    #[inline(always)]
    pub(super) fn advance(&mut self, length: f64) {
        for row in &mut self.rows {
            row.slack += row.slack_step * length;
            row.dual += row.dual_step * length;
        }
        for limit in &mut self.limits[1..] {
            limit.advance(length);
        }
    }

    /// The sum of slacks times multipliers.
    #[inline(always)]
    pub(super) fn complementarity(&self) -> Lanes {
        let mut sum = Lanes::ZERO;
        for row in &self.rows {
            sum += row.slack * row.dual;
        }
        for limit in &self.limits[1..] {
            sum += limit.slack * limit.dual + limit.excess * limit.spare;
        }
        sum
    }
}
