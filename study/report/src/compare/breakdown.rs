//! Where the time of downloads goes, kind by kind.

use hopflow_results::Class;

use super::kind::{Kind, Kinds};
use super::load::{Run, Transport};
use crate::model::{Bar, Bars, Block, Cell, Column, Section, Table};

/// Bars for each class of users that has downloads; without blocks if nothing was recorded.
pub(super) fn section(transports: &[Transport]) -> Section {
    let classes = [(Class::Web, "web"), (Class::Bulk, "bulk")];
    let blocks = classes.into_iter().filter_map(|of| blocks(of, transports));
    Section::new("Where the time goes", blocks.flatten().collect()).with_prose(
        "The time from a request to the last byte, followed along that byte: each nanosecond has \
         one place and one cause, and they add up. Before a cell can take the byte it waits at its \
         source; then the cell waits in the queues of its circuit, in buffers and on links. \
         `hopflow explain` tells the same of single downloads.",
    )
}

fn blocks((class, name): (Class, &str), transports: &[Transport]) -> Option<[Block; 2]> {
    let mut bars = Vec::new();
    for transport in transports {
        let mut downloads = downloads(transport, class);
        downloads.sort_by_key(|(ttlb, _)| *ttlb);
        let slowest = downloads.len() - downloads.len().div_ceil(10);
        bars.extend(bar(transport.label.clone(), &downloads));
        let label = format!("{}, slowest tenth", transport.label);
        bars.extend(bar(label, &downloads[slowest..]));
    }
    let bars = Bars {
        id: format!("time-{name}"),
        title: format!("Where the time to the last byte goes, {name}"),
        caption: "Means over the downloads of all runs, and over the tenth of them that took \
                  longest. Numbers in the bars are those of the legend."
            .to_owned(),
        label: "Time to the last byte".to_owned(),
        unit: "s".to_owned(),
        parts: Kind::ALL.map(|kind| kind.label().to_owned()).to_vec(),
        bars,
    };
    let table = table(&bars);
    (!bars.bars.is_empty()).then_some([Block::Bars(bars), Block::Table(table)])
}

/// All downloads of a class: how long they took, and the parts of that.
fn downloads(transport: &Transport, class: Class) -> Vec<(u64, Kinds)> {
    let of = |run: &Run| -> Vec<(u64, Kinds)> {
        let downloads = run.downloads.iter().filter(|it| it.class == class);
        let kinds = downloads.filter_map(|it| run.times.get(&(it.circuit, it.request)));
        kinds.map(|kinds| (kinds.iter().sum(), *kinds)).collect()
    };
    transport.runs.iter().flat_map(of).collect()
}

/// The means of downloads; `None` if there are none.
fn bar(label: String, downloads: &[(u64, Kinds)]) -> Option<Bar> {
    let count = downloads.len() as f64;
    let mean = |kind: Kind| {
        let of_kind = downloads.iter().map(|(_, kinds)| kinds[kind as usize]);
        of_kind.sum::<u64>() as f64 / count / 1e9
    };
    (!downloads.is_empty()).then(|| Bar {
        label,
        values: Kind::ALL.map(mean).to_vec(),
    })
}

/// The same as numbers.
fn table(bars: &Bars) -> Table {
    let mut columns = vec![Column::new("Downloads"), Column::with_unit("all", "s")];
    let parts = bars.parts.iter().map(|part| Column::with_unit(part, "s"));
    columns.extend(parts);
    let row = |bar: &Bar| {
        let sum = bar.values.iter().sum();
        let mut row = vec![Cell::Text(bar.label.clone()), Cell::number(Some(sum))];
        row.extend(bar.values.iter().map(|value| Cell::number(Some(*value))));
        row
    };
    Table {
        caption: "The same in numbers".to_owned(),
        columns,
        rows: bars.bars.iter().map(row).collect(),
    }
}
