//! Curves of a comparison: distributions over downloads, and states over time.

use hopflow_results::{Class, Requests};
use hopflow_stats::{Lasted, Mean, cdf_band};

use super::load::{self, Hop, OverTime, Run, Transport};
use crate::model::{Along, Axis, Block, Chart, Mark, Point, Section, Series};

/// Levels of a distribution function.
const LEVELS: usize = 101;
/// Times at which a state is shown.
const BINS: usize = 150;
/// Ratio of the 98th to the second percentile beyond which an axis of times is logarithmic.
const WIDE: f64 = 40.0;

/// What the numbers of hops are.
pub(super) const COUNTED: &str = "Hops are counted from where data is packaged: the exit, or of \
     uploads the client. Those of further paths of a user, and of circuits that replace closed \
     ones, follow.";

/// A state of a hop: its name, its identifier, and where it is recorded.
type State = (&'static str, &'static str, fn(&Hop) -> &OverTime);

/// The states of a hop that are shown.
const STATES: [State; 3] = [
    ("Queue", "queue", |hop| &hop.queue),
    ("Under way", "outstanding", |hop| &hop.outstanding),
    ("Window", "window", |hop| &hop.window),
];

/// All sections of curves; a section for which nothing was recorded has no blocks.
pub(super) fn sections(transports: &[Transport]) -> [Section; 4] {
    let first = |requests: Requests<'_>, class| requests.first_bytes(|_, of| of == class);
    let last = |requests: Requests<'_>, class| requests.last_bytes(|_, of| of == class);
    let first_byte = distributions("Time to first byte", "ttfb", first, transports);
    let last_byte = distributions("Time to last byte", "ttlb", last, transports);
    let downloads = first_byte
        .into_iter()
        .chain(last_byte)
        .map(Block::Chart)
        .collect();
    let circuits = circuit_distributions(transports)
        .into_iter()
        .map(Block::Chart)
        .collect();
    let backlog = backlog(transports).into_iter().map(Block::Chart).collect();
    let hops = hops(transports);
    [
        Section::new("Downloads", downloads).with_prose(
            "Share of downloads that took at most the time on the horizontal axis; further left is \
             better. Downloads that were not complete at the end took at least as long as they had \
             waited (Kaplan and Meier's estimate). A curve ends before the share that too few \
             downloads of a network were seen to reach. Curves are means over sampled networks at \
             each share, bands their 95 % confidence intervals.",
        ),
        Section::new("Circuits", circuits).with_prose(
            "Share of circuits that got at most what the horizontal axis says. Curves are means \
             over sampled networks at each share, bands their 95 % confidence intervals.",
        ),
        Section::new("Backlog", backlog).with_prose(
            "What has been packaged at one end and not yet delivered at the other, `R(t) - W(t)`: \
             the data that a transport keeps in the overlay. Less is better for the same goodput.",
        ),
        Section::new("Hops", hops).with_prose(format!(
            "Cells that wait at the sender of each hop, and cells that are under way on it. {COUNTED} \
             Means over circuits and runs, bands their 95 % confidence intervals over runs.",
        )),
    ]
}

