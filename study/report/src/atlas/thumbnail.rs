//! A figure at the size of a stamp: its curves, or how its values lie in their bands.

use std::fmt::Write as _;

use hopflow_results::{Value, Verdict};

use super::figure::Figure;
use crate::text::escape;

const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 112.0;
const MARGIN: f64 = 7.0;
/// Different x that make a curve.
const CURVE: usize = 3;
/// Half widths of a band that are shown on either side of its middle.
const REACH: f64 = 3.0;
/// The factor, up or down, that is as far as differences are shown.
const FACTOR: f64 = 4.0;
/// From which ratio on the lowest to the highest value an axis is logarithmic.
const DECADES: f64 = 40.0;

/// The drawing, and what it shows in words.
pub(super) struct Thumbnail {
    pub(super) svg: String,
    pub(super) shows: String,
}

/// Draws the first of what a figure has: curves, values in their bands, claims.
pub(super) fn of(figure: &Figure<'_>, percentiles: bool) -> Thumbnail {
    // Bands that are open above are those of how many runs have a value at all.
    let drawn = |value: &&Value| {
        !value.is_claim() && (value.band_low.is_none() || value.band_high.is_some())
    };
    let measured: Vec<&Value> = figure.values.iter().copied().filter(drawn).collect();
    if let Some(quantity) = curve(&measured) {
        let values = measured
            .into_iter()
            .filter(|value| value.quantity == quantity);
        return curves(quantity, &values.collect::<Vec<_>>(), percentiles);
    }
    let in_bands: Vec<Bar> = measured.into_iter().filter_map(Bar::in_band).collect();
    if !in_bands.is_empty() {
        return bars(
            &in_bands,
            1.0 / REACH,
            "values in their bands, which are shaded",
        );
    }
    let claims = figure.values.iter();
    let claims = claims.filter(|value| value.is_claim() && !value.is_unmeasured_claim());
    let claims: Vec<Bar> = claims.filter_map(|value| Bar::of_claim(value)).collect();
    if claims.is_empty() {
        return framed("", "no run has what the paper has".to_owned());
    }
    bars(
        &claims,
        0.0,
        "differences that the paper claims; the line is no difference",
    )
}

/// The first quantity with several x, one that is judged if there is one.
fn curve<'a>(values: &[&'a Value]) -> Option<&'a str> {
    let is_curve = |quantity: &str| {
        let of_quantity = values.iter().filter(|value| value.quantity == quantity);
        let mut xs: Vec<f64> = of_quantity.filter_map(|value| value.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs.len() >= CURVE
    };
    let mut judged_first = values.to_vec();
    judged_first.sort_by_key(|value| value.verdict == Verdict::NotJudged);
    let mut quantities: Vec<&str> = Vec::new();
    for value in judged_first {
        if !quantities.contains(&value.quantity.as_str()) {
            quantities.push(&value.quantity);
        }
    }
    quantities.into_iter().find(|quantity| is_curve(quantity))
}

/// A scale from values to places between two ends.
struct Scale {
    log: bool,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: &[f64]) -> Self {
        let (low, high) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), value| {
                (low.min(*value), high.max(*value))
            });
        let log = low > 0.0 && high / low > DECADES;
        // Values near each other show how near they are: zero is in sight.
        let low = if !log && low > 0.0 && high < 3.0 * low {
            0.0
        } else {
            low
        };
        Self { log, low, high }
    }

    fn share(&self, value: f64) -> f64 {
        let f = |value: f64| {
            if self.log {
                libm::log(value.max(self.low))
            } else {
                value
            }
        };
        let span = f(self.high) - f(self.low);
        if span > 0.0 {
            (f(value) - f(self.low)) / span
        } else {
            0.5
        }
    }

    fn x(&self, value: f64) -> f64 {
        MARGIN + self.share(value) * (WIDTH - 2.0 * MARGIN)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - MARGIN - self.share(value) * (HEIGHT - 2.0 * MARGIN)
    }
}

