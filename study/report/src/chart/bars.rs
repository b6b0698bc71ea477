//! Stacked bars. A part has a number in the legend and in the bars, so that colours are not the only
//! sign.

use super::Shape;
use super::canvas::{Canvas, Spoken};
use super::frame::text_width;
use crate::model::{Axis, Bar, Bars};
use crate::scale::Scale;
use crate::style::{Ink, Medium};
use crate::text::{escape, fixed, significant, tick_decimals};

/// Height of a bar.
const HEIGHT: f64 = 26.0;
/// Space between bars, and with their labels above them.
const GAP: f64 = 12.0;
/// Height of a line of text.
const LINE: f64 = 21.0;
/// Room for the axis and its label.
const AXIS: f64 = 46.0;
/// Side of a sample in the legend.
const SAMPLE: f64 = 17.0;
/// Least width of a part that has room for its number.
const ROOM: f64 = 13.0;

/// Where things are.
struct Layout<'a> {
    bars: &'a Bars,
    scale: Scale,
    width: f64,
    left: f64,
    /// Where the first bar begins, and what each takes.
    top: f64,
    step: f64,
    /// Whether labels stand above their bars.
    narrow: bool,
    /// Places of the entries of the legend.
    legend: Vec<(f64, f64)>,
}

/// The bars as an SVG element, or as the content of an SVG file.
pub(crate) fn render_bars(bars: &Bars, shape: Shape, medium: Medium) -> String {
    let layout = Layout::new(bars, shape);
    let spoken = Spoken {
        title: &bars.title,
        caption: &bars.caption,
        elsewhere: "The table below has the values.",
    };
    let mut out = Canvas::new(medium, shape, (layout.width, layout.height()), &spoken);
    layout.draw_legend(&mut out);
    layout.draw_axis(&mut out);
    for (number, bar) in bars.bars.iter().enumerate() {
        layout.draw_bar(&mut out, layout.top + number as f64 * layout.step, bar);
    }
    out.finish()
}

impl<'a> Layout<'a> {
    fn new(bars: &'a Bars, shape: Shape) -> Self {
        let (narrow, width) = (shape == Shape::Narrow, shape.width());
        let axis = Axis::new(&bars.label, &bars.unit).including(0.0);
        let lengths = bars.bars.iter().map(|bar| bar.values.iter().sum());
        let widest = bars.bars.iter().map(|bar| 1.1 * text_width(&bar.label));
        let widest = widest.fold(0.0, f64::max);
        let (legend, lines) = legend(bars, width);
        let above = if narrow { LINE } else { 0.0 };
        Self {
            scale: Scale::new(&axis, lengths, true),
            left: if narrow { 11.0 } else { widest + 14.0 },
            top: lines * (SAMPLE + 7.0) + 10.0,
            step: HEIGHT + GAP + above,
            bars,
            width,
            narrow,
            legend,
        }
    }

    fn height(&self) -> f64 {
        self.top + self.step * self.bars.bars.len() as f64 + AXIS
    }

    fn x(&self, value: f64) -> f64 {
        let place = self.scale.place(value).unwrap_or(0.0);
        self.left + place * (self.width - self.left - 18.0)
    }

    fn draw_legend(&self, out: &mut Canvas) {
        for (part, (label, &(x, y))) in self.bars.parts.iter().zip(&self.legend).enumerate() {
            piece(out, part, (x, y), (SAMPLE, SAMPLE));
            out.text((x + SAMPLE + 6.0, y + 13.0), "start", Ink::Text, label);
        }
    }

    fn draw_axis(&self, out: &mut Canvas) {
        let bottom = self.height() - AXIS;
        let ticks = self.scale.ticks(if self.narrow { 4 } else { 10 });
        let decimals = tick_decimals(&ticks);
        let grid = out.ink(Ink::Grid);
        for tick in ticks {
            let x = self.x(tick);
            out.raw(format_args!(
                "<path d=\"M{x:.1} {:.1}V{bottom:.1}\" stroke=\"{}\" stroke-width=\"1\"/>",
                self.top - 4.0,
                grid
            ));
            let label = fixed(tick, decimals);
            out.text((x, bottom + 16.0), "middle", Ink::Muted, &label);
        }
        let label = format!("{} ({})", self.bars.label, self.bars.unit);
        let right = (self.width - 18.0, bottom + 36.0);
        out.text(right, "end", Ink::Muted, &label);
    }

