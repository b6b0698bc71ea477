//! Single circuits over time: the slowest, the one in the middle and the fastest of each class.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_results::{Class, Fault};
use hopflow_stats::{End, Lasted, Survival};

use super::curves::{binned, chart, line};
use super::detail::{Course, Detail};
use super::faults;
use super::load::{OverTime, Run, Transport};
use crate::model::{Along, Axis, Block, Chart, Choice, Choices, Point, Reference, Section, Series};
use crate::text::significant;

/// Times at which a state is shown.
const BINS: usize = 90;

/// A circuit that is shown.
struct Chosen {
    circuit: u32,
    label: String,
}

/// What a circuit got, by which circuits of a class are ranked.
#[derive(Clone, Copy)]
struct Got {
    /// How long a download took, unless there was none or no circuit of the class completed any.
    took: Option<Took>,
    /// Bytes of data per second.
    goodput: f64,
}

/// How long a download took, in the mean.
#[derive(Clone, Copy)]
struct Took {
    seconds: f64,
    /// Whether all were complete; else it took at least as long.
    complete: bool,
}

/// The circuits that are shown.
pub(super) fn circuits(detail: &Detail, transports: &[Transport]) -> BTreeSet<u32> {
    let classes = Class::ALL.iter();
    let chosen = classes.flat_map(|class| choose(detail, transports, *class));
    chosen.map(|chosen| chosen.circuit).collect()
}

/// What happened on single circuits; without blocks where nothing was recorded over time.
pub(super) fn section(detail: &Detail, transports: &[Transport]) -> Section {
    let chosen: Vec<Chosen> = Class::ALL
        .iter()
        .flat_map(|class| choose(detail, transports, *class))
        .collect();
    let mut choices = Choices {
        label: "Circuit".to_owned(),
        ..Choices::default()
    };
    for Chosen { circuit, label } in chosen {
        let charts = charts(detail, transports, circuit);
        choices.choices.push(Choice {
            label,
            about: about(detail, transports, circuit),
            charts: charts.len(),
        });
        choices.charts.extend(charts);
    }
    let blocks = if choices.charts.is_empty() {
        Vec::new()
    } else {
        vec![Block::Choices(choices)]
    };
    Section::new("Single circuits", blocks).with_prose(format!(
        "The same users under each transport, in network {}: of each class the slowest circuit, the \
         one in the middle and the fastest, by the time to last byte of their downloads, the mean of \
         the means under each transport. Downloads that did not finish took at least as long as they waited; \
         where none finished, goodput decides. Delivered is what arrived since the start of the \
         run; waiting are the cells in the queues of the circuit at all nodes; the window is the \
         smallest of its hops.",
        detail.network
    ))
}

/// The slowest circuit of a class, the one in the middle and the fastest, as far as they differ.
fn choose(detail: &Detail, transports: &[Transport], class: Class) -> Vec<Chosen> {
    let mut circuits: Vec<(u32, Got)> = got(detail, transports, class).into_iter().collect();
    let timed = circuits.iter().any(|(_, got)| got.took.is_some());
    // A circuit without a download is slower than any that has one.
    let seconds = |got: &Got| got.took.map_or(f64::INFINITY, |took| took.seconds);
    circuits.sort_by(|(a, first), (b, second)| {
        let order = seconds(second).total_cmp(&seconds(first));
        let order = order.then(first.goodput.total_cmp(&second.goodput));
        order.then(a.cmp(b))
    });
    let Some(last) = circuits.len().checked_sub(1) else {
        return Vec::new();
    };
    let places = match last {
        0 => vec![("The only", 0)],
        1 => vec![("Slowest", 0), ("Fastest", 1)],
        _ => vec![("Slowest", 0), ("Middle", last / 2), ("Fastest", last)],
    };
    let chosen = |(name, place): (&str, usize)| {
        let (circuit, got) = circuits[place];
        let value = match got.took {
            Some(took) => {
                let bound = if took.complete { "" } else { "at least " };
                format!("{bound}{} s a download", significant(took.seconds))
            }
            None if timed => "no download".to_owned(),
            None => format!("{} kB/s", significant(got.goodput / 1e3)),
        };
        Chosen {
            circuit,
            label: format!("{name} {class} circuit ({circuit}): {value}"),
        }
    };
    places.into_iter().map(chosen).collect()
}

