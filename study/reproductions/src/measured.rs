//! What is measured.

/// A value that a run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The quantity, as the data file calls it.
    pub quantity: String,
    /// The unit, as the data file calls it.
    pub unit: &'static str,
    /// Where on the x axis the value belongs, if not at the part's x.
    pub x: Option<f64>,
    /// The value.
    pub value: f64,
}

impl Measured {
    /// A value at the part's x.
    pub fn new(quantity: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self {
            quantity: quantity.into(),
            unit,
            x: None,
            value,
        }
    }
}
