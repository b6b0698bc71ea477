//! The numbers on top: per transport, and against one of them.

use hopflow_results::Class;
use hopflow_stats::{Mean, Sorted, fairness_index, jain};

use super::load::{self, Run, Transport};
use crate::model::{Block, Cell, Column, Section, Table};

/// A number that a run is summed up by.
struct Metric {
    heading: String,
    quantity: Quantity,
    of: OfRun,
}

/// A number of a run, if the run has it.
type OfRun = Box<dyn Fn(&Run) -> Option<f64>>;

/// What a metric measures; decides its unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Rate,
    Bytes,
    Time,
    Plain,
}

impl Quantity {
    /// A unit in which `largest` is a number of a readable size, and the factor to it.
    fn unit(self, largest: f64) -> (&'static str, f64) {
        match self {
            Self::Rate if largest >= 1e7 => ("MB/s", 1e-6),
            Self::Rate => ("kB/s", 1e-3),
            Self::Bytes if largest >= 1e7 => ("MB", 1e-6),
            Self::Bytes => ("kB", 1e-3),
            Self::Time if largest < 1.0 => ("ms", 1e3),
            Self::Time => ("s", 1.0),
            Self::Plain => ("", 1.0),
        }
    }
}

/// The summary: one table of what was carried, one of how long it took, one of differences.
pub(super) fn section(transports: &[Transport]) -> Section {
    let carried = present(carried(transports), transports);
    let delays = present(delays(), transports);
    let mut blocks = Vec::new();
    for (caption, metrics) in [
        (
            "What the transports carry: means over runs, ± half of a 95 % confidence interval",
            &carried,
        ),
        (
            "How long it takes: means over runs, ± half of a 95 % confidence interval",
            &delays,
        ),
    ] {
        if !metrics.is_empty() {
            blocks.push(Block::Table(table(caption, metrics, transports)));
        }
    }
    let metrics: Vec<&Metric> = carried.iter().chain(&delays).collect();
    if transports.len() > 1 && !metrics.is_empty() {
        blocks.push(Block::Table(differences(&metrics, transports)));
    }
    let section = Section::new("Summary", blocks);
    if transports.iter().all(|transport| transport.runs.len() < 2) {
        return section.with_prose(
            "Each transport ran once, so there are no confidence intervals: chance may explain \
             any difference. Several seeds tell more.",
        );
    }
    section
}

/// Rates and fairness are of the circuits that take what they get: what others carry depends on
/// their users' pauses.
fn carried(transports: &[Transport]) -> Vec<Metric> {
    let greedy = load::greedy_label(transports);
    let metric = |heading: String, quantity, of: fn(&Run) -> Option<f64>| Metric {
        heading,
        quantity,
        of: Box::new(of),
    };
    let mut metrics = vec![
        metric(format!("Rate{greedy}"), Quantity::Rate, |run| {
            average(run.greedy().map(|circuit| circuit.rate_bytes_per_s))
        }),
        metric(format!("Goodput{greedy}"), Quantity::Rate, |run| {
            average(goodputs(run))
        }),
        metric(format!("Jain’s index{greedy}"), Quantity::Plain, |run| {
            jain(&goodputs(run).collect::<Vec<_>>())
        }),
        metric("Max-min F".to_owned(), Quantity::Plain, max_min_index),
        metric("Backlog".to_owned(), Quantity::Bytes, |run| {
            average(
                run.circuits
                    .iter()
                    .filter_map(|circuit| circuit.backlog_mean_bytes),
            )
        }),
    ];
    metrics.extend(Class::ALL.iter().map(|class| Metric {
        heading: format!("Downloads, {class}"),
        quantity: Quantity::Plain,
        of: Box::new(|run| {
            let count = run
                .downloads
                .iter()
                .filter(|download| download.class == *class)
                .count();
            Some(count as f64).filter(|count| *count > 0.0)
        }),
    }));
    metrics
}

fn delays() -> Vec<Metric> {
    let mut metrics = Vec::new();
    for class in Class::ALL {
        metrics.push(Metric {
            heading: format!("TTFB, {class}, median"),
            quantity: Quantity::Time,
            of: Box::new(|run| median(run.over_downloads(*class, |download| download.ttfb_s))),
        });
    }
    for class in Class::ALL {
        metrics.push(Metric {
            heading: format!("TTLB, {class}, median"),
            quantity: Quantity::Time,
            of: Box::new(|run| median(run.over_downloads(*class, |download| download.ttlb_s))),
        });
    }
    metrics.push(Metric {
        heading: "Latency, mean".to_owned(),
        quantity: Quantity::Time,
        of: Box::new(|run| {
            average(
                run.circuits
                    .iter()
                    .filter_map(|circuit| circuit.latency_mean_s),
            )
        }),
    });
    metrics.push(Metric {
        heading: "Latency, 95th pct.".to_owned(),
        quantity: Quantity::Time,
        of: Box::new(|run| {
            average(
                run.circuits
                    .iter()
                    .filter_map(|circuit| circuit.latency_p95_s),
            )
        }),
    });
    metrics
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    Mean::of(&values.collect::<Vec<_>>()).map(|mean| mean.mean)
}

