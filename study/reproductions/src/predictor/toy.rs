//! The toy of three circuits (Figures 4 to 6, Table 1).

use std::collections::BTreeMap;

use hopflow_lab::scenario::Distribution;
use hopflow_report::{
    Along, Axis, Block, Chart, Document, FigurePage, Mark, Point, Section, Series,
};
use hopflow_results::{Sample, Since, Tables, Value};

use super::measure;
use crate::study;
use crate::{Measured, Part};

/// Bytes of the paper's KB: its Table 1 adds up only so.
const KIB: f64 = 1024.0;
/// Width of a bar of the histogram of latencies, in milliseconds.
const BAR_MS: f64 = 25.0;
/// The quantities that have a value for each circuit and time.
const OVER_TIME: [(&str, &str, &str); 2] = [
    ("rate", "KiB/s", "Rates at the bottleneck over time"),
    ("backlog", "KiB", "Backlog of each circuit over time"),
];
/// What the histogram shows.
const SHARE: &str = "share of bytes by latency as published";

pub(super) fn measure(part: &Part, run: &Tables) -> Vec<Measured> {
    let mut report = measure::whole(run);
    let total = run.goodput() / KIB;
    report.push(Measured::new("throughput", "KiB/s", total));
    let fairness = measure::fairness(part, run);
    report.extend(fairness.map(|f| Measured::new("fairness F", "", f)));
    for circuit in &run.circuits {
        let number = circuit.circuit + 1;
        let goodput = circuit.goodput_bytes_per_s / KIB;
        let mut add = |what: &str, unit, value| {
            let quantity = format!("{what} of circuit {number}");
            report.push(Measured::new(quantity, unit, value));
        };
        add("throughput", "KiB/s", goodput);
        if let Some(fair) = measure::fair_rate(part, circuit) {
            add("max-min fair rate", "KiB/s", fair / KIB);
        }
        for (since, name) in measure::LATENCIES {
            if let Some(latency) = measure::latency_ms(run, since, Some(circuit.circuit)) {
                add(name, "ms", latency);
            }
        }
    }
    steadiness(&mut report, run);
    let mut circuits = part.scenario.circuits.iter();
    // A mean over runs with other starts would smooth what oscillates.
    let all_alike = circuits.all(|group| matches!(group.start, Some(Distribution::Fixed(_))));
    if all_alike && part.scenario.warm_up.0.is_zero() {
        over_time(&mut report, run);
        histogram(&mut report, run);
    }
    report
}

/// How much rates vary from one time of sampling to the next, and the data under way: what Figures
/// 4 and 5 show, as numbers.
fn steadiness(report: &mut Vec<Measured>, run: &Tables) {
    let circuits = run.circuits.len();
    if circuits == 0 {
        return;
    }
    let mut instants = run.samples.chunks_exact(circuits);
    let Some(mut before) = instants.next() else {
        return;
    };
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); circuits + 1];
    let mut backlogs = Vec::new();
    for now in instants {
        let of =
            |number: usize| (now[number].delivered_bytes - before[number].delivered_bytes) as f64;
        (0..circuits).for_each(|number| rates[number].push(of(number)));
        rates[circuits].push((0..circuits).map(of).sum());
        let under_way = now.iter().map(|s| s.packaged_bytes - s.delivered_bytes);
        backlogs.push(under_way.sum::<u64>() as f64 / KIB);
        before = now;
    }
    let variations: Vec<f64> = rates.iter().filter_map(|rates| variation(rates)).collect();
    if let Some((sum, each)) = variations.split_last()
        && each.len() == circuits
    {
        let mean = each.iter().sum::<f64>() / circuits as f64;
        report.push(Measured::new("variation of a rate", "%", mean));
        report.push(Measured::new("variation of the sum", "%", *sum));
    }
    let mean = backlogs.iter().sum::<f64>() / backlogs.len() as f64;
    if mean.is_finite() {
        report.push(Measured::new("mean backlog", "KiB", mean));
    }
}

/// The standard deviation in percent of the mean, if that is not zero.
fn variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let variation = 100.0 * (squares / n).sqrt() / mean;
    variation.is_finite().then_some(variation)
}

/// The rate of each circuit where the bottleneck's data arrives, and the data that is between its
/// ends, at each time of sampling (Figures 4 and 5).
fn over_time(report: &mut Vec<Measured>, run: &Tables) {
    let mut last: BTreeMap<u32, &Sample> = BTreeMap::new();
    for sample in &run.samples {
        let number = sample.circuit + 1;
        let mut add = |(what, unit, _): (&str, &'static str, &str), value| {
            report.push(Measured {
                quantity: format!("{what} of circuit {number}"),
                unit,
                x: Some(sample.t_s),
                value,
            });
        };
        let under_way = sample.packaged_bytes - sample.delivered_bytes;
        add(OVER_TIME[1], under_way as f64 / KIB);
        if let Some(before) = last.insert(sample.circuit, sample) {
            let bytes = sample.delivered_bytes - before.delivered_bytes;
            add(OVER_TIME[0], bytes as f64 / (sample.t_s - before.t_s) / KIB);
        }
    }
}

/// The distribution of latency over bytes, in bars of equal width (Figure 6).
fn histogram(report: &mut Vec<Measured>, run: &Tables) {
    let mut bars: BTreeMap<u64, u64> = BTreeMap::new();
    let mut total = 0;
    let classes = run.latency_classes.iter();
    for class in classes.filter(|class| class.since == Since::Sent) {
        let middle = 1e3 * f64::midpoint(class.from_s, class.below_s);
        *bars.entry((middle / BAR_MS) as u64).or_default() += class.cells;
        total += class.cells;
    }
    let last = bars.last_key_value().map_or(0, |(bar, _)| *bar);
    report.extend((0..=last).map(|bar| Measured {
        quantity: SHARE.to_owned(),
        unit: "%",
        x: Some((bar as f64 + 0.5) * BAR_MS),
        value: 100.0 * bars.get(&bar).copied().unwrap_or(0) as f64 / f64::from(total as u32),
    }));
}

