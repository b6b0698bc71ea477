//! The relays that are used most.

use std::collections::BTreeMap;

use hopflow_stats::Mean;

use super::detail::Detail;
use super::load::Transport;
use crate::model::{Block, Cell, Column, Section, Table};

/// Relays in the table.
const MOST: usize = 10;

/// What one transport made of a relay, a number per run.
#[derive(Default)]
struct Use {
    /// Share of the rate limit that was used, in percent.
    share: Vec<f64>,
    /// The most cells that waited in one circuit's queue.
    queue: Vec<f64>,
}

/// The relays with a rate limit, those first of whose limit any transport used most: of all networks, or
/// of the one that is shown in detail where others have different relays of the same names.
pub(super) fn section(detail: &Detail, transports: &[Transport]) -> Section {
    let only = detail.shared_names.then_some(detail.network);
    let of_transports: Vec<BTreeMap<&str, Use>> =
        transports.iter().map(|it| used(it, only)).collect();
    let mut relays: Vec<(&str, f64)> = Vec::new();
    for relays_of in &of_transports {
        for (name, used) in relays_of {
            let share = Mean::of(&used.share).map_or(0.0, |mean| mean.mean);
            match relays.iter_mut().find(|(known, _)| known == name) {
                Some((_, most)) => *most = most.max(share),
                None => relays.push((name, share)),
            }
        }
    }
    // Stable: relays that are used alike stay in the order of their names.
    relays.sort_by(|a, b| b.1.total_cmp(&a.1));
    let count = relays.len();
    relays.truncate(MOST);
    if relays.is_empty() {
        return Section::new("Relays", Vec::new());
    }
    let rows = relays.iter().map(|(name, _)| row(name, &of_transports));
    let shown = if count > MOST {
        format!("The {MOST} most used of {count} relays with a rate limit")
    } else {
        "Relays with a rate limit".to_owned()
    };
    let (place, means) = match only {
        Some(network) => (format!(" in network {network}"), ""),
        None => (
            String::new(),
            "; means over networks, ± half of a 95 % confidence interval",
        ),
    };
    let table = Table {
        caption: format!(
            "{shown}{place}: share of the limit that data cells took, and the most cells that waited \
             in one circuit’s queue{means}"
        ),
        columns: columns(transports),
        rows: rows.collect(),
    };
    let section = Section::new("Relays", vec![Block::Table(table)]);
    match only {
        Some(_) => section.with_prose("Other networks have different relays of the same names."),
        None => section,
    }
}

/// The relays of all networks, or of one only.
fn used(transport: &Transport, only: Option<u32>) -> BTreeMap<&str, Use> {
    let mut relays: BTreeMap<&str, Use> = BTreeMap::new();
    let runs = transport.runs.iter();
    let runs = runs.filter(|run| only.is_none_or(|network| run.network == network));
    for relay in runs.flat_map(|run| &run.relays) {
        if let Some(share) = relay.utilisation {
            let used = relays.entry(&relay.name).or_default();
            used.share.push(100.0 * share);
            used.queue.push(relay.largest_queue_cells as f64);
        }
    }
    relays
}

fn columns(transports: &[Transport]) -> Vec<Column> {
    let mut columns = vec![Column::new("Relay")];
    for transport in transports {
        let label = &transport.label;
        columns.push(Column::with_unit(format!("{label}: used"), "%"));
        columns.push(Column::with_unit(format!("{label}: queue"), "cells"));
    }
    columns
}

fn row(name: &str, of_transports: &[BTreeMap<&str, Use>]) -> Vec<Cell> {
    let mut row = vec![Cell::Text(name.to_owned())];
    for relays in of_transports {
        let used = relays.get(name);
        row.push(Cell::mean(used.and_then(|used| Mean::of(&used.share)), 1.0));
        row.push(Cell::mean(used.and_then(|used| Mean::of(&used.queue)), 1.0));
    }
    row
}
