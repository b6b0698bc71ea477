//! What one run on a sampled network tells.

use hopflow_lab::scenario::CLIENT_PREFIX;
use hopflow_results::{
    Circuit, Class, Direction, Download, Tables, jain_at_bottlenecks, max_min_index,
};
use hopflow_stats::{Mean, Sorted};

use crate::Measured;

/// The percentiles at which distributions are compared.
const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// All quantities of a run; those that it does not tell are left out.
///
/// `minutes` is the time that the run was measured.
pub(super) fn measure(minutes: f64, run: &Tables) -> Vec<Measured> {
    let mut report = Vec::new();
    let downloads = &run.downloads;
    percentiles(&mut report, "ttfb", "s", downloads.iter().map(|d| d.ttfb_s));
    for (class, name) in [(Class::Web, "web"), (Class::Bulk, "bulk")] {
        let circuits: Vec<_> = run.circuits.iter().filter(|c| c.class == class).collect();
        let of_class = downloads.iter().filter(|download| download.class == class);
        let of_class: Vec<&Download> = of_class.collect();
        class_of_users(&mut report, name, &circuits, &of_class);
        if !circuits.is_empty() {
            let each = of_class.len() as f64 / circuits.len() as f64 / minutes;
            let quantity = format!("{name} downloads per circuit and minute");
            report.push(Measured::new(quantity, "", each));
        }
    }
    shares(&mut report, &run.circuits);
    network(&mut report, run);
    report
}

/// A quantity's distribution: its values at the percentiles, if there are any.
pub(crate) fn percentiles(
    report: &mut Vec<Measured>,
    quantity: &str,
    unit: &'static str,
    values: impl Iterator<Item = f64>,
) {
    let Some(sorted) = Sorted::new(values.collect()) else {
        return;
    };
    report.extend(PERCENTILES.map(|percent| Measured {
        quantity: quantity.to_owned(),
        unit,
        x: Some(percent),
        value: sorted.quantile(percent / 100.0),
    }));
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    Mean::of(&values.collect::<Vec<_>>()).map(|mean| mean.mean)
}

/// What the users of one class got.
fn class_of_users(
    report: &mut Vec<Measured>,
    name: &str,
    circuits: &[&Circuit],
    downloads: &[&Download],
) {
    if circuits.is_empty() {
        return;
    }
    percentiles(
        report,
        &format!("{name} ttfb"),
        "s",
        downloads.iter().map(|d| d.ttfb_s),
    );
    percentiles(
        report,
        &format!("{name} ttlb"),
        "s",
        downloads.iter().map(|d| d.ttlb_s),
    );
    let mut add = |what: &str, unit, value: Option<f64>| {
        let quantity = format!("{name} {what}");
        report.extend(value.map(|value| Measured::new(quantity, unit, value)));
    };
    add("downloads", "", Some(downloads.len() as f64));
    let mean_ttfb = mean(downloads.iter().map(|d| d.ttfb_s));
    let mean_ttlb = mean(downloads.iter().map(|d| d.ttlb_s));
    add("mean ttfb", "s", mean_ttfb);
    add("mean ttlb", "s", mean_ttlb);
    let rate = |d: &&Download| d.bytes as f64 / d.ttlb_s / 1e3;
    add("mean rate", "kB/s", mean(downloads.iter().map(rate)));
    let size = mean(downloads.iter().map(|d| d.bytes as f64));
    let over_mean = size.zip(mean_ttlb).map(|(size, ttlb)| size / ttlb / 1e3);
    add("size over mean ttlb", "kB/s", over_mean);
    let goodput = mean(circuits.iter().map(|c| c.goodput_bytes_per_s / 1e3));
    add("goodput", "kB/s", goodput);
    let limit = if name == "web" { 1.0 } else { 10.0 };
    let quick = downloads.iter().filter(|d| d.ttlb_s < limit).count();
    let share = (!downloads.is_empty()).then(|| 100.0 * quick as f64 / downloads.len() as f64);
    let what = if name == "web" {
        "within 1 s"
    } else {
        "within 10 s"
    };
    add(what, "%", share);
}

/// How evenly the circuits that take all they get share what there is.
fn shares(report: &mut Vec<Measured>, circuits: &[Circuit]) {
    let fairness = max_min_index(circuits);
    report.extend(fairness.map(|value| Measured::new("fairness F", "", value)));
    let indices = jain_at_bottlenecks(circuits);
    let mean = mean(indices.iter().copied());
    report.extend(mean.map(|value| Measured::new("mean jain", "", value)));
    percentiles(report, "jain", "", indices.into_iter());
}

/// What the network did for it.
fn network(report: &mut Vec<Measured>, run: &Tables) {
    let backlogs = run.circuits.iter().filter_map(|c| c.backlog_mean_bytes);
    let backlog = mean(backlogs).map(|bytes| Measured::new("backlog", "kB", bytes / 1e3));
    report.extend(backlog);
    let carried = |c: &Circuit| c.delivered_bytes as f64 * f64::from(c.hops);
    let goodput: f64 = run.circuits.iter().map(carried).sum();
    let up = run
        .links
        .iter()
        .filter(|link| link.direction == Direction::Up);
    let throughput: f64 = up
        .filter_map(|link| link.bytes)
        .map(|bytes| bytes as f64)
        .sum();
    if throughput > 0.0 {
        let ratio = goodput / throughput;
        report.push(Measured::new("goodput over throughput", "", ratio));
    }
    queues(report, run);
    rates(report, run);
}

/// The queues of relays; those of clients do not count.
fn queues(report: &mut Vec<Measured>, run: &Tables) {
    let relays = || {
        run.relays
            .iter()
            .filter(|relay| !relay.name.starts_with(CLIENT_PREFIX))
    };
    let largest = relays().map(|relay| relay.largest_queue_cells).max();
    let dropped: u64 = relays().map(|relay| relay.cells_dropped).sum();
    let largest = largest.unwrap_or(0) as f64;
    report.push(Measured::new("largest queue at a relay", "cells", largest));
    report.push(Measured::new("cells dropped", "", dropped as f64));
}

/// What the overlay gets, and how much of the whole where other connections share its links.
fn rates(report: &mut Vec<Measured>, run: &Tables) {
    let mut add = |quantity: &str, unit, value: f64| {
        report.push(Measured::new(quantity, unit, value));
    };
    let goodputs = run.circuits.iter();
    let overlay: f64 = goodputs.map(|circuit| circuit.goodput_bytes_per_s).sum();
    add("overlay", "kB/s", overlay / 1e3);
    if run.cross.is_empty() {
        return;
    }
    let beside: f64 = run.cross.iter().map(|flow| flow.goodput_bytes_per_s).sum();
    let [circuits, flows] = [run.circuits.len(), run.cross.len()].map(|n| n as f64);
    add("beside the overlay", "kB/s", beside / 1e3);
    let share = overlay / (overlay + beside);
    add("share of the overlay", "%", 100.0 * share);
    let fair = circuits / (circuits + flows);
    add("share over fair share", "", share / fair);
}
