//! What layers of the transports measure, over time.

use hopflow_results::MetricUnit;

use super::curves::{COUNTED, chart, over_time};
use super::load::Transport;
use crate::model::{Along, Axis, Block, Chart, Section};

/// Charts of all metrics, one for each hop; without blocks if no layer measures anything.
pub(super) fn section(transports: &[Transport]) -> Section {
    let metrics = declared(transports);
    let blocks = metrics.iter().map(|metric| multiples(metric, transports));
    let prose = format!(
        "What the layers of the transports measure, by which they act. On hops it is what their \
         control measures at the sender; what the control from end to end measures stands at the \
         first hop. {COUNTED} Means over circuits and runs, bands their 95 % confidence intervals \
         over runs."
    );
    let section = Section::new("Metrics of layers", blocks.flatten().collect()).with_prose(prose);
    metrics.iter().fold(section, |section, metric| {
        section.with_prose(format!("{}: {}.", words(&metric.metric), metric.about))
    })
}

/// The metrics of all runs, each once.
fn declared(transports: &[Transport]) -> Vec<&MetricUnit> {
    let runs = transports.iter().flat_map(|transport| &transport.runs);
    let mut all: Vec<&MetricUnit> = Vec::new();
    for (metric, _) in runs.flat_map(|run| &run.metrics) {
        if !all.contains(&metric) {
            all.push(metric);
        }
    }
    all
}

/// A chart of a metric for each hop that has it.
fn multiples(metric: &MetricUnit, transports: &[Transport]) -> Option<Block> {
    let runs = transports.iter().flat_map(|transport| &transport.runs);
    let hops = runs
        .filter_map(|run| run.metric(metric))
        .flat_map(|hops| hops.keys());
    let last = *hops.max()?;
    let charts: Vec<Chart> = (0..=last)
        .filter_map(|hop| of_hop(metric, hop, last > 0, transports))
        .collect();
    (!charts.is_empty()).then_some(Block::Multiples(charts))
}

fn of_hop(metric: &MetricUnit, hop: u32, several: bool, transports: &[Transport]) -> Option<Chart> {
    let (unit, scale) = shown(&metric.unit);
    let name = words(&metric.metric);
    let series = transports
        .iter()
        .filter_map(|transport| over_time(transport, &|run| run.metric(metric)?.get(&hop), scale));
    let title = if several {
        format!("{name} of hop {}", hop + 1)
    } else {
        name.clone()
    };
    let id = format!("metric-{}-hop-{}", metric.metric, hop + 1);
    let mut chart = chart(&title, &id, Along::X, series.collect())?;
    chart.y = Axis::new(name, unit).including(0.0);
    Some(chart)
}

/// A metric's name as words.
fn words(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A unit as axes show it, and how many of them one unit of the metric is.
fn shown(unit: &str) -> (String, f64) {
    match unit {
        "seconds" => ("s".to_owned(), 1.0),
        "bytes_per_second" => ("kB/s".to_owned(), 1e-3),
        other => (other.replace('_', " "), 1.0),
    }
}