fn distributions(
    title: &str,
    id: &str,
    of: fn(Requests<'_>, Class) -> Vec<Lasted>,
    transports: &[Transport],
) -> Vec<Chart> {
    let chart = |class: &Class| {
        let values = |run: &Run| of(run.requests(), *class);
        distribution(
            &format!("{title}, {class}"),
            &format!("{id}-{class}"),
            &values,
            transports,
        )
    };
    let finish = |mut chart: Chart| {
        chart.x = times(title, &chart);
        chart.y = Axis::new("Share of downloads", "%")
            .including(0.0)
            .including(100.0);
        chart
    };
    Class::ALL.iter().filter_map(chart).map(finish).collect()
}

fn circuit_distributions(transports: &[Transport]) -> Vec<Chart> {
    let finish = |mut chart: Chart, label: &str, unit: &str| {
        chart.x = Axis::new(label, unit).including(0.0);
        chart.y = Axis::new("Share of circuits", "%")
            .including(0.0)
            .including(100.0);
        chart
    };
    let greedy = load::greedy(transports);
    let of_class = greedy.map_or(String::new(), |class| format!(", {class}"));
    let goodput = distribution(
        &format!("Goodput of circuits{of_class}"),
        "goodput",
        &|run| {
            run.circuits_of(greedy)
                .map(|circuit| Lasted::ended(circuit.goodput_bytes_per_s / 1e3))
                .collect()
        },
        transports,
    );
    let latency = distribution(
        "Latency of cells, mean of each circuit",
        "latency",
        &|run| {
            run.circuits
                .iter()
                .filter_map(|c| c.latency_mean_s.map(Lasted::ended))
                .collect()
        },
        transports,
    );
    let goodput = goodput.map(|chart| finish(chart, "Goodput", "kB/s"));
    let latency = latency.map(|chart| finish(chart, "Latency", "s"));
    goodput.into_iter().chain(latency).collect()
}

/// The distribution functions of one quantity; `None` if no run has it.
fn distribution(
    title: &str,
    id: &str,
    values: &dyn Fn(&Run) -> Vec<Lasted>,
    transports: &[Transport],
) -> Option<Chart> {
    let series = |transport: &Transport| {
        let networks = transport.by_network(values);
        let points: Vec<Point> = cdf_band(&networks, LEVELS)
            .into_iter()
            .map(|point| Point {
                x: point.value.mean,
                y: 100.0 * point.level,
                interval: point.value.low().zip(point.value.high()),
            })
            .collect();
        (!points.is_empty()).then(|| line(transport, points))
    };
    chart(
        title,
        id,
        Along::Y,
        transports.iter().filter_map(series).collect(),
    )
}

/// An axis of times that suits a distribution.
fn times(label: &str, chart: &Chart) -> Axis {
    // Some curves end before the last level.
    let at = |level: usize| {
        let points = chart
            .series
            .iter()
            .filter_map(move |series| series.points.get(level).or(series.points.last()));
        points
            .map(|point| point.x)
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| {
                (low.min(x), high.max(x))
            })
    };
    let ((low, _), (_, high)) = (at(2), at(LEVELS - 3));
    if low > 0.0 && high > WIDE * low {
        Axis::new(label, "s").log(true)
    } else {
        Axis::new(label, "s").including(0.0)
    }
}

fn backlog(transports: &[Transport]) -> Option<Chart> {
    let series = transports
        .iter()
        .filter_map(|t| over_time(t, &|run| Some(&run.backlog), 1e-3));
    let mut chart = chart(
        "Backlog of a circuit",
        "backlog",
        Along::X,
        series.collect(),
    )?;
    chart.caption =
        "Mean over circuits and runs, bands 95 % confidence intervals over runs.".into();
    chart.y = Axis::new("R(t) − W(t)", "kB").including(0.0);
    chart.wide = true;
    Some(chart)
}

fn hops(transports: &[Transport]) -> Vec<Block> {
    let runs = transports.iter().flat_map(|transport| &transport.runs);
    let count = runs
        .flat_map(|run| run.hops.keys())
        .max()
        .map_or(0, |last| last + 1);
    let of_state = |state: &State| {
        let charts: Vec<Chart> = (0..count)
            .filter_map(|hop| self::hop(transports, hop, *state))
            .collect();
        (!charts.is_empty()).then_some(Block::Multiples(charts))
    };
    STATES.iter().filter_map(of_state).collect()
}

