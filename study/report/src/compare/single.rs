//! Single circuits over time: the slowest, the one in the middle and the fastest of each class.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_results::{Class, Fault};

use super::curves::{binned, chart, line};
use super::detail::{Course, Detail};
use super::faults;
use super::load::{OverTime, Transport};
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
    /// Seconds that a download took, mean over downloads, unless no circuit of the class had any.
    seconds: Option<f64>,
    /// Bytes of data per second.
    goodput: f64,
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
         one in the middle and the fastest, by the mean time of their downloads over the \
         transports, or by goodput where downloads do not end. Delivered is what arrived since the \
         start of the run; waiting are the cells in the queues of the circuit at all nodes; the \
         window is the smallest of its hops.",
        detail.network
    ))
}

/// The slowest circuit of a class, the one in the middle and the fastest, as far as they differ.
fn choose(detail: &Detail, transports: &[Transport], class: Class) -> Vec<Chosen> {
    let mut circuits: Vec<(u32, Got)> = got(detail, transports, class).into_iter().collect();
    let timed = circuits.iter().any(|(_, got)| got.seconds.is_some());
    // A circuit that completed nothing is slower than any that did.
    let slowness = |got: &Got| {
        if timed {
            got.seconds.unwrap_or(f64::INFINITY)
        } else {
            -got.goodput
        }
    };
    circuits.sort_by(|a, b| {
        let order = slowness(&b.1).total_cmp(&slowness(&a.1));
        order.then(a.0.cmp(&b.0))
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
        let value = match got.seconds {
            Some(seconds) => format!("{} s a download", significant(seconds)),
            None if timed => "no download was complete".to_owned(),
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
    let mut goodputs: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let mut times: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let add = |sums: &mut BTreeMap<u32, (f64, f64)>, circuit, value| {
        let (sum, count) = sums.entry(circuit).or_default();
        *sum += value;
        *count += 1.0;
    };
    for (_, run) in detail.runs(transports) {
        let of_class = run.circuits.iter().filter(|circuit| circuit.class == class);
        for circuit in of_class.filter(|circuit| detail.recorded.contains(&circuit.circuit)) {
            add(&mut goodputs, circuit.circuit, circuit.goodput_bytes_per_s);
        }
        for download in &run.downloads {
            add(&mut times, download.circuit, download.ttlb_s);
        }
    }
    let mean = |(sum, count): &(f64, f64)| sum / count;
    let of = |(circuit, goodput): (u32, (f64, f64))| {
        let got = Got {
            seconds: times.get(&circuit).map(mean),
            goodput: mean(&goodput),
        };
        (circuit, got)
    };
    goodputs.into_iter().map(of).collect()
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
