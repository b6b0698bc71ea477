//! What Python hands over.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use hopflow_api::{Caller, Failure, Order, Source};
use hopflow_results::{Value, Verdict};
use pyo3::prelude::*;

use crate::watch::failed;

/// How runs are made; an object with these attributes.
#[derive(Debug, FromPyObject)]
pub(crate) struct Orders {
    out: Option<PathBuf>,
    seeds: Option<NonZeroU32>,
    circuits: Option<PathBuf>,
    threads: Option<NonZeroUsize>,
    /// The command or call that reports name.
    command: String,
    /// The file of this module.
    program: PathBuf,
}

impl Orders {
    /// The order and who gives it.
    pub(crate) fn into_parts(self) -> (Order, Caller) {
        let order = Order {
            out: self.out,
            seeds: self.seeds,
            circuits: self.circuits,
            threads: self.threads,
        };
        (order, Caller::new(self.command, self.program))
    }
}

/// The numbers of a value: x, n, mean, `ci_low`, `ci_high`, paper, `band_low`, `band_high`.
pub(crate) type Judged = (
    Option<f64>,
    u64,
    f64,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
);

/// A value without names, not judged yet.
pub(crate) const fn value(numbers: Judged) -> Value {
    let (x, n, mean, ci_low, ci_high, paper, band_low, band_high) = numbers;
    Value {
        figure: String::new(),
        quantity: String::new(),
        unit: String::new(),
        transport: String::new(),
        x,
        n,
        mean,
        ci_low,
        ci_high,
        paper,
        band_low,
        band_high,
        verdict: Verdict::NotJudged,
        wanted: None,
    }
}

/// A scenario: whether it is TOML text, and that or else its name or path.
pub(crate) fn source((is_text, scenario): (bool, String)) -> Source {
    if is_text {
        Source::Text(scenario)
    } else {
        Source::Named(scenario)
    }
}

/// JSON as TOML; only objects have such a form, and null has none.
pub(crate) fn to_toml(json: &str) -> PyResult<String> {
    let refused = |error: &dyn std::fmt::Display| {
        failed(&Failure::bad_input(format_args!(
            "the scenario has no TOML form: {error}"
        )))
    };
    let table: toml::Table = serde_json::from_str(json).map_err(|error| refused(&error))?;
    toml::to_string(&table).map_err(|error| refused(&error))
}
