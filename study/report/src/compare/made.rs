//! How the results were made, so that they can be made again.

use std::fmt::Write as _;

use hopflow_results::Manifest;

use crate::model::{Block, Cell, Code, Column, Section, Table};
use crate::text::slug;

/// The origin of all numbers: command, version, commit, program, seeds, scenario, and a hash per run.
pub(super) fn section(manifest: &Manifest) -> Section {
    let row =
        |name: &str, value: &str| vec![Cell::Text(name.to_owned()), Cell::Text(value.to_owned())];
    let mut rows = vec![row("hopflow", &manifest.hopflow)];
    let known = [("Commit", &manifest.commit), ("Program", &manifest.build)];
    for (name, value) in known {
        rows.extend(value.as_ref().map(|value| row(name, value)));
    }
    rows.push(row("Scenario", &manifest.scenario));
    if let Some(command) = &manifest.command {
        rows.push(row("Command", command));
    }
    rows.push(row("Transports", &manifest.transports.join(", ")));
    rows.push(row("Seeds", &ranges(&manifest.seeds)));
    let table = Table {
        caption: "What the results were made from".to_owned(),
        columns: vec![Column::new("What"), Column::new("Value")],
        rows,
    };
    let scenario = Code {
        caption: "Scenario".to_owned(),
        text: manifest.scenario_toml.clone(),
        file: Some(format!("{}.toml", slug(&manifest.scenario))),
    };
    let runs = Code {
        caption: "Runs and the hashes of their results".to_owned(),
        text: runs(manifest),
        file: None,
    };
    Section::new(
        "Origin",
        vec![
            Block::Table(table),
            Block::Code(scenario),
            Block::Code(runs),
        ],
    )
    .with_prose(again(manifest))
    .with_prose(
        "The same scenario, seeds and version give the same results bit for bit, on any number of \
         threads. The hash of a run’s results tells whether they are the same. The program is a \
         hash of the very file that made the runs.",
    )
}

/// How to make the runs again from what the page has.
fn again(manifest: &Manifest) -> String {
    let file = format!("{}.toml", slug(&manifest.scenario));
    let first: Vec<u64> = (1..=manifest.seeds.len() as u64).collect();
    // Other seeds are listed in the scenario.
    let seeds = if manifest.seeds == first {
        format!(" --seeds {}", first.len())
    } else {
        String::new()
    };
    let of = match &manifest.commit {
        Some(commit) => format!("{}, commit {commit}", manifest.hopflow),
        None => manifest.hopflow.clone(),
    };
    format!(
        "To make the runs again, save the scenario below as `{file}` and give \
         `hopflow run {file}{seeds}` to hopflow {of}. Files that the scenario names must be there."
    )
}

/// One line per run, in columns.
fn runs(manifest: &Manifest) -> String {
    let widest = manifest
        .runs
        .iter()
        .map(|run| run.key.transport.chars().count())
        .max();
    let width = widest.unwrap_or(0).max("transport".len());
    let mut text = format!(
        "{:<width$}  {:>7}  {:>20}  {:<16}  {:>9}\n",
        "transport", "network", "seed", "results", "seconds"
    );
    for run in &manifest.runs {
        let (key, results) = (&run.key, run.results.to_string());
        writeln!(
            text,
            "{:<width$}  {:>7}  {:>20}  {results:<16}  {:>9.2}",
            key.transport, key.network, key.seed, run.wall_seconds
        )
        .expect("a string takes every text");
    }
    text
}

/// Numbers, with runs of consecutive ones as ranges.
fn ranges(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let text = |(first, last): (u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_seeds_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 4, 7, 9, 10]), "1 to 4, 7, 9, 10");
        assert_eq!(ranges(&[u64::MAX, 0]), format!("{}, 0", u64::MAX));
        assert_eq!(ranges(&[]), "");
    }
}