fn hop(transports: &[Transport], hop: u32, (name, id, state): State) -> Option<Chart> {
    let series = transports
        .iter()
        .filter_map(|transport| over_time(transport, &|run| run.hops.get(&hop).map(state), 1.0));
    let preposition = if name == "Under way" { "on" } else { "of" };
    let title = format!("{name} {preposition} hop {}", hop + 1);
    let id = format!("{id}-hop-{}", hop + 1);
    let mut chart = chart(&title, &id, Along::X, series.collect())?;
    chart.y = Axis::new(name, "cells").including(0.0);
    Some(chart)
}

/// A state over time: the mean over runs in each bin, with its interval.
pub(super) fn over_time(
    transport: &Transport,
    state: &dyn Fn(&Run) -> Option<&OverTime>,
    scale: f64,
) -> Option<Series> {
    let runs: Vec<&OverTime> = transport.runs.iter().filter_map(state).collect();
    let last = |run: &&OverTime| run.points().next_back().map_or(0.0, |(t, _)| t);
    let end = runs.iter().map(last).fold(0.0, f64::max);
    let width = end / BINS as f64;
    let mut bins: Vec<Vec<f64>> = vec![Vec::new(); BINS];
    for run in runs {
        for (bin, mean) in binned(run, width, BINS) {
            bins[bin].push(mean * scale);
        }
    }
    let point = |(bin, values): (usize, &Vec<f64>)| {
        let mean = Mean::of(values)?;
        let interval = mean.low().zip(mean.high());
        Some(Point {
            x: width * (bin as f64 + 0.5),
            y: mean.mean,
            interval,
        })
    };
    let points: Vec<Point> = bins.iter().enumerate().filter_map(point).collect();
    (points.len() > 1).then(|| line(transport, points))
}

/// Time, from zero unless recording began late.
fn time(series: &[Series]) -> Axis {
    let points = || series.iter().flat_map(|series| &series.points);
    let first = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let last = points().map(|point| point.x).fold(0.0, f64::max);
    let axis = Axis::new("Time", "s");
    if first < 0.1 * last {
        axis.including(0.0)
    } else {
        axis
    }
}

/// The mean of a run in each of `count` bins that it has samples in; what is later counts to the
/// last one.
pub(super) fn binned(run: &OverTime, width: f64, count: usize) -> Vec<(usize, f64)> {
    let mut bins: Vec<(usize, f64, f64)> = Vec::new();
    for (t, value) in run.points() {
        let bin = if width > 0.0 {
            ((t / width) as usize).min(count - 1)
        } else {
            0
        };
        match bins.last_mut().filter(|last| last.0 == bin) {
            Some((_, sum, n)) => {
                *sum += value;
                *n += 1.0;
            }
            None => bins.push((bin, value, 1.0)),
        }
    }
    bins.into_iter()
        .map(|(bin, sum, n)| (bin, sum / n))
        .collect()
}

/// A line in a transport's colour.
pub(super) fn line(transport: &Transport, points: Vec<Point>) -> Series {
    Series {
        label: transport.label.clone(),
        colour: transport.colour,
        mark: Mark::Line,
        points,
    }
}

/// A chart whose axes are still to be named, except for time; `None` without series.
pub(super) fn chart(title: &str, id: &str, along: Along, series: Vec<Series>) -> Option<Chart> {
    (!series.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: String::new(),
        x: time(&series),
        y: Axis::default(),
        along,
        wide: false,
        series,
        references: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_counts_to_the_last_bin() {
        let mut run = OverTime::default();
        for t in 0..=10_u32 {
            run.add(f64::from(t), f64::from(t));
        }
        let bins = binned(&run, 1.0, 10);
        assert_eq!(bins.len(), 10);
        assert_eq!(bins.last(), Some(&(9, 9.5)));
        let transport = Transport {
            label: String::new(),
            colour: 0,
            runs: vec![Run {
                backlog: run,
                ..Run::default()
            }],
        };
        let series = over_time(&transport, &|run| Some(&run.backlog), 1.0).unwrap();
        assert!(series.points.iter().all(|point| point.x < 10.0));
    }
}
