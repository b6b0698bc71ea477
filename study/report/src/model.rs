//! What a report says, independent of how it looks.

mod bars;
mod chart;
mod choices;
mod map;

use hopflow_results::Verdict;
use serde::Deserialize;

use crate::image::Image;
use crate::scatter::Scatter;
pub use bars::{Bar, Bars};
pub use chart::{Along, Axis, Chart, Mark, Point, Reference, Series};
pub use choices::{Choice, Choices};
pub use map::{Map, MapColumn, Route, RouteStyle, Stop};

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
    /// Sums and their parts.
    #[serde(skip_deserializing)]
    Bars(Bars),
    /// Charts of which readers choose some to look at.
    #[serde(skip_deserializing)]
    Choices(Choices),
    /// A drawing of a network.
    #[serde(skip_deserializing)]
    Map(Map),
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
            Self::Choices(choices) => &choices.charts,
            Self::Scatter(scatter) => std::slice::from_ref(&scatter.chart),
            _ => &[],
        }
    }

    /// The charts in the block, to be changed.
    pub fn charts_mut(&mut self) -> &mut [Chart] {
        match self {
            Self::Chart(chart) => std::slice::from_mut(chart),
            Self::Multiples(charts) => charts,
            Self::Choices(choices) => &mut choices.charts,
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
    /// The name under which readers may save it; `None`: they may not.
    #[serde(default)]
    pub file: Option<String>,
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
    /// Text that leads to a file or folder.
    Link {
        /// The text.
        text: String,
        /// The path from the page.
        path: String,
    },
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
