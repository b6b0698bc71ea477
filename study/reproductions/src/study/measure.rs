//! What one run on a sampled network tells.

use hopflow_lab::scenario::CLIENT_PREFIX;
use hopflow_results::{
    Circuit, Class, Direction, Download, Requests, Tables, jain_at_bottlenecks, max_min_index,
};
use hopflow_stats::{Lasted, Mean, Sorted, Survival};

use crate::Measured;

/// The percentiles at which distributions are compared.
const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// All quantities of a run; those that it does not tell are left out.
///
/// `minutes` is the time that the run was measured.
pub(super) fn measure(minutes: f64, run: &Tables) -> Vec<Measured> {
    let mut report = Vec::new();
    let requests = Requests {
        downloads: &run.downloads,
        open: &run.open_requests,
        failed: &run.failures,
    };
    distribution(&mut report, "ttfb", requests.first_bytes(|_, _| true));
    for (class, name) in [(Class::Web, "web"), (Class::Bulk, "bulk")] {
        let circuits: Vec<_> = run.circuits.iter().filter(|c| c.class == class).collect();
        let downloads = run.downloads.iter();
        let downloads = downloads.filter(|download| download.class == class);
        let users = Users {
            name,
            circuits: &circuits,
            downloads: downloads.collect(),
            open: run
                .open_requests
                .iter()
                .filter(|it| it.class == class)
                .count(),
            first_bytes: requests.first_bytes(|_, of| of == class),
            last_bytes: requests.last_bytes(|_, of| of == class),
        };
        users.measure(&mut report);
        if !circuits.is_empty() {
            let each = users.downloads.len() as f64 / circuits.len() as f64 / minutes;
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

/// The distribution of times of requests, of which some may not have been answered: a percentile
/// that too few answers reached is at least the longest time.
fn distribution(report: &mut Vec<Measured>, quantity: &str, times: Vec<Lasted>) {
    let Some(times) = Survival::of(times) else {
        return;
    };
    report.extend(PERCENTILES.map(|percent| Measured {
        quantity: quantity.to_owned(),
        unit: "s",
        x: Some(percent),
        value: times.quantile_or_longest(percent / 100.0),
    }));
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    Mean::of(&values.collect::<Vec<_>>()).map(|mean| mean.mean)
}

/// The users of one class and what they got.
struct Users<'a> {
    name: &'a str,
    circuits: &'a [&'a Circuit],
    /// Those that are complete.
    downloads: Vec<&'a Download>,
    /// How many were not at the end.
    open: usize,
    /// Times of all requests, also of those that are not.
    first_bytes: Vec<Lasted>,
    last_bytes: Vec<Lasted>,
}

impl Users<'_> {
    fn measure(&self, report: &mut Vec<Measured>) {
        if self.circuits.is_empty() {
            return;
        }
        let Self { name, .. } = self;
        distribution(report, &format!("{name} ttfb"), self.first_bytes.clone());
        distribution(report, &format!("{name} ttlb"), self.last_bytes.clone());
        let mut add = |what: &str, unit, value: Option<f64>| {
            let quantity = format!("{name} {what}");
            report.extend(value.map(|value| Measured::new(quantity, unit, value)));
        };
        add("downloads", "", Some(self.downloads.len() as f64));
        add("requests open at the end", "", Some(self.open as f64));
        let mean_of = |times: &[Lasted]| Some(Survival::of(times.to_vec())?.mean_or_more());
        let mean_ttlb = mean_of(&self.last_bytes);
        add("mean ttfb", "s", mean_of(&self.first_bytes));
        add("mean ttlb", "s", mean_ttlb);
        let rate = |d: &&Download| d.bytes as f64 / d.ttlb_s / 1e3;
        add("mean rate", "kB/s", mean(self.downloads.iter().map(rate)));
        let size = mean(self.downloads.iter().map(|d| d.bytes as f64));
        let over_mean = size.zip(mean_ttlb).map(|(size, ttlb)| size / ttlb / 1e3);
        add("size over mean ttlb", "kB/s", over_mean);
        let goodput = mean(self.circuits.iter().map(|c| c.goodput_bytes_per_s / 1e3));
        add("goodput", "kB/s", goodput);
        let (what, limit) = match *name {
            "web" => ("within 1 s", 1.0),
            _ => ("within 10 s", 10.0),
        };
        let times = Survival::of(self.last_bytes.clone());
        add(
            what,
            "%",
            times.map(|times| 100.0 * times.share_within(limit)),
        );
    }
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
    let [overlay, beside] = [run.goodput(), run.cross_goodput()];
    add("overlay", "kB/s", overlay / 1e3);
    if run.cross.is_empty() {
        return;
    }
    let [circuits, flows] = [run.circuits.len(), run.cross.len()].map(|n| n as f64);
    add("beside the overlay", "kB/s", beside / 1e3);
    let share = overlay / (overlay + beside);
    add("share of the overlay", "%", 100.0 * share);
    let fair = circuits / (circuits + flows);
    add("share over fair share", "", share / fair);
}