    fn draw_bar(&self, out: &mut Canvas, top: f64, bar: &Bar) {
        let mut y = top;
        if self.narrow {
            out.text((self.left, y + 14.0), "start", Ink::Text, &bar.label);
            y += LINE;
        } else {
            let place = (self.left - 12.0, y + HEIGHT / 2.0 + 4.5);
            out.text(place, "end", Ink::Text, &bar.label);
        }
        let mut sum = 0.0;
        for (part, &value) in self.bars.parts.iter().enumerate().zip(&bar.values) {
            let (begin, end) = (self.x(sum), self.x(sum + value));
            sum += value;
            if end - begin < 0.05 {
                continue;
            }
            let (number, name) = part;
            let told = format!(
                "{}, {name}: {} {}",
                bar.label,
                significant(value),
                self.bars.unit
            );
            out.raw(format_args!("<g><title>{}</title>", escape(&told)));
            piece(out, number, (begin, y), (end - begin, HEIGHT));
            out.raw(format_args!("</g>"));
        }
    }
}

/// A part's piece of a bar, or its sample, with its number where there is room.
fn piece(out: &mut Canvas, part: usize, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let fill = out.ink(Ink::Series(part));
    out.raw(format_args!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{fill}\"/>"
    ));
    if width >= ROOM {
        let place = (x + width / 2.0, y + height / 2.0 + 4.5);
        out.text(place, "middle", Ink::Paper, &(part + 1).to_string());
    }
}

/// Where each entry of the legend stands, and how many lines there are.
fn legend(bars: &Bars, width: f64) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut line) = (2.0, 0.0);
    let mut places = Vec::new();
    for label in &bars.parts {
        let entry = SAMPLE + 6.0 + 1.05 * text_width(label);
        if x > 2.0 && x + entry > width {
            (x, line) = (2.0, line + 1.0);
        }
        places.push((x, line * (SAMPLE + 7.0) + 2.0));
        x += entry + 18.0;
    }
    (places, line + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars() -> Bars {
        let bar = |label: &str, values: [f64; 3]| Bar {
            label: label.to_owned(),
            values: values.to_vec(),
        };
        Bars {
            id: "time".to_owned(),
            title: "Time".to_owned(),
            caption: "Means".to_owned(),
            label: "Time".to_owned(),
            unit: "s".to_owned(),
            parts: ["first", "<second>", "third"].map(str::to_owned).to_vec(),
            bars: vec![bar("a", [1.0, 2.0, 0.0]), bar("b", [0.5, 0.25, 0.25])],
        }
    }

    /// The widths of the pieces in bars.
    fn widths(svg: &str) -> Vec<f64> {
        let pieces = svg.split("</title><rect ").skip(1);
        let width = |piece: &str| {
            let rest = piece.split("width=\"").nth(1)?;
            rest.split('"').next()?.parse().ok()
        };
        pieces.map(|piece| width(piece).unwrap()).collect()
    }

    #[test]
    fn pieces_are_as_long_as_what_they_stand_for_and_empty_ones_are_not_drawn() {
        for shape in [Shape::Wide, Shape::Narrow] {
            let svg = render_bars(&bars(), shape, Medium::Page);
            let widths = widths(&svg);
            assert_eq!(widths.len(), 5, "{svg}");
            let unit = widths[0];
            for (width, value) in widths.iter().zip([1.0, 2.0, 0.5, 0.25, 0.25]) {
                assert!((width - value * unit).abs() < 0.02, "{widths:?}");
            }
        }
    }

    #[test]
    fn a_file_has_plain_colours_and_no_markup_of_users() {
        let svg = render_bars(&bars(), Shape::Wide, Medium::File);
        assert!(svg.starts_with("<svg xmlns=") && !svg.contains("var(--"));
        assert!(svg.contains("&lt;second&gt;") && !svg.contains("<second>"));
    }
}
