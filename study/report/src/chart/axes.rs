//! Axes, grid and what the data are compared with.

use super::frame::{Frame, text_width};
use super::svg::{Anchor, Svg};
use crate::model::{Chart, Reference};
use crate::style::Ink;

/// Grid, axes, ticks and their titles.
pub(super) fn draw(svg: &mut Svg, frame: &Frame, chart: &Chart) {
    let (left, top, width, height) = frame.plot();
    let (right, bottom) = (left + width, top + height);
    svg.raw(format_args!("<g class=\"axes\" aria-hidden=\"true\">"));
    for tick in &frame.y_ticks {
        svg.line((left, tick.at), (right, tick.at), Ink::Grid, 1.0);
        svg.text(
            (left - 8.0, tick.at + 4.2),
            Anchor::End,
            Ink::Muted,
            &tick.label,
        );
    }
    svg.line((left, bottom), (right, bottom), Ink::Axis, 1.0);
    for tick in &frame.x_ticks {
        svg.line((tick.at, bottom), (tick.at, bottom + 5.0), Ink::Axis, 1.0);
        let half = text_width(&tick.label) / 2.0;
        let x = tick.at.clamp(half, frame.size().0 - half);
        svg.text((x, bottom + 19.0), Anchor::Middle, Ink::Muted, &tick.label);
    }
    svg.text((0.0, top - 13.0), Anchor::Start, Ink::Text, &chart.y.text());
    svg.text(
        (right, bottom + 39.0),
        Anchor::End,
        Ink::Text,
        &chart.x.text(),
    );
    svg.end();
}

/// Bands and lines of reference.
pub(super) fn references_behind(svg: &mut Svg, frame: &Frame, chart: &Chart) {
    let (left, top, width, height) = frame.plot();
    let colour = svg.colour(Ink::Muted);
    for reference in &chart.references {
        match reference {
            Reference::Band { low, high, .. } => {
                let (upper, lower) = (frame.y_at(*high), frame.y_at(*low));
                svg.raw(format_args!(
                    "<rect x=\"{left:.1}\" y=\"{upper:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{colour}\" fill-opacity=\"0.12\"/>",
                    lower - upper
                ));
            }
            Reference::Horizontal { y, .. } => {
                let y = frame.y_at(*y);
                dashed(svg, (left, y), (left + width, y));
            }
            Reference::Vertical { x, .. } => {
                let x = frame.x_at(*x);
                dashed(svg, (x, top), (x, top + height));
            }
            Reference::Span {
                from, until, slim, ..
            } => span(svg, frame, (*from, *until), *slim),
        }
    }
}

/// The names of references, above the data.
pub(super) fn reference_labels(svg: &mut Svg, frame: &Frame, chart: &Chart) {
    let (left, top, width, _) = frame.plot();
    // Names of stretches stand in lines of their own, for stretches may overlap.
    let mut line = top + 10.0;
    for reference in &chart.references {
        match reference {
            Reference::Band { label, high, .. } => {
                let place = (left + width - 4.0, frame.y_at(*high) + 14.0);
                svg.text(place, Anchor::End, Ink::Muted, label);
            }
            Reference::Horizontal { label, y } => {
                let place = (left + width - 4.0, frame.y_at(*y) - 5.0);
                svg.text(place, Anchor::End, Ink::Muted, label);
            }
            Reference::Vertical { label, x } => {
                let x = frame.x_at(*x);
                beside(svg, frame, (x, top + 10.0), Ink::Muted, label);
            }
            Reference::Span { label, from, .. } if !label.is_empty() => {
                let x = frame.x_at(*from).clamp(left, left + width);
                beside(svg, frame, (x, line), Ink::Alert, label);
                line += 15.0;
            }
            Reference::Span { .. } => {}
        }
    }
}

/// Text to the right of a place, or to the left where there is no room.
fn beside(svg: &mut Svg, frame: &Frame, (x, y): (f64, f64), ink: Ink, text: &str) {
    let (left, _, width, _) = frame.plot();
    let room = left + width - x > text_width(text) + 8.0;
    let (x, anchor) = if room {
        (x + 5.0, Anchor::Start)
    } else {
        (x - 5.0, Anchor::End)
    };
    svg.text((x, y), anchor, ink, text);
}

/// A stretch of the horizontal axis, as far as it is in the plot.
fn span(svg: &mut Svg, frame: &Frame, (from, until): (f64, Option<f64>), slim: bool) {
    let (left, top, width, height) = frame.plot();
    let within = |x: f64| frame.x_at(x).clamp(left, left + width);
    let (begin, end) = (within(from), until.map_or(left + width, within));
    if until.is_some_and(|until| frame.x_at(until) <= left) || frame.x_at(from) >= left + width {
        return;
    }
    let colour = svg.colour(Ink::Alert);
    // Even what is over at once can be seen.
    let wide = (end - begin).max(1.5);
    let (y, high, opacity) = if slim {
        (top + height - 5.0, 5.0, 0.45)
    } else {
        (top, height, 0.1)
    };
    svg.raw(format_args!(
        "<rect x=\"{begin:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>"
    ));
    if !slim {
        svg.raw(format_args!(
            "<path d=\"M{begin:.1} {top:.1}v{height:.1}\" stroke=\"{colour}\" stroke-width=\"1\" stroke-dasharray=\"3 3\"/>"
        ));
    }
}

fn dashed(svg: &mut Svg, from: (f64, f64), to: (f64, f64)) {
    let colour = svg.colour(Ink::Muted);
    svg.raw(format_args!(
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-width=\"1.2\" stroke-dasharray=\"5 4\"/>",
        from.0, from.1, to.0, to.1
    ));
}