fn goodputs(run: &Run) -> impl Iterator<Item = f64> {
    run.greedy().map(|circuit| circuit.goodput_bytes_per_s)
}

/// The index over the circuits for which a fair rate is known.
fn max_min_index(run: &Run) -> Option<f64> {
    let rates = run
        .circuits
        .iter()
        .filter_map(|c| Some((c.fair_bytes_per_s?, c.goodput_bytes_per_s)));
    let (fair, observed): (Vec<f64>, Vec<f64>) = rates.unzip();
    fairness_index(&fair, &observed)
}

fn median(values: Vec<f64>) -> Option<f64> {
    Sorted::new(values).map(|sorted| sorted.median())
}

/// The metrics that any run has.
fn present(metrics: Vec<Metric>, transports: &[Transport]) -> Vec<Metric> {
    let any = |metric: &Metric| {
        transports
            .iter()
            .flat_map(|transport| &transport.runs)
            .any(|run| (metric.of)(run).is_some())
    };
    metrics.into_iter().filter(any).collect()
}

/// The mean of a metric over the runs that have it.
fn mean(metric: &Metric, transport: &Transport) -> Option<Mean> {
    let values: Vec<f64> = transport
        .runs
        .iter()
        .filter_map(|run| (metric.of)(run))
        .collect();
    Mean::of(&values)
}

fn table(caption: &str, metrics: &[Metric], transports: &[Transport]) -> Table {
    let mut columns = vec![Column::new("Transport")];
    let mut rows: Vec<Vec<Cell>> = transports
        .iter()
        .map(|transport| vec![label(transport)])
        .collect();
    for metric in metrics {
        let means: Vec<Option<Mean>> = transports.iter().map(|t| mean(metric, t)).collect();
        let largest = means
            .iter()
            .flatten()
            .map(|mean| mean.mean.abs())
            .fold(0.0, f64::max);
        let (unit, scale) = metric.quantity.unit(largest);
        columns.push(Column::with_unit(&metric.heading, unit));
        for (row, mean) in rows.iter_mut().zip(means) {
            row.push(Cell::mean(mean, scale));
        }
    }
    Table {
        caption: caption.to_owned(),
        columns,
        rows,
    }
}

fn label(transport: &Transport) -> Cell {
    Cell::Label {
        text: transport.label.clone(),
        colour: transport.colour,
    }
}

/// What changes are counted from: Tor as it is deployed, or the first transport.
fn baseline(transports: &[Transport]) -> &Transport {
    let deployed = transports
        .iter()
        .find(|transport| transport.label == "vanilla");
    deployed.unwrap_or(&transports[0])
}

/// How each transport differs from the baseline, network by network.
fn differences(metrics: &[&Metric], transports: &[Transport]) -> Table {
    let baseline = baseline(transports);
    let others = || {
        transports
            .iter()
            .filter(|other| other.label != baseline.label)
    };
    let mut columns = vec![Column::new("Quantity")];
    columns.extend(others().map(|other| Column::with_unit(&other.label, "%")));
    let row = |metric: &&Metric| {
        let mut row = vec![Cell::Text(metric.heading.clone())];
        row.extend(others().map(|other| difference(metric, baseline, other)));
        row
    };
    Table {
        caption: format!(
            "Change against {}: mean over pairs of runs on the same network with the same seed, as \
             a share of {}’s mean, ± half of a 95 % confidence interval; grey where it covers zero",
            baseline.label, baseline.label
        ),
        columns,
        rows: metrics.iter().map(row).collect(),
    }
}

fn difference(metric: &Metric, baseline: &Transport, other: &Transport) -> Cell {
    let pairs = baseline.runs.iter().filter_map(|run| {
        let partner = other
            .runs
            .iter()
            .find(|candidate| candidate.key == run.key)?;
        Some(((metric.of)(run)?, (metric.of)(partner)?))
    });
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let whole = Mean::of(&before)
        .map(|mean| mean.mean.abs())
        .filter(|mean| *mean > 0.0);
    match whole {
        Some(whole) => {
            let percent =
                |values: &[f64]| values.iter().map(|v| 100.0 * v / whole).collect::<Vec<_>>();
            let change = Mean::of_paired_difference(&percent(&before), &percent(&after));
            change.map_or(Cell::Empty, Cell::Change)
        }
        None => Cell::Empty,
    }
}
