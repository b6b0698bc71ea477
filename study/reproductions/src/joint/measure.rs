//! What goals are about, from the tables of one run.

use std::collections::BTreeSet;

use hopflow_lab::scenario::CLIENT_PREFIX;
use hopflow_results::{Class, Requests, Sample, Since, Tables, max_min_index};
use hopflow_stats::{Mean, Survival};

use super::network::Network;
use crate::Measured;

/// Cells that may wait in a queue besides those that a round trip of the hop holds.
const ROOM: f64 = 50.0;
/// The share of its final rate at which a download counts as started.
const STARTED: f64 = 0.95;
/// The share of the time since its first byte, at the end, in which a download has its final rate.
const FINAL: f64 = 1.0 / 3.0;

/// What users got.
pub(super) fn of_users(run: &Tables) -> Vec<Measured> {
    let mut report = Vec::new();
    web(&mut report, run, "", |_| true);
    if !run.deployments.is_empty() {
        let upgraded = run.deployments.iter().filter(|it| it.upgraded);
        let upgraded: BTreeSet<u32> = upgraded.map(|it| it.circuit).collect();
        web(&mut report, run, " of those who have it", |circuit| {
            upgraded.contains(&circuit)
        });
        web(&mut report, run, " of the others", |circuit| {
            !upgraded.contains(&circuit)
        });
    }
    report.extend(bulk(run));
    let fairness = max_min_index(&run.circuits);
    report.extend(fairness.map(|index| Measured::new("fairness F", "", index)));
    report
}

/// Times of pages; those that are not complete count as having lasted at least so long.
fn web(report: &mut Vec<Measured>, run: &Tables, of: &str, wanted: impl Fn(u32) -> bool) {
    let requests = Requests {
        downloads: &run.downloads,
        open: &run.open_requests,
        failed: &run.failures,
    };
    let times = requests.last_bytes(|circuit, class| class == Class::Web && wanted(circuit));
    let Some(times) = Survival::of(times) else {
        return;
    };
    for (what, level) in [("median", 0.5), ("p90", 0.9)] {
        let time = times.quantile_or_longest(level);
        report.push(Measured::new(format!("web {what} ttlb{of}"), "s", time));
    }
}

/// The mean goodput of downloads.
fn bulk(run: &Tables) -> Option<Measured> {
    let bulk = run.circuits.iter().filter(|it| it.class == Class::Bulk);
    let goodputs: Vec<f64> = bulk.map(|it| it.goodput_bytes_per_s / 1e3).collect();
    let goodput = Mean::of(&goodputs)?.mean;
    Some(Measured::new("bulk goodput", "kB/s", goodput))
}

/// What the network did for it.
pub(super) fn of_network(run: &Tables, network: &Network) -> Vec<Measured> {
    let mut report = Vec::new();
    let mut add = |quantity: &str, unit, value: Option<f64>| {
        report.extend(value.map(|value| Measured::new(quantity, unit, value)));
    };
    add("rates over max-min rates", "", over_fair(run));
    let (latency, queueing) = latencies(run, network).unzip();
    add("latency of cells", "ms", latency);
    add("queueing over propagation", "%", queueing);
    let relays = run.relays.iter();
    let relays = relays.filter(|relay| !relay.name.starts_with(CLIENT_PREFIX));
    let largest = relays.map(|relay| relay.largest_queue_cells).max();
    add("largest queue", "cells", largest.map(|cells| cells as f64));
    add(
        "largest queue over what it may hold",
        "",
        queues(run, network),
    );
    report
}

/// The sum of the rates of greedy circuits over that of their fair ones.
fn over_fair(run: &Tables) -> Option<f64> {
    let greedy = run.circuits.iter();
    let greedy = greedy.filter_map(|it| Some((it.goodput_bytes_per_s, it.fair_bytes_per_s?)));
    let (got, fair) = greedy.fold((0.0, 0.0), |sums, it| (sums.0 + it.0, sums.1 + it.1));
    (fair > 0.0).then(|| got / fair)
}

/// The mean latency of cells, in milliseconds, and by how many percent it exceeds what the links take
/// without queues; both are means over cells.
fn latencies(run: &Tables, network: &Network) -> Option<(f64, f64)> {
    let rows = run.latencies.iter();
    let rows = rows.filter(|row| row.since == Since::Packaged);
    let (mut cells, mut taken, mut least) = (0.0, 0.0, 0.0);
    for row in rows {
        let circuit = network.circuit(row.circuit)?;
        let count = row.cells as f64;
        cells += count;
        taken += count * row.mean_s;
        least += count * circuit.propagation();
    }
    (cells > 0.0).then(|| (1e3 * taken / cells, 100.0 * (taken / least - 1.0)))
}

