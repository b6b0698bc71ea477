//! Where the parts of a chart lie.

use crate::model::{Along, Axis, Chart, Mark, Point, Reference};
use crate::scale::Scale;
use crate::text;

/// The outer shape of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Half of a page's width.
    Half,
    /// The whole width of a page.
    Wide,
    /// A phone.
    Narrow,
}

impl Shape {
    /// The name in class names and identifiers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Half => "half",
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }

    const fn size(self) -> (f64, f64) {
        match self {
            Self::Half => (576.0, 330.0),
            Self::Wide => (1180.0, 360.0),
            Self::Narrow => (360.0, 270.0),
        }
    }

    /// Width of a drawing.
    pub(super) const fn width(self) -> f64 {
        self.size().0
    }

    const fn x_ticks(self) -> usize {
        match self {
            Self::Half => 6,
            Self::Wide => 10,
            Self::Narrow => 4,
        }
    }
}

/// Height of a line of the legend.
const LEGEND_LINE: f64 = 21.0;
/// Length of the sample of a line in the legend.
pub(super) const SAMPLE: f64 = 26.0;
/// Space between a sample and its name.
pub(super) const SAMPLE_GAP: f64 = 7.0;
const ITEM_GAP: f64 = 18.0;
/// Room for the vertical axis' title above the plot.
const Y_TITLE: f64 = 24.0;
const X_AXIS: f64 = 46.0;
const RIGHT: f64 = 14.0;

/// A tick: its value's place on the axis and its label.
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// The layout of a chart and the scales of its axes.
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    /// Left end of each legend entry and its line, by series.
    pub(super) legend: Vec<(f64, f64)>,
    width: f64,
    height: f64,
    left: f64,
    top: f64,
    plot_height: f64,
}

impl Frame {
    pub(super) fn new(chart: &Chart, shape: Shape) -> Self {
        let (width, plot_and_axes) = shape.size();
        let x = Scale::new(
            &chart.x,
            values(chart, Along::X).into_iter(),
            chart.along == Along::X && rounds_x(chart),
        );
        let y = Scale::new(&chart.y, values(chart, Along::Y).into_iter(), true);
        let (legend, lines) = legend(chart, width);
        let top = lines as f64 * LEGEND_LINE + Y_TITLE + 6.0;
        let plot_height = plot_and_axes - Y_TITLE - X_AXIS - LEGEND_LINE;
        let labels = labels(&y, &chart.y, 5);
        let widest = labels
            .iter()
            .map(|(_, label)| text_width(label))
            .fold(0.0, f64::max);
        let mut frame = Self {
            x,
            y,
            x_ticks: Vec::new(),
            y_ticks: Vec::new(),
            legend,
            width,
            height: top + plot_height + X_AXIS,
            left: (widest + 12.0).max(26.0).ceil(),
            top,
            plot_height,
        };
        let tick = |(at, label): (f64, String)| Tick { at, label };
        frame.y_ticks = labels
            .into_iter()
            .map(|(v, l)| (frame.y_at(v), l))
            .map(tick)
            .collect();
        let labels = self::labels(&frame.x, &chart.x, shape.x_ticks());
        frame.x_ticks = labels
            .into_iter()
            .map(|(v, l)| (frame.x_at(v), l))
            .map(tick)
            .collect();
        frame
    }

    /// Width and height of the drawing.
    pub(super) const fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// Left, top, width and height of the plot.
    pub(super) const fn plot(&self) -> (f64, f64, f64, f64) {
        (
            self.left,
            self.top,
            self.width - self.left - RIGHT,
            self.plot_height,
        )
    }

    /// Where a point lies; `None` if it has no place on a logarithmic axis.
    pub(super) fn point(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (left, top, width, height) = self.plot();
        Some((
            left + width * self.x.place(x)?,
            top + height * (1.0 - self.y.place(y)?),
        ))
    }

    /// Where a value of the horizontal axis lies.
    pub(super) fn x_at(&self, x: f64) -> f64 {
        let (left, _, width, _) = self.plot();
        left + width * self.x.place(x).unwrap_or(0.0)
    }

    /// Where a value of the vertical axis lies.
    pub(super) fn y_at(&self, y: f64) -> f64 {
        let (_, top, _, height) = self.plot();
        top + height * (1.0 - self.y.place(y).unwrap_or(0.0))
    }
}

/// Whether the horizontal axis ends on ticks: only where a few points would stand on its ends.
fn rounds_x(chart: &Chart) -> bool {
    chart
        .series
        .iter()
        .any(|series| matches!(series.mark, Mark::Points))
}

/// All values that an axis should show.
fn values(chart: &Chart, axis: Along) -> Vec<f64> {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let of = |point: &Point| if axis == Along::X { point.x } else { point.y };
    let mut values: Vec<f64> = points().map(of).collect();
    if axis != chart.along {
        let extent = extent(&values);
        let ends = points().filter_map(|point| point.interval);
        values.extend(
            ends.flat_map(|(low, high)| [low, high])
                .map(|end| end.clamp(extent.0, extent.1)),
        );
    }
    for reference in &chart.references {
        match (axis, reference) {
            (Along::X, Reference::Vertical { x, .. }) => values.push(*x),
            (Along::Y, Reference::Horizontal { y, .. }) => values.push(*y),
            (Along::Y, Reference::Band { low, high, .. }) => values.extend([low, high]),
            _ => {}
        }
    }
    values
}

/// How far intervals may stretch an axis: an interval over two runs is many times its mean.
fn extent(values: &[f64]) -> (f64, f64) {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return (0.0, 0.0);
    }
    let room = 0.4 * (high - low).max(0.6 * high.abs());
    // What cannot be negative does not become so by an interval.
    (
        if low >= 0.0 {
            (low - room).max(0.0)
        } else {
            low - room
        },
        high + room,
    )
}

/// The ticks of an axis with their labels.
fn labels(scale: &Scale, axis: &Axis, count: usize) -> Vec<(f64, String)> {
    let ticks = scale.ticks(count);
    let labels: Vec<String> = if axis.log {
        ticks.iter().map(|tick| text::log_tick(*tick)).collect()
    } else {
        text::linear_ticks(&ticks)
    };
    ticks.into_iter().zip(labels).collect()
}

/// Where each entry of the legend stands, and how many lines there are.
fn legend(chart: &Chart, width: f64) -> (Vec<(f64, f64)>, usize) {
    let (mut x, mut line) = (0.0, 0);
    let mut places = Vec::new();
    for series in &chart.series {
        let entry = SAMPLE + SAMPLE_GAP + text_width(&series.label);
        if x > 0.0 && x + entry > width {
            x = 0.0;
            line += 1;
        }
        places.push((x, f64::from(line) * LEGEND_LINE + 14.0));
        x += entry + ITEM_GAP;
    }
    let lines = if places.is_empty() {
        0
    } else {
        line as usize + 1
    };
    (places, lines)
}

/// About how wide text is, in a sans-serif typeface at the drawing's size.
pub(super) fn text_width(text: &str) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ' ' | '\'' | '(' | ')' | '\u{202f}' => 4.3,
        'm' | 'w' | 'M' | 'W' => 10.6,
        c if c.is_uppercase() => 8.6,
        _ => 7.2,
    };
    text.chars().map(width).sum()
}
