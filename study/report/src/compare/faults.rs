//! What went wrong at relays: a table, and marks on axes of time.

use hopflow_results::{Fault, FaultKind};

use super::detail::Detail;
use super::load::Transport;
use crate::model::{Along, Block, Cell, Chart, Column, Reference, Section, Table};
use crate::text::significant;

/// Faults up to which each is marked on its own, with its name.
const NAMED: usize = 4;
/// Rows of the table.
const ROWS: usize = 24;

/// The faults of the network that is shown in detail; nothing where there were none.
pub(super) fn section(detail: &Detail, transports: &[Transport]) -> Section {
    let heading = "Faults";
    let Some((_, run)) = detail
        .runs(transports)
        .find(|(_, run)| !run.faults.is_empty())
    else {
        return Section::new(heading, Vec::new());
    };
    let mut faults: Vec<&Fault> = run.faults.iter().collect();
    faults.sort_by(|a, b| a.from_s.total_cmp(&b.from_s).then(a.name.cmp(&b.name)));
    let all = faults.len();
    let shown = if all > ROWS {
        format!("The first {ROWS} of {all} faults")
    } else {
        "Faults".to_owned()
    };
    let table = Table {
        caption: format!("{shown} in network {}", detail.network),
        columns: vec![
            Column::new("Relay"),
            Column::new("What"),
            Column::with_unit("From", "s"),
            Column::with_unit("Until", "s"),
        ],
        rows: faults.into_iter().take(ROWS).map(row).collect(),
    };
    Section::new(heading, vec![Block::Table(table)]).with_prose(
        "What the scenario lets go wrong at relays, or changes there. Charts over time mark it: a \
         few faults by shaded stretches with their names, many by bars on the axis of time.",
    )
}

fn row(fault: &Fault) -> Vec<Cell> {
    vec![
        Cell::Text(fault.name.clone()),
        Cell::Text(what(fault)),
        Cell::number(Some(fault.from_s)),
        fault
            .until_s
            .map_or(Cell::Text("the end".to_owned()), |until| {
                Cell::number(Some(until))
            }),
    ]
}

/// What a fault is, in words.
fn what(fault: &Fault) -> String {
    let rate = || match fault.rate_bytes_per_s {
        Some(rate) => format!(" {} kB/s", significant(rate / 1e3)),
        None => String::new(),
    };
    match fault.what {
        FaultKind::Stop => "stops".to_owned(),
        FaultKind::Outage => "outage".to_owned(),
        FaultKind::Rate => format!("link{}", rate()),
        FaultKind::Bucket => format!("bucket{}", rate()),
        FaultKind::Delay => {
            let delay = fault.delay_s.unwrap_or(0.0);
            format!("delay {} ms", significant(1e3 * delay))
        }
    }
}

/// The marks of faults on an axis of time.
pub(super) fn marks<'f>(faults: impl Iterator<Item = &'f Fault>) -> Vec<Reference> {
    let mut spans: Vec<(f64, Option<f64>, String)> = faults
        .map(|fault| {
            let label = format!("{}: {}", fault.name, what(fault));
            (fault.from_s, fault.until_s, label)
        })
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.2.cmp(&b.2)));
    // The same faults in several networks are marked once.
    spans.dedup();
    let slim = spans.len() > NAMED;
    let span = |(from, until, label)| Reference::Span {
        label: if slim { String::new() } else { label },
        from,
        until,
        slim,
    };
    spans.into_iter().map(span).collect()
}

/// Marks the faults of all networks on all axes of time of these sections that have no marks yet.
pub(super) fn mark(sections: &mut [Section], transports: &[Transport]) {
    let runs = transports.iter().flat_map(|transport| &transport.runs);
    let marks = marks(runs.flat_map(|run| &run.faults));
    if marks.is_empty() {
        return;
    }
    let blocks = sections.iter_mut().flat_map(|section| &mut section.blocks);
    for chart in blocks.flat_map(Block::charts_mut) {
        if is_over_time(chart) && chart.references.is_empty() {
            chart.references.clone_from(&marks);
        }
    }
}

fn is_over_time(chart: &Chart) -> bool {
    chart.along == Along::X && chart.x.label == "Time" && chart.x.unit == "s"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(name: &str, from_s: f64) -> Fault {
        Fault {
            name: name.to_owned(),
            what: FaultKind::Rate,
            from_s,
            until_s: Some(from_s + 1.0),
            rate_bytes_per_s: Some(5e5),
            delay_s: None,
        }
    }

    #[test]
    fn few_faults_are_named_once_and_many_are_slim() {
        let twice = [
            fault("relay-2", 3.0),
            fault("a", 1.0),
            fault("relay-2", 3.0),
        ];
        let found = marks(twice.iter());
        let label = |label: &str, from: f64| Reference::Span {
            label: label.to_owned(),
            from,
            until: Some(from + 1.0),
            slim: false,
        };
        let expected = [
            label("a: link 500 kB/s", 1.0),
            label("relay-2: link 500 kB/s", 3.0),
        ];
        assert_eq!(found, expected);
        let delay = Fault {
            what: FaultKind::Delay,
            delay_s: Some(0.4e-3),
            ..fault("a", 1.0)
        };
        assert_eq!(what(&delay), "delay 0.400 ms");
        let many: Vec<Fault> = (0..9).map(|n| fault("a", f64::from(n))).collect();
        let is_slim = |mark: &Reference| matches!(mark, Reference::Span { label, slim: true, .. } if label.is_empty());
        assert!(marks(many.iter()).iter().all(is_slim));
    }
}
