//! The quantities by which transports are compared.

use std::fmt;

use hopflow_results::{Circuit, Class, Download, jain_at_bottlenecks, max_min_index};
use hopflow_stats::{Mean, Sorted};

use super::load::Run;

/// A quantity by which transports are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The name for machines.
    pub key: &'static str,
    /// The name for readers.
    pub title: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// Which values users wish for.
    pub better: Better,
}

/// What a quantity measures; decides its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Time, in seconds.
    Time,
    /// Data over time, in bytes per second.
    Rate,
    /// Data, in bytes.
    Data,
    /// A plain number.
    Plain,
}

/// Which values of a quantity are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Low ones.
    Lower,
    /// High ones.
    Higher,
    /// It depends.
    Neither,
}

impl Dimension {
    /// The unit of all values; empty for plain numbers.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Rate => "B/s",
            Self::Data => "B",
            Self::Plain => "",
        }
    }

    /// A unit in which `largest` is a number of a readable size, and the factor to it.
    pub(super) fn readable(self, largest: f64) -> (&'static str, f64) {
        match self {
            Self::Rate if largest >= 1e7 => ("MB/s", 1e-6),
            Self::Rate => ("kB/s", 1e-3),
            Self::Data if largest >= 1e7 => ("MB", 1e-6),
            Self::Data => ("kB", 1e-3),
            Self::Time if largest < 1.0 => ("ms", 1e3),
            Self::Time => ("s", 1.0),
            Self::Plain => ("", 1.0),
        }
    }
}

impl fmt::Display for Better {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        })
    }
}

/// A quantity and how it is taken from a run; `None` if the run does not have it.
pub(super) struct Measure {
    pub(super) quantity: Quantity,
    pub(super) of: fn(&Run) -> Option<f64>,
}

const fn measure(
    key: &'static str,
    title: &'static str,
    (dimension, better): (Dimension, Better),
    of: fn(&Run) -> Option<f64>,
) -> Measure {
    let quantity = Quantity {
        key,
        title,
        dimension,
        better,
    };
    Measure { quantity, of }
}

const DELAY: (Dimension, Better) = (Dimension::Time, Better::Lower);
const GOODPUT: (Dimension, Better) = (Dimension::Rate, Better::Higher);
const INDEX: (Dimension, Better) = (Dimension::Plain, Better::Higher);
const COUNT: (Dimension, Better) = (Dimension::Plain, Better::Neither);
const WAITING: (Dimension, Better) = (Dimension::Data, Better::Lower);

use Class::{Bulk, Web};

/// All quantities, in the order in which they are shown.
pub(super) const MEASURES: [Measure; 17] = [
    measure(
        "web_ttfb_median",
        "Web: time to first byte, median",
        DELAY,
        |run| quantile(run, Web, ttfb, 0.5),
    ),
    measure(
        "web_ttfb_p90",
        "Web: time to first byte, 90th percentile",
        DELAY,
        |run| quantile(run, Web, ttfb, 0.9),
    ),
    measure(
        "web_ttlb_median",
        "Web: time to last byte, median",
        DELAY,
        |run| quantile(run, Web, ttlb, 0.5),
    ),
    measure(
        "web_ttlb_p90",
        "Web: time to last byte, 90th percentile",
        DELAY,
        |run| quantile(run, Web, ttlb, 0.9),
    ),
    measure(
        "web_goodput",
        "Web: goodput of a circuit, mean",
        GOODPUT,
        |run| goodput(run, Web),
    ),
    measure("web_downloads", "Web: completed downloads", COUNT, |run| {
        downloads(run, Web)
    }),
    measure(
        "bulk_ttfb_median",
        "Bulk: time to first byte, median",
        DELAY,
        |run| quantile(run, Bulk, ttfb, 0.5),
    ),
    measure(
        "bulk_ttfb_p90",
        "Bulk: time to first byte, 90th percentile",
        DELAY,
        |run| quantile(run, Bulk, ttfb, 0.9),
    ),
    measure(
        "bulk_ttlb_median",
        "Bulk: time to last byte, median",
        DELAY,
        |run| quantile(run, Bulk, ttlb, 0.5),
    ),
    measure(
        "bulk_ttlb_p90",
        "Bulk: time to last byte, 90th percentile",
        DELAY,
        |run| quantile(run, Bulk, ttlb, 0.9),
    ),
    measure(
        "bulk_goodput",
        "Bulk: goodput of a circuit, mean",
        GOODPUT,
        |run| goodput(run, Bulk),
    ),
    measure(
        "bulk_downloads",
        "Bulk: completed downloads",
        COUNT,
        |run| downloads(run, Bulk),
    ),
    measure(
        "backlog",
        "Backlog R − W of a circuit, mean",
        WAITING,
        |run| average(run.circuits.iter().filter_map(|c| c.backlog_mean_bytes)),
    ),
    measure(
        "latency",
        "Latency of cells in the overlay, mean",
        DELAY,
        |run| average(run.circuits.iter().filter_map(|c| c.latency_mean_s)),
    ),
    measure(
        "latency_p95",
        "Latency of cells, 95th percentile",
        DELAY,
        |run| average(run.circuits.iter().filter_map(|c| c.latency_p95_s)),
    ),
    measure(
        "fairness",
        "Fairness F, against max-min rates",
        INDEX,
        |run| max_min_index(&run.circuits),
    ),
    measure(
        "jain",
        "Jain’s index at a shared bottleneck",
        INDEX,
        |run| average(jain_at_bottlenecks(&run.circuits).into_iter()),
    ),
];

const fn ttfb(download: &Download) -> f64 {
    download.ttfb_s
}

const fn ttlb(download: &Download) -> f64 {
    download.ttlb_s
}

fn quantile(run: &Run, class: Class, of: fn(&Download) -> f64, level: f64) -> Option<f64> {
    let sorted = Sorted::new(run.over_downloads(class, of));
    sorted.map(|sorted| sorted.quantile(level))
}

fn of_class(run: &Run, class: Class) -> impl Iterator<Item = &Circuit> {
    run.circuits
        .iter()
        .filter(move |circuit| circuit.class == class)
}

fn goodput(run: &Run, class: Class) -> Option<f64> {
    average(of_class(run, class).map(|circuit| circuit.goodput_bytes_per_s))
}

fn downloads(run: &Run, class: Class) -> Option<f64> {
    of_class(run, class).next()?;
    Some(run.over_downloads(class, ttlb).len() as f64)
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    Mean::of(&values.collect::<Vec<_>>()).map(|mean| mean.mean)
}
