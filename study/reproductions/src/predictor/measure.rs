//! Latency, throughput and fairness, as section 5 of the paper defines them.

use hopflow_results::{Circuit, Latency, Since, Tables};
use hopflow_sim::spec::TcpConfig;

use crate::{Measured, Part};

/// Bytes of data in a full cell.
const CELL_DATA: f64 = hopflow_wire::CELL_DATA as f64;
/// Bytes of a cell by which the fair rates of a run are reckoned.
const CELL: f64 = hopflow_wire::CELL as f64;
/// Bytes of a cell on a connection.
const CELL_ON_STREAM: f64 = 514.0;
/// Bytes of a segment around its payload: TCP with timestamps, IP, framing.
const HEADERS: f64 = 54.0;

/// The names of the two readings of latency.
pub(super) const LATENCIES: [(Since, &str); 2] = [
    (Since::Packaged, "latency"),
    (Since::Sent, "latency as published"),
];

/// The mean over bytes, in milliseconds, of what is counted since a moment; of one circuit or all.
pub(super) fn latency_ms(run: &Tables, since: Since, circuit: Option<u32>) -> Option<f64> {
    let of_circuit = |row: &&Latency| circuit.is_none_or(|number| row.circuit == number);
    let rows = run.latencies.iter().filter(|row| row.since == since);
    let (sum, cells) = rows.filter(of_circuit).fold((0.0, 0), |(sum, cells), row| {
        (sum + row.mean_s * row.cells as f64, cells + row.cells)
    });
    (cells > 0).then(|| 1e3 * sum / cells as f64)
}

/// The share of a link's rate that is left to data: what neither headers take nor the
/// acknowledgements of data that comes the other way, one for two segments.
///
/// For segments of 536 bytes 0.842; the paper's max-min rates in Table 1 are 0.84 of the link's.
pub(super) fn payload_share(part: &Part) -> f64 {
    let mss = part.scenario.network.tcp.mss;
    let mss = mss.map_or(TcpConfig::default().mss, |mss| mss.0).as_f64();
    CELL_DATA / CELL_ON_STREAM * mss / (mss + 1.5 * HEADERS)
}

/// The max-min fair rate of a circuit in bytes of data per second, net of headers.
pub(super) fn fair_rate(part: &Part, circuit: &Circuit) -> Option<f64> {
    let cells_only = circuit.fair_bytes_per_s?;
    Some(cells_only * CELL / CELL_DATA * payload_share(part))
}

/// The fair rate and the rate of each greedy circuit.
fn rates(part: &Part, run: &Tables) -> Vec<(f64, f64)> {
    let circuits = run.circuits.iter();
    circuits
        .filter_map(|c| Some((fair_rate(part, c)?, c.goodput_bytes_per_s)))
        .collect()
}

/// The paper's index F = 1 - Σ|fair - rate| / Σ fair over greedy circuits; it can be negative.
pub(super) fn fairness(part: &Part, run: &Tables) -> Option<f64> {
    index(&rates(part, run))
}

/// The same index of the rates scaled to the fair rates' sum: whether they are shared out fairly,
/// however much there is of them.
pub(super) fn fairness_of_shares(part: &Part, run: &Tables) -> Option<f64> {
    let share = throughput_over_fair(part, run)?;
    let scaled = |(fair, rate): (f64, f64)| (fair, rate / share);
    let scaled: Vec<_> = rates(part, run).into_iter().map(scaled).collect();
    index(&scaled).filter(|index| index.is_finite())
}

/// The sum of the rates over that of the fair ones. No F is above it where it is below 1: what the
/// sum lacks, some circuits lack.
pub(super) fn throughput_over_fair(part: &Part, run: &Tables) -> Option<f64> {
    let (fair, got) = sums(&rates(part, run));
    (fair > 0.0).then(|| got / fair)
}

fn index(rates: &[(f64, f64)]) -> Option<f64> {
    let (fair, _) = sums(rates);
    let off: f64 = rates.iter().map(|(fair, rate)| (fair - rate).abs()).sum();
    (fair > 0.0).then(|| 1.0 - off / fair)
}

fn sums(rates: &[(f64, f64)]) -> (f64, f64) {
    rates
        .iter()
        .fold((0.0, 0.0), |(fair, got), (f, g)| (fair + f, got + g))
}

/// What all circuits together got: both latencies, and packets that links dropped.
pub(super) fn whole(run: &Tables) -> Vec<Measured> {
    let latency = |(since, name)| Some(Measured::new(name, "ms", latency_ms(run, since, None)?));
    let mut report: Vec<Measured> = LATENCIES.into_iter().filter_map(latency).collect();
    let drops: u64 = run.links.iter().map(|link| link.drops).sum();
    report.push(Measured::new("packets dropped", "", drops as f64));
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_lab::scenario::Scenario;

    #[test]
    fn headers_leave_the_share_that_the_papers_fair_rates_have() {
        let text = include_str!("../../experiments/toy.scenario.toml");
        let part = Part {
            case: String::new(),
            x: None,
            scenario: Scenario::parse(text, "toy").unwrap(),
        };
        // Table 1: 136.7 KiB/s for each of three circuits over 4 Mbit/s.
        let fair = 4e6 / 8.0 * payload_share(&part) / 3.0 / 1024.0;
        assert!((fair / 136.7 - 1.0).abs() < 0.005, "{fair}");
    }

    #[test]
    fn the_mean_counts_bytes_and_not_circuits() {
        let row = |circuit, since, cells, mean_s| Latency {
            circuit,
            since,
            cells,
            mean_s,
        };
        let run = Tables {
            latencies: vec![
                row(0, Since::Sent, 3, 0.1),
                row(1, Since::Sent, 1, 0.5),
                row(1, Since::Packaged, 1, 9.0),
            ],
            ..Tables::default()
        };
        let all = latency_ms(&run, Since::Sent, None).unwrap();
        assert!((all - 200.0).abs() < 1e-9, "{all}");
        let second = latency_ms(&run, Since::Sent, Some(1)).unwrap();
        assert!((second - 500.0).abs() < 1e-9, "{second}");
        assert_eq!(latency_ms(&run, Since::Packaged, Some(0)), None);
    }
}
