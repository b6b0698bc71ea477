//! A chart on the page: its drawings and the values that scripts read.

use crate::chart::{self, Shape};
use crate::model::{Along, Axis, Chart, Mark, Point, Series};
use crate::style::Medium;
use crate::text::{data, escape, json};

/// The chart as a figure, drawn once for wide pages and once for phones.
pub(super) fn render(chart: &Chart) -> String {
    let (class, shape) = if chart.wide {
        ("chart full", Shape::Wide)
    } else {
        ("chart", Shape::Half)
    };
    figure(chart, class, &[shape, Shape::Narrow])
}

/// One of several small charts: a third of a page is as wide as a phone.
pub(super) fn render_small(chart: &Chart) -> String {
    figure(chart, "chart third", &[Shape::Narrow])
}

fn figure(chart: &Chart, class: &str, shapes: &[Shape]) -> String {
    let draw = |shape: &Shape| chart::render(chart, *shape, Medium::Page);
    let drawings: String = shapes.iter().map(draw).collect();
    format!(
        "<figure class=\"{class}\" id=\"c-{id}\"><figcaption><h3>{title}</h3><p>{caption}</p></figcaption>\
         {drawings}<script type=\"application/json\">{values}</script></figure>\n",
        id = chart.id,
        title = escape(&chart.title),
        caption = escape(&chart.caption),
        values = values(chart),
    )
}

fn values(chart: &Chart) -> String {
    let (x, y) = chart::bounds(chart);
    let along = if chart.along == Along::X { "x" } else { "y" };
    let all: Vec<String> = chart.series.iter().map(series).collect();
    format!(
        "{{\"id\":{},\"along\":\"{along}\",\"x\":{},\"y\":{},\"series\":[{}]}}",
        json(&chart.id),
        axis(&chart.x, x),
        axis(&chart.y, y),
        all.join(",")
    )
}

fn axis(axis: &Axis, (low, high): (f64, f64)) -> String {
    // Exact, because places are computed from the bounds.
    format!(
        "{{\"label\":{},\"unit\":{},\"log\":{},\"low\":{low},\"high\":{high}}}",
        json(&axis.label),
        json(&axis.unit),
        axis.log
    )
}

fn series(series: &Series) -> String {
    let finite = |point: &&Point| point.x.is_finite() && point.y.is_finite();
    let points: Vec<String> = series.points.iter().filter(finite).map(point).collect();
    format!(
        "{{\"label\":{},\"colour\":{},\"paper\":{},\"points\":[{}]}}",
        json(&series.label),
        series.colour % 8,
        series.mark == Mark::Paper,
        points.join(",")
    )
}

fn point(point: &Point) -> String {
    let (x, y) = (data(point.x), data(point.y));
    match point.interval {
        Some((low, high)) if low.is_finite() && high.is_finite() => {
            format!("[{x},{y},{},{}]", data(low), data(high))
        }
        _ => format!("[{x},{y}]"),
    }
}
