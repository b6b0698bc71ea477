//! The data file of an experiment: what the paper reports.

use hopflow_results::Value;
use serde::Deserialize;

use crate::scenario::InputError;

/// What an experiment shows and what it is compared with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name for readers.
    pub title: String,
    /// Paper, section and figure.
    pub source: String,
    /// Paragraphs: where the paper's values come from, why the bands are as they are, and where
    /// our set-up differs.
    pub notes: Vec<String>,
    /// What is swept.
    pub x: Swept,
}

/// What an experiment sweeps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swept {
    /// What it is.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// The values, rising.
    pub values: Vec<f64>,
}

/// The whole data file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectations {
    experiment: Description,
    curves: Vec<Curve>,
}

/// What the paper reports of one quantity and one transport.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    /// The figure, such as `backtap-fig5a`.
    pub(super) figure: String,
    /// The quantity that the figure shows.
    pub(super) quantity: String,
    /// Its unit.
    pub(super) unit: String,
    /// The transport's label.
    pub(super) transport: String,
    /// The paper's values, each with its x and the ends of its band.
    paper: Vec<Paper>,
}

/// A value of the paper at one x, and the band within which a measured value counts as it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "[f64; 4]")]
pub(super) struct Paper {
    x: f64,
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl From<[f64; 4]> for Paper {
    fn from([x, value, low, high]: [f64; 4]) -> Self {
        Self {
            x,
            value,
            low,
            high,
        }
    }
}

impl Curve {
    /// The paper's value at `x`, if it reports one.
    pub(super) fn at(&self, x: f64) -> Option<&Paper> {
        self.paper.iter().find(|paper| paper.x == x)
    }
}

impl Expectations {
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, InputError> {
        let expectations: Self = toml::from_str(text)
            .map_err(|error| InputError::new(error.message()).in_file(file, text))?;
        expectations
            .check()
            .map_err(|error| error.in_file(file, text))?;
        Ok(expectations)
    }

    fn check(&self) -> Result<(), InputError> {
        for (n, curve) in self.curves.iter().enumerate() {
            let fail = |problem: String| Err(InputError::at(format!("curves[{n}].paper"), problem));
            for paper in &curve.paper {
                let Paper {
                    x,
                    value,
                    low,
                    high,
                } = *paper;
                if !(low <= value && value <= high) {
                    return fail(format!("{value} lies outside of its own band at {x}"));
                }
                if !self.experiment.x.values.contains(&x) {
                    return fail(format!("{x} is not among the swept values"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn description(&self) -> &Description {
        &self.experiment
    }

    pub(super) fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// Orders values as the data file does, then by x.
    pub(super) fn sort(&self, values: &mut [Value]) {
        let place = |value: &Value| {
            self.curves.iter().position(|curve| {
                curve.figure == value.figure
                    && curve.quantity == value.quantity
                    && curve.transport == value.transport
            })
        };
        values.sort_by(|a, b| {
            let by_x = || a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0));
            place(a).cmp(&place(b)).then_with(by_x)
        });
    }
}
