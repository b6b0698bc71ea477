//! What a chart says.

use serde::Deserialize;

/// A chart of one or more series over common axes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// The name of the files made from it: lower-case letters, digits and hyphens.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it: what was averaged, what a band means.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The axis that the other depends on.
    #[serde(default)]
    pub along: Along,
    /// Whether it takes the whole width of the page; not among small multiples.
    #[serde(default)]
    pub wide: bool,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
    /// Lines and bands to compare with.
    #[serde(default)]
    pub references: Vec<Reference>,
}

/// The axis whose values are given; the other's are measured, and intervals run along the latter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// Curves over a swept value or over time.
    #[default]
    X,
    /// Distribution functions: the level is given, the quantile is measured.
    Y,
}

/// An axis of a chart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// In which unit; empty for plain numbers.
    pub unit: String,
    /// Whether it is logarithmic; values that are not positive are then left out.
    pub log: bool,
    /// Bounds that the axis keeps even if the data do not reach them.
    pub include: Vec<f64>,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            log: false,
            include: Vec::new(),
        }
    }

    /// The axis, which also shows `value`.
    pub fn including(mut self, value: f64) -> Self {
        self.include.push(value);
        self
    }

    /// The axis, logarithmic if `log`.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// Label and unit as one text.
    pub(crate) fn text(&self) -> String {
        match self.unit.as_str() {
            "" => self.label.clone(),
            unit => format!("{} ({unit})", self.label),
        }
    }
}

/// One curve or cloud of a chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The name in the legend.
    pub label: String,
    /// The number of its colour, dash and marker; the same transport has the same in all charts.
    pub colour: usize,
    /// How its points are drawn.
    pub mark: Mark,
    /// Its points, ascending along the chart's given axis.
    pub points: Vec<Point>,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A line through many points, intervals as a band.
    Line,
    /// A line that jumps: an empirical distribution function of a single run.
    Steps,
    /// A line through few points with a marker each, intervals as bars.
    Curve,
    /// Markers alone, intervals as bars.
    Points,
    /// A paper's values: hollow markers on a thin line, its tolerance as a band.
    Paper,
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Where on the horizontal axis.
    pub x: f64,
    /// Where on the vertical axis.
    pub y: f64,
    /// The ends of the interval along the measured axis.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// A point without an interval.
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            interval: None,
        }
    }
}

/// Something to compare with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// A horizontal line.
    Horizontal {
        /// Its name, written beside it.
        label: String,
        /// Where on the vertical axis.
        y: f64,
    },
    /// A vertical line.
    Vertical {
        /// Its name, written beside it.
        label: String,
        /// Where on the horizontal axis.
        x: f64,
    },
    /// A horizontal band.
    Band {
        /// Its name, written within it.
        label: String,
        /// Its lower end on the vertical axis.
        low: f64,
        /// Its upper end on the vertical axis.
        high: f64,
    },
    /// A stretch of the horizontal axis.
    Span {
        /// Its name, written at its beginning; none if it is empty.
        label: String,
        /// Where it begins.
        from: f64,
        /// Where it ends; `None`: at the end of the axis.
        until: Option<f64>,
        /// Whether it is a bar on the axis alone, as one of many.
        slim: bool,
    },
}