/// What each circuit of a class got that was recorded over time, mean over transports.
fn got(detail: &Detail, transports: &[Transport], class: Class) -> BTreeMap<u32, Got> {
    let mut goodputs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (_, run) in detail.runs(transports) {
        let of_class = run.circuits.iter().filter(|circuit| circuit.class == class);
        for circuit in of_class.filter(|circuit| detail.recorded.contains(&circuit.circuit)) {
            let goodputs = goodputs.entry(circuit.circuit).or_default();
            goodputs.push(circuit.goodput_bytes_per_s);
        }
    }
    let times = times(detail, transports, class);
    let of = |(circuit, goodputs): (u32, Vec<f64>)| {
        let took = times.get(&circuit).map(|under| Took {
            seconds: mean(under.iter().map(|took| took.seconds)),
            complete: under.iter().all(|took| took.complete),
        });
        let goodput = mean(goodputs.into_iter());
        (circuit, Got { took, goodput })
    };
    goodputs.into_iter().map(of).collect()
}

/// How long a download of each circuit took under each transport, in the mean; nothing if no download
/// of the class was complete.
fn times(detail: &Detail, transports: &[Transport], class: Class) -> BTreeMap<u32, Vec<Took>> {
    let mut times: BTreeMap<u32, Vec<Took>> = BTreeMap::new();
    let completed = |run: &Run| run.downloads.iter().any(|it| it.class == class);
    if !detail.runs(transports).any(|(_, run)| completed(run)) {
        return times;
    }
    for (_, run) in detail.runs(transports) {
        for (circuit, lasted) in by_circuit(run, class) {
            let complete = lasted.iter().all(|lasted| lasted.end == End::Seen);
            if let Some(survival) = Survival::of(lasted) {
                let seconds = survival.mean_or_more();
                let of_circuit = times.entry(circuit).or_default();
                of_circuit.push(Took { seconds, complete });
            }
        }
    }
    times
}

/// How long the downloads of each circuit of a class lasted. Those of a circuit that completed none count
/// as the longest of all circuits: a circuit that asked for something just before the end must not look
/// fast.
fn by_circuit(run: &Run, class: Class) -> BTreeMap<u32, Vec<Lasted>> {
    let requests = run.requests();
    let of_class = || requests.each_last_byte().filter(|(_, of, _)| *of == class);
    let longest = of_class()
        .map(|(_, _, lasted)| lasted.time)
        .fold(0.0, f64::max);
    let seen = of_class().filter(|(_, _, lasted)| lasted.end == End::Seen);
    let completed: BTreeSet<u32> = seen.map(|(circuit, _, _)| circuit).collect();
    let mut by_circuit: BTreeMap<u32, Vec<Lasted>> = BTreeMap::new();
    for (circuit, _, lasted) in of_class() {
        let lasted = if completed.contains(&circuit) {
            lasted
        } else {
            Lasted::never(longest)
        };
        by_circuit.entry(circuit).or_default().push(lasted);
    }
    by_circuit
}

/// The mean of one number or more.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The path of a circuit, if it is known, and what it got under each transport.
fn about(detail: &Detail, transports: &[Transport], circuit: u32) -> String {
    let name = |node: u32| detail.nodes.get(node as usize).map(|node| &*node.name);
    let path = detail.paths.iter();
    let names: Vec<&str> = path
        .filter(|at| at.circuit == circuit && at.leg == 0)
        .filter_map(|at| name(at.node))
        .collect();
    let got = detail.runs(transports).filter_map(|(transport, run)| {
        let mut circuits = run.circuits.iter();
        let row = circuits.find(|row| row.circuit == circuit)?;
        let goodput = significant(row.goodput_bytes_per_s / 1e3);
        Some(format!("{} {goodput} kB/s", transport.label))
    });
    let got = got.collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        format!("Goodput: {got}.")
    } else {
        format!("Path at first: {}. Goodput: {got}.", names.join(" – "))
    }
}

