//! The legend; on the page, its entries are switches.

use super::frame::{Frame, SAMPLE, SAMPLE_GAP, text_width};
use super::marks::stroke;
use super::svg::{Anchor, Svg};
use crate::model::{Chart, Mark, Series};
use crate::style::{self, Ink};
use crate::text::escape;

/// Draws one entry per series.
pub(super) fn draw(svg: &mut Svg, frame: &Frame, chart: &Chart) {
    for (number, (series, place)) in chart.series.iter().zip(&frame.legend).enumerate() {
        let label = escape(&series.label);
        svg.raw(format_args!(
            "<g class=\"key\" data-series=\"{number}\" data-label=\"{label}\">"
        ));
        entry(svg, series, *place);
        svg.end();
    }
}

fn entry(svg: &mut Svg, series: &Series, (x, y): (f64, f64)) {
    let middle = y - 4.5;
    // The whole entry can be pressed, not only its strokes.
    let width = SAMPLE + SAMPLE_GAP + text_width(&series.label);
    svg.raw(format_args!(
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"21\" rx=\"4\" fill=\"none\" pointer-events=\"all\"/>",
        x - 4.0,
        y - 15.0,
        width + 8.0
    ));
    let colour = svg.colour(Ink::Series(series.colour));
    if series.mark != Mark::Points {
        let (width, dashed) = stroke(series.mark);
        let dash = if dashed {
            style::dash(series.colour)
        } else {
            ""
        };
        svg.raw(format_args!(
            "<path d=\"M{x:.1} {middle:.1}h{SAMPLE}\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"/>"
        ));
    }
    let marker = style::marker(series.colour, (x + SAMPLE / 2.0, middle), 7.0);
    let paper = svg.colour(Ink::Paper);
    let (fill, outline) = if series.mark == Mark::Paper {
        (paper, colour)
    } else {
        (colour, paper)
    };
    svg.raw(format_args!(
        "<path d=\"{marker}\" fill=\"{fill}\" stroke=\"{outline}\" stroke-width=\"1.1\"/>"
    ));
    svg.text(
        (x + SAMPLE + SAMPLE_GAP, y),
        Anchor::Start,
        Ink::Text,
        &series.label,
    );
}
