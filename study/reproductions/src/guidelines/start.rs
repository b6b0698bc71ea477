//! Figure 3: how long a circuit takes from its start to its level (section 4.4).

use hopflow_report::{
    Along, Axis, Block, Chart, Document, FigurePage, Mark, Point, Section, Series,
};
use hopflow_results::{Sample, Value};

use crate::Measured;
use crate::study::{self, MeasuredStudy, study};

/// The share of a run, at its end, in which the throughput is its level.
const LEVEL: f64 = 1.0 / 3.0;
/// The share of the level that counts as having reached it.
const REACHED: f64 = 0.9;
/// The time, in seconds, over which throughput is a mean.
const WINDOW: f64 = 1.0;
/// The time, in seconds, over which less than half of the level is a failure to keep it.
const STRETCH: f64 = 5.0;
/// Transports of the figure itself: hop by hop, and from end to end with NewReno and CUBIC.
const FIGURE: usize = 3;
/// The quantity that has a value for each time.
const OVER_TIME: &str = "throughput";

/// Figure 3.
pub(crate) static START: MeasuredStudy = MeasuredStudy {
    study: study!("guidelines-fig3", &[], "three-relays"),
    measure: |_, run| measure(&run.samples),
    summarise: |_| None,
    page,
};

fn page(page: &FigurePage, values: &[Value]) -> Document {
    let (curves, scalars): (Vec<_>, Vec<_>) =
        values.iter().cloned().partition(|value| value.x.is_some());
    let mut document = study::document(page, &scalars, |_| false);
    let labels = study::labels(values);
    // What the figure shows stands alone; all that was varied follows.
    let figure = charts(&curves, &labels[..labels.len().min(FIGURE)]);
    let mut blocks: Vec<Block> = figure
        .into_iter()
        .next_back()
        .map(Block::Chart)
        .into_iter()
        .collect();
    blocks.push(Block::Multiples(charts(&curves, &labels)));
    let section = Section::new("Throughput over time", blocks);
    // Behind what is judged, before all means and the origin.
    let place = document.sections.len().saturating_sub(2);
    document.sections.insert(place, section);
    document
}

/// What the samples of a lone circuit tell.
fn measure(samples: &[Sample]) -> Vec<Measured> {
    let Some(last) = samples.last() else {
        return Vec::new();
    };
    let end = last.t_s;
    let from = end * (1.0 - LEVEL);
    let Some(before) = samples.iter().rfind(|sample| sample.t_s <= from) else {
        return Vec::new();
    };
    let bytes = |from: &Sample, to: &Sample| (to.delivered_bytes - from.delivered_bytes) as f64;
    let level = bytes(before, last) / (end - before.t_s);
    let low = rates(samples, STRETCH);
    let low = low.iter().rfind(|(_, rate)| *rate < level / 2.0);
    let rates = rates(samples, WINDOW);
    let reached = rates.iter().find(|(_, rate)| *rate >= REACHED * level);
    let mut report = vec![Measured::new("level", "kB/s", level / 1e3)];
    report.extend(reached.map(|(t, _)| Measured::new("time to the level", "s", *t)));
    let low = low.map_or(0.0, |(t, _)| *t);
    report.push(Measured::new("last below half the level", "s", low));
    let lag = end - last.delivered_bytes as f64 / level;
    report.push(Measured::new("lag", "s", lag));
    report.extend(rates.into_iter().map(|(t, rate)| Measured {
        quantity: OVER_TIME.to_owned(),
        unit: "kB/s",
        x: Some(t),
        value: rate / 1e3,
    }));
    report
}

/// Bytes per second up to each sample, over a window in seconds.
fn rates(samples: &[Sample], window: f64) -> Vec<(f64, f64)> {
    let mut first = samples.iter();
    let mut start = first.next();
    let mut rates = Vec::new();
    for sample in samples {
        let from = sample.t_s - window;
        // Times are sums of intervals and need not be exact.
        while start.is_some_and(|other| other.t_s < from - 1e-6) {
            start = first.next();
        }
        if let Some(other) = start.filter(|other| other.t_s <= from + 1e-6) {
            let bytes = sample.delivered_bytes - other.delivered_bytes;
            rates.push((sample.t_s, bytes as f64 / (sample.t_s - other.t_s)));
        }
    }
    rates
}

/// A chart for each case, by the number in its name, with a line for each transport.
fn charts(values: &[Value], labels: &[String]) -> Vec<Chart> {
    let mut quantities: Vec<&str> = values.iter().map(|value| value.quantity.as_str()).collect();
    let number = |quantity: &str| {
        let digits = quantity.chars().filter(char::is_ascii_digit);
        digits.collect::<String>().parse::<u32>().unwrap_or(0)
    };
    quantities.sort_unstable_by_key(|quantity| (number(quantity), *quantity));
    quantities.dedup();
    let chart = |quantity: &str| Chart {
        id: quantity.to_owned(),
        title: quantity
            .split_once(", ")
            .map_or("", |(_, case)| case)
            .to_owned(),
        caption: String::new(),
        x: Axis::new("Time", "s").including(0.0),
        y: Axis::new(OVER_TIME, "kB/s").including(0.0),
        along: Along::X,
        wide: true,
        series: series(values, quantity, labels),
        references: Vec::new(),
    };
    quantities.into_iter().map(chart).collect()
}

fn series(values: &[Value], quantity: &str, labels: &[String]) -> Vec<Series> {
    let of_label = |(colour, label): (usize, &String)| {
        let of = values
            .iter()
            .filter(|value| value.quantity == quantity && value.transport == *label);
        Series {
            label: label.clone(),
            colour,
            mark: Mark::Line,
            points: of.filter_map(|v| Some(Point::new(v.x?, v.mean))).collect(),
        }
    };
    labels.iter().enumerate().map(of_label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rates: &[u64]) -> Vec<Sample> {
        let mut delivered_bytes = 0;
        let sample = |(n, rate): (usize, &u64)| {
            delivered_bytes += rate;
            Sample {
                circuit: 0,
                t_s: n as f64,
                packaged_bytes: delivered_bytes,
                delivered_bytes,
            }
        };
        rates.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn level_time_and_lag_come_from_what_was_delivered() {
        let measured = measure(&samples(&[0, 0, 500, 950, 1000, 1000, 1000]));
        let found = |quantity: &str| {
            let of = measured.iter().find(|m| m.quantity == quantity);
            of.map(|m| m.value)
        };
        assert_eq!(found("level"), Some(1.0));
        assert_eq!(found("time to the level"), Some(3.0));
        assert_eq!(found("last below half the level"), Some(0.0));
        assert!((found("lag").unwrap() - 1.55).abs() < 1e-9);
        assert!(measure(&[]).is_empty());
    }

    #[test]
    fn throughput_is_a_mean_over_a_second() {
        let rates = rates(&samples(&[0, 500, 700]), WINDOW);
        assert_eq!(rates, [(1.0, 500.0), (2.0, 700.0)]);
    }
}