/// A line for each transport, and the paper's values with their bands.
fn curves(quantity: &str, values: &[&Value], percentiles: bool) -> Thumbnail {
    let place = |value: &Value, y: f64| {
        let x = value.x.unwrap_or_default();
        if percentiles { (y, x) } else { (x, y) }
    };
    let measured = values.iter().map(|value| place(value, value.mean));
    let stated = values
        .iter()
        .filter_map(|value| Some(place(value, value.paper?)));
    let points: Vec<(f64, f64)> = measured.chain(stated).collect();
    let x = Scale::of(&points.iter().map(|point| point.0).collect::<Vec<_>>());
    let y = Scale::of(&points.iter().map(|point| point.1).collect::<Vec<_>>());
    let at = |value: &Value, y_value: f64| {
        let (a, b) = place(value, y_value);
        (x.x(a), y.y(b))
    };
    let mut labels: Vec<&str> = Vec::new();
    for value in values {
        if !labels.contains(&value.transport.as_str()) {
            labels.push(&value.transport);
        }
    }
    let mut marks = String::new();
    for (colour, label) in labels.iter().enumerate() {
        let mut of: Vec<&Value> = values
            .iter()
            .copied()
            .filter(|v| v.transport == **label)
            .collect();
        of.sort_by(|a, b| a.x.unwrap_or_default().total_cmp(&b.x.unwrap_or_default()));
        draw_curve(&mut marks, &of, &format!("var(--s{})", colour % 8), &at);
    }
    let shows = if percentiles {
        format!("distribution of {quantity}")
    } else {
        quantity.to_owned()
    };
    framed(&marks, shows)
}

/// Draws one curve: a line through what was measured, and circles for what the paper states.
fn draw_curve(
    marks: &mut String,
    of: &[&Value],
    colour: &str,
    at: &impl Fn(&Value, f64) -> (f64, f64),
) {
    let mut line = String::new();
    for value in of {
        let (x, y) = at(value, value.mean);
        let step = if line.is_empty() { 'M' } else { 'L' };
        put(&mut line, format_args!("{step}{x:.1} {y:.1}"));
    }
    put(
        marks,
        format_args!(
            "<path d=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"/>"
        ),
    );
    for value in of {
        let Some(paper) = value.paper else { continue };
        let (x, y) = at(value, paper);
        put(
            marks,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"var(--page)\" stroke=\"{colour}\"/>"
            ),
        );
    }
}

/// A value between two ends, on a scale from −1 to 1.
struct Bar {
    low: f64,
    mean: f64,
    high: f64,
    verdict: Verdict,
}

impl Bar {
    /// A value whose band is the middle of the scale.
    fn in_band(value: &Value) -> Option<Self> {
        let (from, to) = value.band_low.zip(value.band_high)?;
        let half = (to - from) / 2.0;
        let at = |number: f64| (number - f64::midpoint(from, to)) / half / REACH;
        (half > 0.0 && value.verdict != Verdict::NotJudged).then(|| Self::new(value, at))
    }

    /// A difference; equal factors up and down are equally far.
    fn of_claim(value: &Value) -> Option<Self> {
        let log = |percent: f64| libm::log1p((percent / 100.0).max(-0.99)) / libm::log(FACTOR);
        let in_percent = value.unit == "%" && value.verdict != Verdict::NotJudged;
        in_percent.then(|| Self::new(value, log))
    }

    fn new(value: &Value, at: impl Fn(f64) -> f64) -> Self {
        let at = |number: f64| at(number).clamp(-1.0, 1.0);
        Self {
            low: at(value.ci_low.unwrap_or(value.mean)),
            mean: at(value.mean),
            high: at(value.ci_high.unwrap_or(value.mean)),
            verdict: value.verdict,
        }
    }
}

/// A line for each value; the middle of the scale, so wide, is shaded.
fn bars(bars: &[Bar], band: f64, shows: &str) -> Thumbnail {
    let x = |at: f64| WIDTH / 2.0 + at * (WIDTH / 2.0 - MARGIN);
    let step = (HEIGHT - 2.0 * MARGIN) / bars.len().max(1) as f64;
    let mut marks = String::new();
    let width = (x(band) - x(-band)).max(1.0);
    put(
        &mut marks,
        format_args!(
            "<rect x=\"{:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"var(--grid)\"/>",
            x(-band)
        ),
    );
    for (number, bar) in bars.iter().enumerate() {
        let y = MARGIN + (number as f64 + 0.5) * step;
        let (low, mean, high) = (x(bar.low), x(bar.mean), x(bar.high));
        let colour = match bar.verdict {
            Verdict::Reproduced => "var(--good)",
            Verdict::NotReproduced => "var(--bad)",
            Verdict::Undecided | Verdict::NotJudged => "var(--near)",
        };
        let r = (step / 2.2).clamp(1.0, 2.6);
        put(
            &mut marks,
            format_args!(
                "<path d=\"M{low:.1} {y:.1}H{high:.1}\" stroke=\"{colour}\" stroke-width=\"{:.1}\"/><circle cx=\"{mean:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\" fill=\"{colour}\"/>",
                (step / 3.0).clamp(0.8, 1.6)
            ),
        );
    }
    framed(&marks, shows.to_owned())
}

fn framed(marks: &str, shows: String) -> Thumbnail {
    let svg = format!(
        "<svg class=\"thumb\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{marks}</svg>",
        escape(&shows)
    );
    Thumbnail { svg, shows }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes every text");
}
