//! Experiments that need no runs of a scenario: computed, or simulated where a run's results do not
//! say enough.

use std::fmt::Debug;

use crate::{Expectations, Measured};

/// What is computed from seeds.
pub trait Computation: Debug + Sync {
    /// How many seeds the values are means over; one if no seed changes them.
    fn seeds(&self) -> u32;

    /// All values of these seeds, the same on every machine.
    fn compute(&self, expectations: &Expectations, seeds: &[u64]) -> Vec<Computed>;
}

/// A computed value.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The curve that it belongs to: what the data file calls a transport.
    pub curve: String,
    /// The seed that it was computed from.
    pub seed: u64,
    /// The value.
    pub measured: Measured,
}
