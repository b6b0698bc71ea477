//! What a report says, independent of how it looks.

use hopflow_results::Verdict;
use serde::Deserialize;

use crate::image::Image;
use crate::scatter::Scatter;

/// A report: one page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Document {
    /// The name of the page.
    pub title: String,
    /// One sentence below the title.
    pub subtitle: String,
    /// The few facts that a reader wants first, shown beside the title.
    pub facts: Vec<Fact>,
    /// The parts of the page, in order.
    pub sections: Vec<Section>,
}

/// A short fact, such as "Runs" with the value "75".
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// What it is about.
    pub label: String,
    /// The value.
    pub value: String,
}

impl Fact {
    /// The fact that `label` is `value`.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "takes text and numbers alike"
    )]
    pub fn new(label: impl Into<String>, value: impl ToString) -> Self {
        Self {
            label: label.into(),
            value: value.to_string(),
        }
    }
}

/// A part of the page under one heading.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// The heading, short enough for the navigation.
    pub heading: String,
    /// Paragraphs; text between backticks is set as code.
    pub prose: Vec<String>,
    /// What follows the paragraphs.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section without prose.
    pub fn new(heading: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            heading: heading.into(),
            prose: Vec::new(),
            blocks,
        }
    }

    /// Adds a paragraph.
    pub fn with_prose(mut self, paragraph: impl Into<String>) -> Self {
        self.prose.push(paragraph.into());
        self
    }
}

/// One thing within a section.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a report has a few dozen, read once"
)]
pub enum Block {
    /// A table.
    Table(Table),
    /// A chart; neighbours stand side by side where there is room.
    Chart(Chart),
    /// Small charts of one kind, to be compared with each other.
    Multiples(Vec<Chart>),
    /// A chart whose axes readers choose.
    #[serde(skip_deserializing)]
    Scatter(Box<Scatter>),
    /// A remark that stands out.
    Note(String),
    /// Text to be read letter by letter.
    Code(Code),
    /// A picture that was drawn elsewhere.
    Image(Image),
}

impl Block {
    /// The charts in the block.
    pub fn charts(&self) -> &[Chart] {
        match self {
            Self::Chart(chart) => std::slice::from_ref(chart),
            Self::Multiples(charts) => charts,
            Self::Scatter(scatter) => std::slice::from_ref(&scatter.chart),
            _ => &[],
        }
    }

    /// The charts in the block, to be changed.
    pub fn charts_mut(&mut self) -> &mut [Chart] {
        match self {
            Self::Chart(chart) => std::slice::from_mut(chart),
            Self::Multiples(charts) => charts,
            Self::Scatter(scatter) => std::slice::from_mut(&mut scatter.chart),
            _ => &mut [],
        }
    }
}

/// Text to be read letter by letter, folded away if it is long.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// What the text is.
    pub caption: String,
    /// The text.
    pub text: String,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Table {
    /// What it shows; also read aloud before it.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; each has a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Column {
    /// The heading.
    pub heading: String,
    /// The unit of the numbers; empty for text and plain numbers.
    pub unit: String,
    /// Whether it holds [`Cell::Figures`], which stand at the right.
    pub figures: bool,
}

impl Column {
    /// A column of text or plain numbers.
    pub fn new(heading: impl Into<String>) -> Self {
        Self::with_unit(heading, "")
    }

    /// A column of numbers in `unit`.
    pub fn with_unit(heading: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            unit: unit.into(),
            figures: false,
        }
    }

    /// A column of [`Cell::Figures`].
    pub fn figures(heading: impl Into<String>) -> Self {
        Self {
            figures: true,
            ..Self::new(heading)
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing is known.
    Empty,
    /// Plain text.
    Text(String),
    /// Numbers as text, in whatever unit the row says.
    Figures {
        /// The text.
        text: String,
        /// Whether it recedes.
        faint: bool,
    },
    /// The name of a series, beside its colour.
    Label {
        /// The name.
        text: String,
        /// The number of its colour, as in [`Series::colour`].
        colour: usize,
    },
    /// A whole number.
    Count(u64),
    /// A number, with half the width of its confidence interval.
    Number {
        /// The number, in the column's unit.
        value: f64,
        /// Half the width of the interval, where there is one.
        half_width: Option<f64>,
    },
    /// Two numbers that bound a range.
    Range(f64, f64),
    /// How a value compares with a paper's.
    Verdict(Verdict),
}

impl Cell {
    /// A number without an interval; empty for `None` or what is not finite.
    pub fn number(value: Option<f64>) -> Self {
        match value {
            Some(value) if value.is_finite() => Self::Number {
                value,
                half_width: None,
            },
            _ => Self::Empty,
        }
    }

    /// A mean with its interval, both multiplied by `scale`; empty for `None`.
    pub fn mean(mean: Option<hopflow_stats::Mean>, scale: f64) -> Self {
        mean.map_or(Self::Empty, |mean| Self::Number {
            value: mean.mean * scale,
            half_width: mean.half_width.map(|half| half * scale),
        })
    }
}

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
}