/// The table first, then the three figures.
pub(super) fn page(page: &FigurePage, values: &[Value]) -> Document {
    let (curves, scalars): (Vec<_>, Vec<_>) =
        values.iter().cloned().partition(|value| value.x.is_some());
    let mut document = study::document(page, &scalars, |_| false);
    let labels = study::labels(values);
    let cases = cases(&curves);
    let figures = cases
        .iter()
        .flat_map(|case| figures(&curves, case, &labels));
    // Behind what is judged, before all means and the origin.
    let place = document.sections.len().saturating_sub(2);
    document.sections.splice(place..place, figures);
    document
}

/// Figures 4 to 6 of a case.
fn figures(values: &[Value], case: &str, labels: &[String]) -> Vec<Section> {
    let over_time = OVER_TIME.map(|(what, unit, title)| {
        let of_transport =
            |label: &String| circuits(values, [what, unit, case], (label.as_str(), labels.len()));
        let charts = labels.iter().filter_map(of_transport).collect();
        Section::new(format!("{title}, {case}"), vec![Block::Multiples(charts)])
    });
    let heading = format!("Latency by bytes, {case}");
    let histogram = Section::new(heading, vec![Block::Chart(bars(values, case, labels))]);
    over_time.into_iter().chain([histogram]).collect()
}

/// The cases that have values over time, in their order.
fn cases(values: &[Value]) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    for value in values {
        let case = value.quantity.split_once(", ").map_or("", |(_, case)| case);
        if !cases.iter().any(|known| known == case) {
            cases.push(case.to_owned());
        }
    }
    cases
}

fn points(values: &[Value], quantity: &str, label: &str) -> Vec<Point> {
    let values = values.iter();
    let mut points: Vec<Point> = values
        .filter(|value| value.quantity == quantity && value.transport == label)
        .filter_map(|value| Some(Point::new(value.x?, value.mean)))
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// A transport's chart with a line for each circuit, in colours behind those of the transports.
fn circuits(
    values: &[Value],
    [what, unit, case]: [&str; 3],
    (label, transports): (&str, usize),
) -> Option<Chart> {
    let line = |number: usize| {
        let quantity = format!("{what} of circuit {}, {case}", number + 1);
        let points = points(values, &quantity, label);
        (!points.is_empty()).then(|| Series {
            label: format!("circuit {}", number + 1),
            colour: transports + number,
            mark: Mark::Line,
            points,
        })
    };
    let series: Vec<Series> = (0..3).filter_map(line).collect();
    (!series.is_empty()).then(|| Chart {
        id: format!("{what} {label} {case}"),
        title: label.to_owned(),
        caption: String::new(),
        x: Axis::new("Time", "s").including(0.0),
        y: Axis::new(what, unit).including(0.0),
        along: Along::X,
        wide: false,
        series,
        references: Vec::new(),
    })
}

fn bars(values: &[Value], case: &str, labels: &[String]) -> Chart {
    let quantity = format!("{SHARE}, {case}");
    let of_transport = |(colour, label): (usize, &String)| Series {
        label: label.clone(),
        colour,
        mark: Mark::Line,
        points: points(values, &quantity, label),
    };
    Chart {
        id: quantity.clone(),
        title: "Histogram of latency".to_owned(),
        caption: "Share of bytes whose latency, from leaving the exit's queue to the entry, lies \
                  within 25 ms around a point."
            .to_owned(),
        x: Axis::new("latency as published", "ms").including(0.0),
        y: Axis::new("share of bytes", "%").including(0.0),
        along: Along::X,
        wide: true,
        series: labels.iter().enumerate().map(of_transport).collect(),
        references: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_not_has_no_variation_and_nothing_has_none() {
        assert_eq!(variation(&[5.0, 5.0, 5.0]), Some(0.0));
        assert_eq!(variation(&[1.0, 3.0]), Some(50.0));
        assert_eq!(variation(&[0.0, 0.0]), None);
        assert_eq!(variation(&[]), None);
    }

    #[test]
    fn rates_and_data_under_way_come_from_the_samples_of_all_circuits() {
        let sample = |circuit, t_s, packaged_bytes, delivered_bytes| Sample {
            circuit,
            t_s,
            packaged_bytes,
            delivered_bytes,
        };
        let mut run = Tables {
            samples: vec![
                sample(0, 0.0, 0, 0),
                sample(1, 0.0, 0, 0),
                sample(0, 0.5, 3072, 1024),
                sample(1, 0.5, 3072, 2048),
            ],
            ..Tables::default()
        };
        let mut report = Vec::new();
        over_time(&mut report, &run);
        let found = |quantity: &str, t: f64| {
            let same = |m: &&Measured| m.quantity == quantity && m.x == Some(t);
            report.iter().find(same).map(|measured| measured.value)
        };
        assert_eq!(found("rate of circuit 1", 0.5), Some(2.0));
        assert_eq!(found("backlog of circuit 2", 0.5), Some(1.0));
        assert_eq!(found("rate of circuit 2", 0.0), None);
        run.samples.clear();
        report.clear();
        steadiness(&mut report, &run);
        assert!(report.is_empty());
    }
}
