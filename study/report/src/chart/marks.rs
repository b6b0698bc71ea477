//! The data: bands, lines, bars and markers.

use std::fmt::Write as _;

use super::frame::Frame;
use super::svg::Svg;
use crate::model::{Along, Chart, Mark, Point, Series};
use crate::style::{self, Ink};

/// Markers on a line of many points, so that it is told apart without its colour.
const MARKERS: usize = 5;

/// Draws all series: bands first, so that no band lies on a line, then a paper's values, so that
/// the measured ones lie on top.
pub(super) fn draw(svg: &mut Svg, frame: &Frame, chart: &Chart) {
    let numbered = || chart.series.iter().enumerate();
    for (number, series) in numbered() {
        if matches!(series.mark, Mark::Line | Mark::Paper) {
            svg.begin_series("band", number);
            band(svg, frame, chart.along, series);
            svg.end();
        }
    }
    for of_paper in [true, false] {
        for (number, series) in numbered().filter(|(_, s)| (s.mark == Mark::Paper) == of_paper) {
            svg.begin_series("marks", number);
            self::series(svg, frame, chart, series);
            svg.end();
        }
    }
}

fn series(svg: &mut Svg, frame: &Frame, chart: &Chart, series: &Series) {
    if matches!(series.mark, Mark::Curve | Mark::Points) {
        bars(svg, frame, chart.along, series);
    }
    if series.mark != Mark::Points {
        line(svg, frame, series);
    }
    markers(svg, frame, series, chart.series.len());
}

/// The stroke of a series: its width and, on paper values, nothing but thinness.
pub(super) const fn stroke(mark: Mark) -> (f64, bool) {
    match mark {
        Mark::Paper => (1.1, false),
        _ => (2.0, true),
    }
}

fn line(svg: &mut Svg, frame: &Frame, series: &Series) {
    let mut places: Vec<(f64, f64)> = series
        .points
        .iter()
        .filter_map(|point| frame.point(point.x, point.y))
        .collect();
    if series.mark == Mark::Steps {
        places = steps(&places);
    }
    if places.len() < 2 {
        return;
    }
    let path = path(&places);
    let colour = svg.colour(Ink::Series(series.colour));
    let (width, dashed) = stroke(series.mark);
    let dash = if dashed {
        style::dash(series.colour)
    } else {
        ""
    };
    let dash = if dash.is_empty() {
        String::new()
    } else {
        format!(" stroke-dasharray=\"{dash}\"")
    };
    svg.raw(format_args!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>"
    ));
}

/// The corners of a line that keeps its height until the next point.
fn steps(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(2 * places.len());
    for pair in places.windows(2) {
        corners.extend([pair[0], (pair[1].0, pair[0].1)]);
    }
    corners.extend(places.last());
    corners
}

fn band(svg: &mut Svg, frame: &Frame, along: Along, series: &Series) {
    let ends: Vec<[(f64, f64); 2]> = series
        .points
        .iter()
        .filter_map(|point| ends(frame, along, point))
        .collect();
    if ends.len() < 2 {
        return;
    }
    let upper = ends.iter().map(|[_, high]| *high);
    let lower = ends.iter().rev().map(|[low, _]| *low);
    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
    let path = path(&outline);
    let colour = svg.colour(Ink::Series(series.colour));
    let opacity = if series.mark == Mark::Paper {
        0.1
    } else {
        0.17
    };
    svg.raw(format_args!(
        "<path d=\"{path}Z\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>"
    ));
}

fn bars(svg: &mut Svg, frame: &Frame, along: Along, series: &Series) {
    for point in &series.points {
        let Some([low, high]) = ends(frame, along, point) else {
            continue;
        };
        let ink = Ink::Series(series.colour);
        svg.line(low, high, ink, 1.3);
        for (x, y) in [low, high] {
            let (dx, dy) = if along == Along::X {
                (3.5, 0.0)
            } else {
                (0.0, 3.5)
            };
            svg.line((x - dx, y - dy), (x + dx, y + dy), ink, 1.3);
        }
    }
}

/// Where the interval of a point begins and ends.
fn ends(frame: &Frame, along: Along, point: &Point) -> Option<[(f64, f64); 2]> {
    let (low, high) = point
        .interval
        .filter(|(low, high)| low.is_finite() && high.is_finite())?;
    let (x, y) = frame.point(point.x, point.y)?;
    // On a logarithmic axis, an interval that reaches below zero ends at the axis.
    Some(match along {
        Along::X => [(x, frame.y_at(low)), (x, frame.y_at(high))],
        Along::Y => [(frame.x_at(low), y), (frame.x_at(high), y)],
    })
}

fn markers(svg: &mut Svg, frame: &Frame, series: &Series, all: usize) {
    let colour = svg.colour(Ink::Series(series.colour));
    let (fill, size) = match series.mark {
        Mark::Paper => (svg.colour(Ink::Paper), 11.0),
        Mark::Line | Mark::Steps => (colour.clone(), 6.5),
        Mark::Curve | Mark::Points => (colour.clone(), 7.5),
    };
    let shown: Vec<&Point> = match series.mark {
        Mark::Line | Mark::Steps if all < 2 => return,
        Mark::Line | Mark::Steps => sparse(series),
        _ => series.points.iter().collect(),
    };
    let outlines: String = shown
        .into_iter()
        .filter_map(|point| frame.point(point.x, point.y))
        .map(|place| style::marker(series.colour, place, size))
        .collect();
    let stroke = if series.mark == Mark::Paper {
        colour
    } else {
        svg.colour(Ink::Paper)
    };
    svg.raw(format_args!(
        "<path d=\"{outlines}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.1\"/>"
    ));
}

/// A few points, at other places than those of its neighbours in the legend.
fn sparse(series: &Series) -> Vec<&Point> {
    let count = series.points.len();
    let shift = 0.15 + 0.7 * (series.colour as f64 * 0.382).fract();
    let index = |k: usize| ((k as f64 + shift) / MARKERS as f64 * count as f64) as usize;
    (0..MARKERS)
        .filter_map(|k| series.points.get(index(k)))
        .collect()
}

/// Path data in steps from point to point, in tenths of a unit: the page holds many long paths.
fn path(places: &[(f64, f64)]) -> String {
    let tenths = |(x, y): &(f64, f64)| ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
    let unit = |tenths: i64| tenths as f64 / 10.0;
    let mut path = String::with_capacity(places.len() * 8);
    let mut last = (0, 0);
    for (index, place) in places.iter().map(tenths).enumerate() {
        let (dx, dy) = (unit(place.0 - last.0), unit(place.1 - last.1));
        let command = match index {
            0 => "M",
            1 => "l",
            _ => " ",
        };
        // A minus sign separates as well as a space does.
        let gap = if dy < 0.0 { "" } else { " " };
        write!(path, "{command}{dx}{gap}{dy}").expect("a string takes every text");
        last = place;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_in_steps_without_drifting() {
        assert_eq!(
            path(&[(1.0, 2.0), (1.26, 1.5), (1.5, 3.0)]),
            "M1 2l0.3-0.5 0.2 1.5"
        );
        assert_eq!(path(&[]), "");
    }
}
