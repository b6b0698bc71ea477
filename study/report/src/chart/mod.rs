//! Charts as SVG.
//!
//! One renderer draws for the page and for files: on the page, colours are variables that follow
//! the theme; in a file they are plain values that every program understands. Text stays text.

mod axes;
mod bars;
mod canvas;
mod frame;
mod legend;
mod map;
mod marks;
mod svg;

use crate::model::Chart;
use crate::style::Medium;
pub(crate) use bars::render_bars;
use frame::Frame;
pub(crate) use frame::Shape;
pub(crate) use map::render_map;
use svg::Svg;

/// The chart as an SVG element, or as the content of an SVG file.
pub(crate) fn render(chart: &Chart, shape: Shape, medium: Medium) -> String {
    let frame = Frame::new(chart, shape);
    let mut svg = Svg::new(&frame, chart, shape, medium);
    axes::references_behind(&mut svg, &frame, chart);
    axes::draw(&mut svg, &frame, chart);
    marks::draw(&mut svg, &frame, chart);
    axes::reference_labels(&mut svg, &frame, chart);
    legend::draw(&mut svg, &frame, chart);
    svg.finish()
}

/// The shape of a chart in a file.
pub(crate) const fn file_shape(chart: &Chart) -> Shape {
    if chart.wide { Shape::Wide } else { Shape::Half }
}

/// Lowest and highest value of both axes, as the renderer chose them: for scripts.
pub(crate) fn bounds(chart: &Chart) -> ((f64, f64), (f64, f64)) {
    let frame = Frame::new(chart, file_shape(chart));
    (frame.x.bounds(), frame.y.bounds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Along, Axis, Mark, Point, Series};

    fn chart(numbers: &[f64], log: bool) -> Chart {
        let points = numbers.iter().map(|number| Point::new(*number, *number));
        let series = Series {
            label: "series".to_owned(),
            colour: 0,
            mark: Mark::Line,
            points: points.collect(),
        };
        Chart {
            id: "chart".to_owned(),
            title: "Chart".to_owned(),
            caption: String::new(),
            x: Axis::new("x", "").log(log),
            y: Axis::new("y", "").log(log),
            along: Along::X,
            wide: false,
            series: vec![series],
            references: Vec::new(),
        }
    }

    #[test]
    fn numbers_of_any_size_are_drawn() {
        let all: [&[f64]; 5] = [
            &[0.0, 1e60],
            &[-1e308, 1e308],
            &[5e-324],
            &[1e308],
            &[-1e308],
        ];
        for (numbers, log) in all.into_iter().flat_map(|it| [(it, false), (it, true)]) {
            for shape in [Shape::Half, Shape::Wide, Shape::Narrow] {
                let svg = render(&chart(numbers, log), shape, Medium::File);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{numbers:?}");
            }
        }
    }
}