/// What is shown of a circuit: its data, its cells that wait, its smallest window.
fn charts(detail: &Detail, transports: &[Transport], circuit: u32) -> Vec<Chart> {
    let mut marks = faults::marks(faults_on(detail, transports, circuit).into_iter());
    let of = |title: &str, id: &str, axis: Axis, state: fn(&Course) -> OverTime, scale: f64| {
        let series = transports.iter().zip(&detail.by_transport);
        let series = series.filter_map(|(transport, of)| {
            series_of(transport, &state(of.courses.get(&circuit)?), scale)
        });
        let id = format!("{id}-circuit-{circuit}");
        let mut chart = chart(title, &id, Along::X, series.collect())?;
        chart.y = axis.including(0.0);
        Some(chart)
    };
    let cells = |label| Axis::new(label, "cells");
    let delivered = Axis::new("Delivered", "MB");
    let data = |course: &Course| course.delivered.clone();
    let charts = [
        of("Delivered", "delivered", delivered, data, 1e-6),
        of("Waiting", "waiting", cells("Waiting"), waiting, 1.0),
        of("Smallest window", "window", cells("Window"), smallest, 1.0),
    ];
    let mut charts: Vec<Chart> = charts.into_iter().flatten().collect();
    for chart in &mut charts {
        chart.references.clone_from(&marks);
        // Neighbours have the same marks: the first one names them.
        for mark in &mut marks {
            if let Reference::Span { label, .. } = mark {
                label.clear();
            }
        }
    }
    charts
}

fn series_of(transport: &Transport, course: &OverTime, scale: f64) -> Option<Series> {
    let end = course.points().next_back()?.0;
    let width = end / BINS as f64;
    let point = |(bin, mean): (usize, f64)| Point::new(width * (bin as f64 + 0.5), mean * scale);
    let points: Vec<Point> = binned(course, width, BINS).into_iter().map(point).collect();
    (points.len() > 1).then(|| line(transport, points))
}

/// The cells that wait on all hops.
fn waiting(course: &Course) -> OverTime {
    joined(&course.queues, |sum, cells| sum + cells)
}

/// The smallest window of all hops.
fn smallest(course: &Course) -> OverTime {
    joined(&course.windows, f64::min)
}

/// A state of all hops at each time, as one.
fn joined(hops: &BTreeMap<u32, OverTime>, join: fn(f64, f64) -> f64) -> OverTime {
    let mut values: BTreeMap<u64, f64> = BTreeMap::new();
    for (t, value) in hops.values().flat_map(OverTime::points) {
        // The bits of floats that are not negative are ordered as the floats are.
        let joined = values.entry(t.to_bits()).or_insert(f64::NAN);
        *joined = if joined.is_nan() {
            value
        } else {
            join(*joined, value)
        };
    }
    let mut course = OverTime::default();
    for (t, value) in values {
        course.add(f64::from_bits(t), value);
    }
    course
}

/// The faults of relays on a circuit's paths; all faults where the paths are not known.
fn faults_on<'t>(detail: &Detail, transports: &'t [Transport], circuit: u32) -> Vec<&'t Fault> {
    let of_circuit = detail.paths.iter().filter(|at| at.circuit == circuit);
    let names: BTreeSet<&str> = of_circuit
        .filter_map(|at| detail.nodes.get(at.node as usize))
        .map(|node| &*node.name)
        .collect();
    let Some((_, run)) = detail.runs(transports).next() else {
        return Vec::new();
    };
    let on_path = |fault: &&Fault| names.is_empty() || names.contains(&*fault.name);
    run.faults.iter().filter(on_path).collect()
}

#[cfg(test)]
mod tests {
    use hopflow_results::{Circuit, Class::Web, Download, FailCause, Failure, OpenRequest};

    use super::*;

