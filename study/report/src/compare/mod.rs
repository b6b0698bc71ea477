//! The comparison of the transports of a result folder.

mod breakdown;
mod comparison;
mod curves;
mod detail;
mod faults;
mod findings;
mod kind;
mod load;
mod made;
mod measures;
mod metrics;
mod names;
mod network;
mod paths;
mod quantity;
mod relays;
mod rollout;
mod single;
mod summary;

use std::path::Path;

use hopflow_results::{Folder, Manifest};

use crate::error::Error;
use crate::figures;
use crate::model::{Block, Document, Fact, Section};
pub use comparison::{Compared, Comparison, Difference, Ends, Entry, Finding, Shown, comparison};
use detail::Detail;
pub use kind::Kind;
use load::Transport;
pub use measures::{measures, quantities};
pub use quantity::{Better, Dimension, Quantity};

/// The report on a result folder: a comparison of the transports found in it, and the values beside
/// a paper's where the folder holds such values.
///
/// # Errors
/// If the folder holds neither runs nor values, or a file of it is missing or damaged.
pub fn from_results(dir: &Path) -> Result<Document, Error> {
    let folder = Folder::open(dir);
    let values = match folder.read_values() {
        Ok(values) => values,
        Err(hopflow_results::Error::Missing { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let manifest = match folder.read_manifest() {
        Ok(manifest) => manifest,
        Err(hopflow_results::Error::Missing { .. }) if !values.is_empty() => {
            return Ok(figures::page(&figures::FigurePage::of(&values), &values));
        }
        Err(error) => return Err(error.into()),
    };
    let transports = load::transports(&folder, &manifest, load::whole)?;
    if transports.is_empty() {
        return Err(Error::NoRuns {
            path: dir.to_owned(),
        });
    }
    let mut detail = Detail::read(&folder, &manifest, &transports)?;
    let shown = single::circuits(&detail, &transports);
    detail.read_courses(&folder, &manifest, &transports, &shown)?;
    let mut document = compare(&manifest, &transports, &detail);
    if !values.is_empty() {
        let labels: Vec<String> = transports.iter().map(|t| t.label.clone()).collect();
        document.sections.insert(
            1,
            figures::section("Compared with the paper", &values, &labels),
        );
    }
    Ok(document)
}

fn compare(manifest: &Manifest, transports: &[Transport], detail: &Detail) -> Document {
    let comparison = Comparison::of(transports);
    let mut findings = findings::section(&comparison);
    findings
        .blocks
        .extend(unfinished(manifest).map(Block::Note));
    let mut sections = vec![findings];
    sections.extend(Some(network::section(detail, transports)).filter(has_content));
    sections.extend(Some(breakdown::section(transports)).filter(has_content));
    sections.extend(curves::sections(transports).into_iter().filter(has_content));
    sections.extend(Some(single::section(detail, transports)).filter(has_content));
    sections.extend(Some(metrics::section(transports)).filter(has_content));
    sections.extend(Some(rollout::section(transports)).filter(has_content));
    sections.extend(Some(relays::section(detail, transports)).filter(has_content));
    sections.extend(Some(faults::section(detail, transports)).filter(has_content));
    faults::mark(&mut sections, transports);
    sections.push(summary::section(&comparison, transports));
    sections.push(made::section(manifest));
    Document {
        title: manifest.scenario.clone(),
        subtitle: manifest
            .about
            .clone()
            .unwrap_or_else(|| subtitle(transports)),
        facts: facts(manifest, transports),
        sections,
    }
}

/// What to say of results that lack runs of the plan.
fn unfinished(manifest: &Manifest) -> Option<String> {
    let planned = manifest.transports.len() * manifest.seeds.len();
    let finished = manifest.runs.len();
    (finished < planned).then(|| {
        format!(
            "The command was interrupted: {finished} of {planned} runs are finished, and the \
             numbers are over these. The same command makes the missing runs."
        )
    })
}

fn has_content(section: &Section) -> bool {
    !section.blocks.is_empty()
}

fn subtitle(transports: &[Transport]) -> String {
    let labels: Vec<&str> = transports.iter().map(|t| t.label.as_str()).collect();
    match labels.as_slice() {
        [one] => format!("How {one} carries the traffic of this scenario."),
        [first @ .., last] => {
            format!(
                "How {} and {last} carry the same traffic over the same networks.",
                first.join(", ")
            )
        }
        [] => String::new(),
    }
}

fn facts(manifest: &Manifest, transports: &[Transport]) -> Vec<Fact> {
    let runs = || transports.iter().flat_map(|transport| &transport.runs);
    let downloads: usize = runs().map(|run| run.downloads.len()).sum();
    let circuits = || runs().map(|run| run.circuits.len());
    let circuits = match (circuits().min(), circuits().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (_, most) => most.unwrap_or(0).to_string(),
    };
    let wall: f64 = manifest.runs.iter().map(|run| run.wall_seconds).sum();
    vec![
        Fact::new("Transports", transports.len().to_string()),
        Fact::new(
            "Sampled networks",
            load::networks(transports).len().to_string(),
        ),
        Fact::new("Runs", runs().count().to_string()),
        Fact::new("Circuits per run", circuits),
        Fact::new("Downloads", crate::text::fixed(downloads as f64, 0)),
        Fact::new("Computed in", duration(wall)),
    ]
}

/// Seconds for people.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
