//! Limits that may be exceeded at a price.

use super::lanes::Lanes;
use super::trial::Trial;

/// A constraint `a·v - excess + slack = bound` whose excess has a price: `dual + spare = price`,
/// where spare is the multiplier of the excess being positive.
#[derive(Clone, Copy, Debug)]
pub(super) struct SoftRow {
    pub(super) bound: Lanes,
    pub(super) slack: Lanes,
    pub(super) dual: Lanes,
    pub(super) excess: Lanes,
    pub(super) spare: Lanes,
    pub(super) weight: Lanes,
    over_dual: Lanes,
    over_spare: Lanes,
    /// What the bound exceeds the value by.
    distance: Lanes,
    /// The predictor's second-order terms, then the direction.
    slack_step: Lanes,
    dual_step: Lanes,
    excess_step: Lanes,
}

impl SoftRow {
    pub(super) const IDLE: Self = Self {
        bound: Lanes::ZERO,
        slack: Lanes::ZERO,
        dual: Lanes::ZERO,
        excess: Lanes::ZERO,
        spare: Lanes::ZERO,
        weight: Lanes::ZERO,
        over_dual: Lanes::ZERO,
        over_spare: Lanes::ZERO,
        distance: Lanes::ZERO,
        slack_step: Lanes::ZERO,
        dual_step: Lanes::ZERO,
        excess_step: Lanes::ZERO,
    };
}

impl SoftRow {
    /// Sets the weight, and returns the force that the row exerts if the rates stay.
    #[inline(always)]
    pub(super) fn linearise(&mut self, value: Lanes, give: f64) -> Lanes {
        let rest = self.slack - self.excess;
        let missing = (self.bound - value) - rest;
        self.distance = rest + missing.without_noise(self.bound);
        self.over_dual = self.dual.recip();
        self.over_spare = self.spare.recip();
        let compliance = self.slack * self.over_dual + self.excess * self.over_spare;
        self.weight = (compliance + Lanes::splat(give)).recip();
        self.dual - self.weight * self.distance
    }

    /// Tries the predictor's direction; returns the forces of centring and correction.
    #[inline(always)]
    pub(super) fn predict(&mut self, value: Lanes, trial: &mut Trial) -> [Lanes; 2] {
        let one = Lanes::splat(1.0);
        let dual_step = self.weight * (value - self.distance);
        let of_dual = dual_step * self.over_dual;
        let of_spare = dual_step * self.over_spare;
        let of_slack = -(one + of_dual);
        let of_excess = of_spare - one;
        let slack_product = self.slack * of_slack * dual_step;
        let excess_product = -(self.excess * of_excess * dual_step);
        trial.products += slack_product + excess_product;
        trial.decrease = trial
            .decrease
            .max(-of_slack)
            .max(-of_dual)
            .max(-of_excess)
            .max(of_spare);
        self.slack_step = slack_product;
        self.excess_step = excess_product;
        let centre = self.weight * (self.over_dual - self.over_spare);
        let correct =
            self.weight * (excess_product * self.over_spare - slack_product * self.over_dual);
        [centre, correct]
    }

    /// The step of the multiplier for a step of the value.
    #[inline(always)]
    pub(super) fn dual_step(&self, value: Lanes, target: f64) -> Lanes {
        let target = Lanes::splat(target);
        let slack_aim = (target - self.slack_step) * self.over_dual;
        let excess_aim = (target - self.excess_step) * self.over_spare;
        self.weight * (value - self.distance + slack_aim - excess_aim)
    }

    /// Sets the final direction.
    #[inline(always)]
    pub(super) fn correct(&mut self, value: Lanes, target: f64, trial: &mut Trial) {
        self.dual_step = self.dual_step(value, target);
        let target = Lanes::splat(target);
        let slack_aim = target - self.slack * self.dual - self.slack_step;
        let excess_aim = target - self.excess * self.spare - self.excess_step;
        self.slack_step = (slack_aim - self.slack * self.dual_step) * self.over_dual;
        self.excess_step = (excess_aim + self.excess * self.dual_step) * self.over_spare;
        trial.decrease = trial
            .decrease
            .max(-(self.dual_step * self.over_dual))
            .max(self.dual_step * self.over_spare)
            .max(-(self.slack_step * self.slack.recip()))
            .max(-(self.excess_step * self.excess.recip()));
    }

    /// Goes along the direction.
    #[inline(always)]
    pub(super) fn advance(&mut self, length: f64) {
        self.slack += self.slack_step * length;
        self.dual += self.dual_step * length;
        self.spare -= self.dual_step * length;
        self.excess += self.excess_step * length;
    }
}
