//! What charts say of which readers choose some.

use super::Chart;

/// Small charts of several things of a kind, of which one is shown at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// What is chosen, such as a circuit.
    pub label: String,
    /// What there is to choose, in the order of the charts.
    pub choices: Vec<Choice>,
    /// The charts of all, one after the other.
    pub charts: Vec<Chart>,
}

/// One thing to choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Its name.
    pub label: String,
    /// What to know of it.
    pub about: String,
    /// How many of the charts are of it.
    pub charts: usize,
}