/// The largest queue of a circuit at a relay by what it may hold; 1 is all of it. The exit is left out:
/// data waits there for the circuit, not in it.
fn queues(run: &Tables, network: &Network) -> Option<f64> {
    let at_relays = run.hops.iter().filter(|sample| sample.hop > 0);
    let shares = at_relays.filter_map(|sample| {
        let holds = network.circuit(sample.circuit)?.holds(sample.hop)?;
        Some(sample.queue_cells as f64 / (holds + ROOM))
    });
    shares.reduce(f64::max)
}

/// How circuits and connections of other applications share a link, and what users got if some load pages.
pub(super) fn beside_others(run: &Tables) -> Vec<Measured> {
    let [circuits, others] = [run.goodput(), run.cross_goodput()];
    let all = circuits + others;
    let mut measured = vec![Measured::new("goodput of all", "kB/s", all / 1e3)];
    if all > 0.0 {
        let share = 100.0 * circuits / all;
        measured.push(Measured::new("share of circuits", "%", share));
    }
    if run.circuits.iter().any(|it| it.class == Class::Web) {
        web(&mut measured, run, "", |_| true);
        measured.extend(bulk(run));
    }
    measured
}

/// How the last download that begins comes to its rate.
pub(super) fn of_start(run: &Tables, network: &Network) -> Vec<Measured> {
    let Some(number) = run.circuits.iter().map(|it| it.circuit).max() else {
        return Vec::new();
    };
    let samples: Vec<_> = run
        .samples
        .iter()
        .filter(|it| it.circuit == number)
        .collect();
    let trip = network.circuit(number).map(|it| 2.0 * it.propagation());
    let started = trip.and_then(|trip| Some((trip, started(&samples, trip)?)));
    let Some((trip, (rate, after))) = started else {
        return Vec::new();
    };
    vec![
        Measured::new("final rate", "kB/s", rate / 1e3),
        Measured::new("round trips to the final rate", "", after / trip),
    ]
}

/// The final rate of a download in bytes per second, and how many seconds after its first byte was
/// packaged it had nearly this rate over a round trip for the first time.
fn started(samples: &[&Sample], trip: f64) -> Option<(f64, f64)> {
    let first = samples.iter().position(|it| it.packaged_bytes > 0)?;
    let last = samples.last()?;
    let begin = samples.get(first.checked_sub(1)?)?.t_s;
    let rate = |from: &Sample, to: &Sample| {
        (to.delivered_bytes - from.delivered_bytes) as f64 / (to.t_s - from.t_s)
    };
    let settled = last.t_s - (last.t_s - begin) * FINAL;
    let settled = samples.iter().rfind(|it| it.t_s <= settled)?;
    let level = rate(settled, last);
    // Times are sums of intervals and need not be exact.
    let before = |t: f64| samples.iter().rfind(move |it| it.t_s <= t - trip + 1e-6);
    let reached = samples[first..]
        .iter()
        .find(|it| before(it.t_s).is_some_and(|from| rate(from, it) >= STARTED * level));
    (level > 0.0).then(|| (level, reached.map_or(last.t_s, |it| it.t_s) - begin))
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
                t_s: n as f64 / 10.0,
                packaged_bytes: if n > 2 { delivered_bytes + 1 } else { 0 },
                delivered_bytes,
            }
        };
        rates.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_start_counts_from_the_first_byte_to_nearly_the_final_rate() {
        let course = samples(&[0, 0, 0, 0, 40, 80, 94, 96, 100, 100, 100, 100, 100]);
        let course: Vec<_> = course.iter().collect();
        let (level, after) = started(&course, 0.1).unwrap();
        assert!((level - 1000.0).abs() < 1e-6, "{level}");
        assert!((after - 0.5).abs() < 1e-6, "{after}");
        // Over two samples the rate is there later.
        let (_, after) = started(&course, 0.2).unwrap();
        assert!((after - 0.5).abs() < 1e-6, "{after}");
        let (_, after) = started(&course, 0.3).unwrap();
        assert!((after - 0.6).abs() < 1e-6, "{after}");
        assert_eq!(started(&course[..3], 0.1), None);
    }
}
