//! What a chart of stacked bars says.

/// Sums and their parts, a bar for each sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// The name of the file made from it: lower-case letters, digits and hyphens.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What the length of a bar is.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// The parts in their order, at most eight.
    pub parts: Vec<String>,
    /// The bars, from above.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// A length for each part, none below zero.
    pub values: Vec<f64>,
}
