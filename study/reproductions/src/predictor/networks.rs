//! Random networks: 50 relays, circuits of three of them (Figures 7 to 13).

use hopflow_report::{Document, FigurePage};
use hopflow_results::{Circuit, Class, Since, Tables, Value};

use super::measure;
use crate::study::{self, percentiles};
use crate::{Curve, Measured, Part};

/// The number of circuits whose rates Figure 9a shows.
const EXAMPLE: f64 = 750.0;
/// Quantities that are distributions over circuits; their x is a percentile.
const DISTRIBUTIONS: [&str; 6] = [
    "rate of a circuit",
    "fair rate of a circuit",
    "latency of a bulk circuit",
    "latency of a web circuit",
    "latency as published of a bulk circuit",
    "latency as published of a web circuit",
];

pub(super) fn measure(part: &Part, run: &Tables) -> Vec<Measured> {
    let mut report = measure::whole(run);
    let total = run.goodput() / 1e6;
    report.push(Measured::new("throughput", "MB/s", total));
    let fairness = measure::fairness(part, run);
    report.extend(fairness.map(|f| Measured::new("fairness F", "", f)));
    let of_fair = measure::throughput_over_fair(part, run);
    report.extend(of_fair.map(|share| Measured::new("throughput over fair", "", share)));
    let of_shares = measure::fairness_of_shares(part, run);
    report.extend(of_shares.map(|f| Measured::new("fairness F of shares", "", f)));
    if part.x == Some(EXAMPLE) {
        let rates = |rate: &dyn Fn(&Circuit) -> Option<f64>| -> Vec<f64> {
            let circuits = run.circuits.iter().filter_map(rate);
            circuits.map(|rate| rate / 1e3).collect()
        };
        let got = rates(&|circuit| Some(circuit.goodput_bytes_per_s));
        let fair = rates(&|circuit| measure::fair_rate(part, circuit));
        percentiles(&mut report, "rate of a circuit", "kB/s", got.into_iter());
        percentiles(
            &mut report,
            "fair rate of a circuit",
            "kB/s",
            fair.into_iter(),
        );
    }
    if run.circuits.iter().any(|c| c.class == Class::Web) {
        by_class(&mut report, run);
    }
    report
}

/// The latencies of circuits of either class (Figure 13).
fn by_class(report: &mut Vec<Measured>, run: &Tables) {
    for (class, name) in [(Class::Bulk, "bulk"), (Class::Web, "web")] {
        for (since, latency) in measure::LATENCIES {
            let means = class_means(run, class, since);
            let quantity = format!("{latency} of a {name} circuit");
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            if !means.is_empty() {
                let quantity = format!("mean {quantity}");
                report.push(Measured::new(quantity, "ms", mean));
            }
            percentiles(report, &quantity, "ms", means.into_iter());
        }
        let goodput: f64 = run
            .circuits
            .iter()
            .filter(|circuit| circuit.class == class)
            .map(|circuit| circuit.goodput_bytes_per_s / 1e6)
            .sum();
        let quantity = format!("{name} throughput");
        report.push(Measured::new(quantity, "MB/s", goodput));
    }
}

/// The mean latency of each circuit of a class that got something, in milliseconds.
fn class_means(run: &Tables, class: Class, since: Since) -> Vec<f64> {
    let of_class = |number: u32| run.circuits[number as usize].class == class;
    let rows = run.latencies.iter();
    rows.filter(|row| row.since == since && of_class(row.circuit))
        .map(|row| 1e3 * row.mean_s)
        .collect()
}

/// The last value of a curve over the first.
pub(super) fn change(curve: &Curve<'_>) -> Option<Measured> {
    let quantity = swept(curve)?;
    let [(_, first), .., (_, last)] = curve.points.as_slice() else {
        return None;
    };
    let change = Measured::new(format!("change of {quantity}"), "", last / first);
    change.value.is_finite().then_some(change)
}

/// The lowest latency of a curve.
pub(super) fn least(curve: &Curve<'_>) -> Option<Measured> {
    let quantity = swept(curve).filter(|quantity| quantity.starts_with("latency"))?;
    let least = curve.points.iter().map(|(_, value)| *value);
    let least = least.reduce(f64::min)?;
    Some(Measured::new(format!("least {quantity}"), "ms", least))
}

/// The quantity of a curve over what is swept, which is no distribution and no count of packets.
fn swept<'a>(curve: &Curve<'a>) -> Option<&'a str> {
    curve.points.first()?.0?;
    let measured = !is_distribution(curve.quantity) && !curve.quantity.starts_with("packets");
    measured.then_some(curve.quantity)
}

/// Whether the x of a quantity are percentiles.
fn is_distribution(quantity: &str) -> bool {
    let name = quantity.split_once(", ").map_or(quantity, |(name, _)| name);
    DISTRIBUTIONS.contains(&name)
}

pub(super) fn page(page: &FigurePage, values: &[Value]) -> Document {
    study::document(page, values, is_distribution)
}
