//! How far a direction leads, and what it costs the products of slacks and multipliers.

use super::lanes::Lanes;

/// What is summed up while a direction is tried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The largest relative decrease of a slack or multiplier: one over the longest step.
    pub(super) decrease: Lanes,
    /// The sum of the products of the slacks' and the multipliers' steps.
    pub(super) products: Lanes,
}

impl Trial {
    pub(super) const START: Self = Self {
        decrease: Lanes::ZERO,
        products: Lanes::ZERO,
    };
}
