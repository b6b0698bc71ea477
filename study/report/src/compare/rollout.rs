//! What users get while a transport is being rolled out: those who have it, and those who do not.

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
                  means over networks, ± half of a 95 % confidence interval"
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
    let with: Vec<(&Run, Vec<&Deployment>)> = runs
        .map(|run| (run, of_kind(run, upgraded)))
        .filter(|(_, circuits)| !circuits.is_empty())
        .collect();
    let preset = &with.first()?.1.first()?.preset;
    let over_runs = |of: &dyn Fn(&Run, &[&Deployment]) -> Option<f64>| {
        let values: Vec<f64> = with
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

/// Whether a request is one of the circuits'.
fn is_of<'a>(circuits: &'a [&Deployment]) -> impl Fn(u32, Class) -> bool + 'a {
    move |number, _| circuits.iter().any(|circuit| circuit.circuit == number)
}

/// The mean time of downloads, in seconds.
fn mean_time(times: Vec<Lasted>) -> Option<f64> {
    Survival::of(times).map(|times| times.mean_or_more())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    Mean::of(&values.collect::<Vec<_>>()).map(|mean| mean.mean)
}
