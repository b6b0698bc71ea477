//! What users get while a transport is being rolled out: those who have it, and those who do not.

use std::collections::BTreeSet;

use hopflow_results::{Class, Deployment};
use hopflow_stats::{Lasted, Mean, Survival};

use super::load::{Run, Transport};
use crate::model::{Block, Cell, Column, Section, Table};

/// A row for the circuits of either kind under each label; nothing where no transport is rolled out.
pub(super) fn section(transports: &[Transport]) -> Section {
    let mut rows = Vec::new();
    for transport in transports {
        for upgraded in [false, true] {
            rows.extend(row(transport, upgraded));
        }
    }
    if rows.is_empty() {
        return Section::new("Roll-out", Vec::new());
    }
    let table = Table {
        caption: "Circuits that have the transport that is rolled out, and those that do not: \
                  means over networks, ± half of a 95 % confidence interval; goodput and times are of \
                  the networks that have such circuits; where the longest did not end, mean times are at least so long"
            .to_owned(),
        columns: vec![
            Column::new("Label"),
            Column::new("Circuits"),
            Column::with_unit("share", "%"),
            Column::with_unit("goodput per circuit", "kB/s"),
            Column::with_unit("time to first byte", "s"),
            Column::with_unit("time to last byte", "s"),
        ],
        rows,
    };
    Section::new("Roll-out", vec![Block::Table(table)])
}

/// The circuits of one kind, if there are any.
fn row(transport: &Transport, upgraded: bool) -> Option<Vec<Cell>> {
    let runs = transport.runs.iter();
    let runs: Vec<(&Run, Vec<&Deployment>)> = runs
        .filter(|run| !run.deployments.is_empty())
        .map(|run| (run, of_kind(run, upgraded)))
        .collect();
    let preset = &runs.iter().find_map(|(_, of_run)| of_run.first())?.preset;
    let over_runs = |of: &dyn Fn(&Run, &[&Deployment]) -> Option<f64>| {
        let values: Vec<f64> = runs
            .iter()
            .filter_map(|(run, of_run)| of(run, of_run))
            .collect();
        Cell::mean(Mean::of(&values), 1.0)
    };
    let kind = if upgraded { "upgraded" } else { "others" };
    Some(vec![
        Cell::Text(transport.label.clone()),
        Cell::Text(format!("{kind}: {preset}")),
        over_runs(&|run, of_run| Some(100.0 * of_run.len() as f64 / run.deployments.len() as f64)),
        over_runs(&|run, of_run| {
            let goodput = |circuit: &&Deployment| {
                let row = run.circuits.get(circuit.circuit as usize);
                row.map(|row| row.goodput_bytes_per_s / 1e3)
            };
            mean(of_run.iter().filter_map(goodput))
        }),
        over_runs(&|run, of_run| mean_time(run.requests().first_bytes(is_of(of_run)))),
        over_runs(&|run, of_run| mean_time(run.requests().last_bytes(is_of(of_run)))),
    ])
}

fn of_kind(run: &Run, upgraded: bool) -> Vec<&Deployment> {
    let all = run.deployments.iter();
    all.filter(|circuit| circuit.upgraded == upgraded).collect()
}

/// Whether a request is one of the circuits'. Of both there may be many.
fn is_of(circuits: &[&Deployment]) -> impl Fn(u32, Class) -> bool + use<> {
    let numbers: BTreeSet<u32> = circuits.iter().map(|circuit| circuit.circuit).collect();
    move |number, _| numbers.contains(&number)
}

/// The mean time of downloads, in seconds.
fn mean_time(times: Vec<Lasted>) -> Option<f64> {
    Survival::of(times).map(|times| times.mean_or_more())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    Mean::of(&values.collect::<Vec<_>>()).map(|mean| mean.mean)
}

#[cfg(test)]
mod tests {
    use hopflow_results::Download;

    use super::*;

    /// A network of four circuits, of which so many have the new transport; each has a download.
    fn run(network: u32, upgraded: u32) -> Run {
        let deployment = |circuit| Deployment {
            circuit,
            upgraded: circuit < upgraded,
            preset: if circuit < upgraded { "new" } else { "old" }.to_owned(),
        };
        let download = |circuit| Download {
            circuit,
            class: Class::Web,
            request: 0,
            start_s: 0.0,
            ttfb_s: 0.5,
            ttlb_s: 2.0,
            bytes: 1,
        };
        Run {
            network,
            deployments: (0..4).map(deployment).collect(),
            downloads: (0..4).map(download).collect(),
            ..Run::default()
        }
    }

    #[test]
    fn shares_are_over_all_networks_and_times_over_those_with_such_circuits() {
        let transport = Transport {
            label: "new".to_owned(),
            colour: 0,
            runs: (0..4)
                .map(|network| run(network, u32::from(network == 0)))
                .collect(),
        };
        let number = |cell: &Cell| match cell {
            Cell::Number { value, half_width } => (*value, half_width.is_some()),
            other => panic!("{other:?}"),
        };
        let new = row(&transport, true).unwrap();
        let old = row(&transport, false).unwrap();
        assert_eq!(new[1], Cell::Text("upgraded: new".to_owned()));
        assert_eq!(number(&new[2]), (6.25, true));
        assert_eq!(number(&old[2]), (93.75, true));
        // One network has upgraded circuits, so their times have no interval.
        assert_eq!(number(&new[5]), (2.0, false));
        assert_eq!(number(&old[5]), (2.0, true));
    }

    #[test]
    fn requests_are_those_of_the_circuits_in_whatever_order_these_are() {
        let circuit = |circuit| Deployment {
            circuit,
            upgraded: true,
            preset: "new".to_owned(),
        };
        let circuits = [40, 3, 7].map(circuit);
        let is_of = is_of(&circuits.each_ref());
        let found = (0..50).filter(|number| is_of(*number, Class::Web));
        assert_eq!(found.collect::<Vec<_>>(), [3, 7, 40]);
    }

    #[test]
    fn a_kind_that_no_network_has_and_runs_without_a_roll_out_have_no_row() {
        let transport = |runs| Transport {
            label: "new".to_owned(),
            colour: 0,
            runs,
        };
        assert_eq!(row(&transport(vec![run(0, 0)]), true), None);
        assert_eq!(row(&transport(vec![Run::default()]), false), None);
    }
}
