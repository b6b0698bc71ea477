//! A result folder in a few numbers per transport.

use std::fmt;

use hopflow_results::{Circuit, Class, Download, Error, Folder, RunEntry};
pub use hopflow_stats::Mean;
use hopflow_stats::{Sorted, jain};

/// A quantity of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The name for machines.
    pub key: &'static str,
    /// The name for readers.
    pub title: &'static str,
    /// The unit; empty for a plain number.
    pub unit: &'static str,
}

impl fmt::Display for Quantity {
    /// The title with the unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)?;
        match self.unit {
            "" => Ok(()),
            unit => write!(f, " ({unit})"),
        }
    }
}

/// One transport in the quantities of [`QUANTITIES`].
#[derive(Clone, Debug)]
pub struct Row {
    /// The transport's label.
    pub transport: String,
    /// Its runs.
    pub runs: usize,
    /// The quantities over runs, each with a 95 % confidence interval; `None` where there is
    /// nothing to measure, as the time of web pages without web users.
    pub values: Vec<Option<Mean>>,
}

/// What of a run goes into the summary: a value of each quantity, unless there is none.
type Values = [Option<f64>; QUANTITIES.len()];

const fn quantity(key: &'static str, title: &'static str, unit: &'static str) -> Quantity {
    Quantity { key, title, unit }
}

/// The quantities of a summary, each a median or mean within a run.
pub const QUANTITIES: [Quantity; 8] = [
    quantity("web_ttfb", "Web page: first byte, median", "s"),
    quantity("web_ttlb", "Web page: complete, median", "s"),
    quantity("bulk_ttlb", "Bulk file: complete, median", "s"),
    quantity("bulk_goodput", "Bulk circuit: goodput, mean", "kB/s"),
    quantity("bulk_fairness", "Bulk circuits: Jain's fairness index", ""),
    quantity("latency", "Latency in the overlay, median", "ms"),
    quantity("backlog", "Backlog of a circuit, mean", "kB"),
    quantity("downloads", "Completed downloads", ""),
];

/// Summarises runs, in the order in which their transports first appear.
///
/// # Errors
/// If a run's tables are missing or damaged.
pub fn summarise(folder: &Folder, runs: &[RunEntry]) -> Result<Vec<Row>, Error> {
    let mut transports: Vec<(&str, Vec<Values>)> = Vec::new();
    for run in runs {
        let values = measure(&folder.read_table(run)?, &folder.read_table(run)?);
        let label = run.key.transport.as_str();
        match transports.iter_mut().find(|(known, _)| *known == label) {
            Some((_, runs)) => runs.push(values),
            None => transports.push((label, vec![values])),
        }
    }
    let rows = transports.into_iter().map(|(transport, runs)| Row {
        transport: transport.to_owned(),
        runs: runs.len(),
        values: (0..QUANTITIES.len())
            .map(|n| {
                let measured: Vec<f64> = runs.iter().filter_map(|values| values[n]).collect();
                Mean::of(&measured)
            })
            .collect(),
    });
    Ok(rows.collect())
}

fn measure(downloads: &[Download], circuits: &[Circuit]) -> Values {
    let times = |class, time: fn(&Download) -> f64| {
        let of_class = downloads.iter().filter(|download| download.class == class);
        median(of_class.map(time).collect())
    };
    let bulk = circuits
        .iter()
        .filter(|circuit| circuit.class == Class::Bulk);
    let goodputs: Vec<f64> = bulk.map(|circuit| circuit.goodput_bytes_per_s).collect();
    let latencies = circuits.iter().filter_map(|circuit| circuit.latency_p50_s);
    let backlogs: Vec<f64> = circuits
        .iter()
        .filter_map(|circuit| circuit.backlog_mean_bytes)
        .collect();
    [
        times(Class::Web, |download| download.ttfb_s),
        times(Class::Web, |download| download.ttlb_s),
        times(Class::Bulk, |download| download.ttlb_s),
        mean(&goodputs).map(|goodput| goodput / 1e3),
        jain(&goodputs).filter(|_| goodputs.len() > 1),
        median(latencies.collect()).map(|latency| latency * 1e3),
        mean(&backlogs).map(|backlog| backlog / 1e3),
        Some(downloads.len() as f64),
    ]
}

fn median(values: Vec<f64>) -> Option<f64> {
    Sorted::new(values).map(|sorted| sorted.median())
}

fn mean(values: &[f64]) -> Option<f64> {
    Mean::of(values).map(|mean| mean.mean)
}
