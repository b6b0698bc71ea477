//! The quantities by which transports are compared.

use std::fmt;

use hopflow_results::{Circuit, Class, jain_at_bottlenecks, max_min_index};
use hopflow_stats::{Lasted, Mean, Survival};

use super::load::{Measured, Run};

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
    pub(super) of: fn(&Run) -> Option<Measured>,
}

const fn measure(
    key: &'static str,
    title: &'static str,
    (dimension, better): (Dimension, Better),
    of: fn(&Run) -> Option<Measured>,
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
pub(super) const MEASURES: [Measure; 21] = [
    measure(
        "web_ttfb_median",
        "Web: time to first byte, median",
        DELAY,
        |run| first_byte(run, Web, 0.5),
    ),
    measure(
        "web_ttfb_p90",
        "Web: time to first byte, 90th percentile",
        DELAY,
        |run| first_byte(run, Web, 0.9),
    ),
    measure(
        "web_ttlb_median",
        "Web: time to last byte, median",
        DELAY,
        |run| last_byte(run, Web, 0.5),
    ),
    measure(
        "web_ttlb_p90",
        "Web: time to last byte, 90th percentile",
        DELAY,
        |run| last_byte(run, Web, 0.9),
    ),
    measure(
        "web_ttlb_mean",
        "Web: time to last byte, mean",
        DELAY,
        |run| mean_last_byte(run, Web),
    ),
    measure(
        "web_open_wait",
        "Web: wait of requests open at the end, mean",
        DELAY,
        |run| open_wait(run, Web),
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
        |run| first_byte(run, Bulk, 0.5),
    ),
    measure(
        "bulk_ttfb_p90",
        "Bulk: time to first byte, 90th percentile",
        DELAY,
        |run| first_byte(run, Bulk, 0.9),
    ),
    measure(
        "bulk_ttlb_median",
        "Bulk: time to last byte, median",
        DELAY,
        |run| last_byte(run, Bulk, 0.5),
    ),
    measure(
        "bulk_ttlb_p90",
        "Bulk: time to last byte, 90th percentile",
        DELAY,
        |run| last_byte(run, Bulk, 0.9),
    ),
    measure(
        "bulk_ttlb_mean",
        "Bulk: time to last byte, mean",
        DELAY,
        |run| mean_last_byte(run, Bulk),
    ),
    measure(
        "bulk_open_wait",
        "Bulk: wait of requests open at the end, mean",
        DELAY,
        |run| open_wait(run, Bulk),
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
        |run| max_min_index(&run.circuits).map(Measured::exactly),
    ),
    measure(
        "jain",
        "Jain’s index at a shared bottleneck",
        INDEX,
        |run| average(jain_at_bottlenecks(&run.circuits).into_iter()),
    ),
];

/// The time to first byte within which a share of the requests of a class got it.
fn first_byte(run: &Run, class: Class, level: f64) -> Option<Measured> {
    quantile(run.requests().first_bytes(|_, of| of == class), level)
}

/// The same for the last byte.
fn last_byte(run: &Run, class: Class, level: f64) -> Option<Measured> {
    quantile(run.requests().last_bytes(|_, of| of == class), level)
}

fn quantile(times: Vec<Lasted>, level: f64) -> Option<Measured> {
    let times = Survival::of(times)?;
    Some(Measured {
        value: times.quantile_or_longest(level),
        at_least: times.quantile(level).is_none(),
    })
}

fn mean_last_byte(run: &Run, class: Class) -> Option<Measured> {
    let times = run.requests().last_bytes(|_, of| of == class);
    let times = Survival::of(times)?;
    Some(Measured {
        value: times.mean_or_more(),
        at_least: times.share_within(f64::INFINITY) < 1.0,
    })
}

/// How long those waited that got no complete answer; zero if all did.
fn open_wait(run: &Run, class: Class) -> Option<Measured> {
    let open = run.open.iter().filter(|open| open.class == class);
    let waits: Vec<f64> = open.map(|open| open.waited_s).collect();
    let any = run.downloads.iter().any(|download| download.class == class);
    average(waits.iter().copied()).or(any.then_some(Measured::exactly(0.0)))
}

fn of_class(run: &Run, class: Class) -> impl Iterator<Item = &Circuit> {
    run.circuits
        .iter()
        .filter(move |circuit| circuit.class == class)
}

fn goodput(run: &Run, class: Class) -> Option<Measured> {
    average(of_class(run, class).map(|circuit| circuit.goodput_bytes_per_s))
}

fn downloads(run: &Run, class: Class) -> Option<Measured> {
    of_class(run, class).next()?;
    let downloads = run.downloads.iter();
    let count = downloads.filter(|download| download.class == class).count();
    Some(Measured::exactly(count as f64))
}

fn average(values: impl Iterator<Item = f64>) -> Option<Measured> {
    let mean = Mean::of(&values.collect::<Vec<_>>())?;
    Some(Measured::exactly(mean.mean))
}

#[cfg(test)]
mod tests {
    use hopflow_results::{Download, FailCause, Failure, OpenRequest};

    use super::*;

    /// Web users of a run of a hundred seconds, some of whose circuits hang from the start.
    fn run(hanging: u32) -> Run {
        let downloads = (hanging..100).flat_map(|circuit| {
            (0..8).map(move |request| Download {
                circuit,
                class: Web,
                request,
                start_s: 12.0 * f64::from(request),
                ttfb_s: 0.3,
                ttlb_s: 1.0 + 0.005 * f64::from(circuit),
                bytes: 327_680,
            })
        });
        let open = (0..hanging).map(|circuit| OpenRequest {
            circuit,
            class: Web,
            request: 0,
            start_s: 0.0,
            waited_s: 100.0,
            ttfb_s: None,
            bytes: 0,
        });
        Run {
            downloads: downloads.collect(),
            open: open.collect(),
            ..Run::default()
        }
    }

    /// Web users who ask one after the other for pages that take from 1 to 10 s, and whose circuits
    /// are closed if a page takes longer than `most`.
    fn closing(most: f64) -> Run {
        let mut run = Run::default();
        for circuit in 0..100_u32 {
            let (start_s, ttlb_s) = (0.9 * f64::from(circuit), 1.0 + f64::from(circuit) / 11.0);
            if ttlb_s <= most {
                run.downloads.push(Download {
                    circuit,
                    class: Web,
                    request: 0,
                    start_s,
                    ttfb_s: 0.5,
                    ttlb_s,
                    bytes: 327_680,
                });
            } else {
                run.failed.push(Failure {
                    circuit,
                    class: Web,
                    request: 0,
                    start_s,
                    end_s: start_s + most,
                    ttfb_s: Some(0.5),
                    bytes: 1000,
                    endless: false,
                    cause: FailCause::Closed,
                });
            }
        }
        run
    }

    fn measured(key: &str, run: &Run) -> Measured {
        let mut measures = MEASURES.iter();
        let measure = measures.find(|measure| measure.quantity.key == key);
        (measure.unwrap().of)(run).unwrap()
    }

    fn of(key: &str, run: &Run) -> f64 {
        measured(key, run).value
    }

    #[test]
    fn a_transport_that_hangs_circuits_looks_bad() {
        let (well, hanging) = (run(0), run(20));
        // Twenty of a hundred circuits never answer: 20 of 660 requests.
        assert!(of("web_ttlb_mean", &hanging) > 3.0 * of("web_ttlb_mean", &well));
        assert_eq!(of("web_open_wait", &well), 0.0);
        assert!((of("web_open_wait", &hanging) - 100.0).abs() < 1e-9);
        assert!(of("web_ttlb_median", &hanging) > of("web_ttlb_median", &well));
        // All hang: no quantile is known, and each is at least as long as the run.
        assert!((of("web_ttfb_p90", &run(100)) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn times_are_bounds_where_too_few_downloads_ended() {
        let at_least = |key, hanging| measured(key, &run(hanging)).at_least;
        // Twenty circuits that hang are 3 % of the requests.
        for (key, expected) in [
            ("web_ttlb_median", [false, false, true]),
            ("web_ttfb_p90", [false, false, true]),
            ("web_ttlb_mean", [false, true, true]),
            ("web_open_wait", [false, false, false]),
        ] {
            assert_eq!(
                [0, 20, 100].map(|hanging| at_least(key, hanging)),
                expected,
                "{key}"
            );
        }
    }

    #[test]
    fn a_transport_that_closes_circuits_looks_bad() {
        let (patient, closing) = (closing(20.0), closing(4.0));
        assert_eq!((patient.failed.len(), closing.failed.len()), (0, 66));
        for key in ["web_ttlb_median", "web_ttlb_p90", "web_ttlb_mean"] {
            assert!(of(key, &closing) > 2.0 * of(key, &patient), "{key}");
        }
    }
}
