//! The numbers: each transport, and how it differs from the first.

use super::comparison::{Comparison, Finding};
use super::load::Transport;
use crate::model::{Block, Cell, Column, Section, Table};

/// The values of all transports, and their differences to the first.
pub(super) fn section(comparison: &Comparison, transports: &[Transport]) -> Section {
    let mut blocks = vec![Block::Table(values(comparison, transports))];
    if transports.len() > 1 {
        blocks.push(Block::Table(differences(comparison, transports)));
    }
    Section::new("Numbers", blocks)
}

fn values(comparison: &Comparison, transports: &[Transport]) -> Table {
    let mut columns = vec![Column::new("Quantity")];
    columns.extend(transports.iter().map(|t| Column::figures(&t.label)));
    let row = |compared: &super::comparison::Compared| {
        let figures = compared.shown().into_iter().map(|shown| Cell::Figures {
            text: shown.value,
            faint: false,
        });
        std::iter::once(Cell::Text(compared.heading()))
            .chain(figures)
            .collect()
    };
    let interval = if comparison.has_intervals() {
        " [95 % confidence interval over networks]"
    } else {
        ""
    };
    Table {
        caption: format!("Results of the transports: mean{interval}"),
        columns,
        rows: comparison.quantities.iter().map(row).collect(),
    }
}

/// How each transport differs from the first, network by network.
fn differences(comparison: &Comparison, transports: &[Transport]) -> Table {
    let first = &transports[0].label;
    let mut columns = vec![Column::new("Quantity")];
    for other in &transports[1..] {
        columns.push(Column::figures(&other.label));
        columns.push(Column::figures("%"));
        columns.push(Column::new("Finding"));
    }
    let row = |compared: &super::comparison::Compared| {
        let mut row = vec![Cell::Text(compared.heading())];
        for (entry, shown) in compared.entries.iter().zip(compared.shown()).skip(1) {
            let faint = entry
                .difference
                .is_none_or(|difference| difference.finding == Finding::Open);
            let figures = |text| Cell::Figures { text, faint };
            row.push(figures(shown.difference));
            row.push(figures(shown.percent));
            row.push(Cell::Text(shown.finding));
        }
        row
    };
    Table {
        caption: format!(
            "Differences to {first}{}, network by network: mean [95 % confidence interval], in the \
             quantity’s unit and as a ratio, in percent of {}; grey where nothing can be said",
            comparison.of_variants(),
            if comparison.of_variants().is_empty() {
                first
            } else {
                "the other"
            },
        ),
        columns,
        rows: comparison.quantities.iter().map(row).collect(),
    }
}
