//! What was measured through a testbed.

use hopflow_testbed::{Errors, Measured, Settings};

/// One testbed's settings and what was measured.
#[derive(Clone, Debug)]
pub struct Made {
    /// How the testbed was made.
    pub settings: Settings,
    /// What was measured for real, once per repetition.
    pub real: Vec<Measured>,
    /// The same simulated; empty if it was not.
    pub simulated: Vec<Measured>,
}

impl Made {
    /// Both sides, and how far the simulation is off.
    pub fn errors(&self) -> Errors {
        Errors::of(&self.real, &self.simulated)
    }
}