    fn circuit(circuit: u32, goodput: f64) -> Circuit {
        Circuit {
            rate_bytes_per_s: goodput,
            goodput_bytes_per_s: goodput,
            ..Circuit::idle(circuit, 3, Web)
        }
    }

    fn downloads(circuit: u32, ttlb_s: f64, count: u32) -> impl Iterator<Item = Download> {
        (0..count).map(move |request| Download {
            circuit,
            class: Web,
            request,
            start_s: 0.0,
            ttfb_s: 0.1,
            ttlb_s,
            bytes: 1000,
        })
    }

    fn open(circuit: u32, waited_s: f64) -> OpenRequest {
        OpenRequest {
            circuit,
            class: Web,
            request: 1,
            start_s: 5.0,
            waited_s,
            ttfb_s: None,
            bytes: 0,
        }
    }

    /// What is said of the circuits 0, 1 and so on of as many goodputs.
    fn labels(goodputs: &[f64], runs: Vec<Run>) -> Vec<String> {
        let circuits: Vec<_> = (0..).zip(goodputs).map(|(n, of)| circuit(n, *of)).collect();
        let transport = |mut run: Run| {
            run.circuits.clone_from(&circuits);
            Transport {
                label: String::new(),
                colour: 0,
                runs: vec![run],
            }
        };
        let transports: Vec<_> = runs.into_iter().map(transport).collect();
        let detail = Detail {
            recorded: (0..circuits.len() as u32).collect(),
            ..Detail::default()
        };
        let chosen = choose(&detail, &transports, Web);
        chosen.into_iter().map(|chosen| chosen.label).collect()
    }

    #[test]
    fn a_circuit_that_hangs_or_is_closed_after_a_quick_page_is_not_the_fastest() {
        let quick = [downloads(0, 0.5, 1), downloads(2, 0.3, 1)];
        let closed = Failure {
            circuit: 2,
            class: Web,
            request: 1,
            start_s: 5.0,
            end_s: 5.1,
            ttfb_s: None,
            bytes: 0,
            endless: false,
            cause: FailCause::Closed,
        };
        let run = Run {
            downloads: quick
                .into_iter()
                .flatten()
                .chain(downloads(1, 1.0, 9))
                .collect(),
            open: vec![open(0, 55.5)],
            failed: vec![closed],
            ..Run::default()
        };
        assert_eq!(
            labels(&[1e3; 3], vec![run]),
            [
                "Slowest web circuit (0): at least 28.0 s a download",
                "Middle web circuit (2): at least 27.9 s a download",
                "Fastest web circuit (1): 1.00 s a download",
            ]
        );
    }

    #[test]
    fn a_circuit_that_asked_just_before_the_end_is_not_the_fastest() {
        let run = Run {
            downloads: downloads(0, 0.5, 1).chain(downloads(1, 2.0, 1)).collect(),
            open: vec![open(2, 0.02)],
            ..Run::default()
        };
        let labels = labels(&[1.0, 2.0, 3.0], vec![run]);
        assert!(
            labels[2].starts_with("Fastest web circuit (0): 0.5"),
            "{labels:?}"
        );
    }

    #[test]
    fn transports_weigh_alike_however_many_downloads_they_have() {
        let run = |first, many, second| Run {
            downloads: downloads(0, first, many)
                .chain(downloads(1, second, 1))
                .collect(),
            ..Run::default()
        };
        assert_eq!(
            labels(&[1e3; 2], vec![run(1.0, 9, 3.0), run(5.0, 1, 2.0)]),
            [
                "Slowest web circuit (0): 3.00 s a download",
                "Fastest web circuit (1): 2.50 s a download",
            ]
        );
    }

    #[test]
    fn where_no_download_is_complete_goodput_decides() {
        let run = Run {
            open: vec![open(0, 10.0), open(1, 50.0)],
            ..Run::default()
        };
        assert_eq!(
            labels(&[1e3, 2e3], vec![run]),
            [
                "Slowest web circuit (0): 1.00 kB/s",
                "Fastest web circuit (1): 2.00 kB/s",
            ]
        );
    }
}
