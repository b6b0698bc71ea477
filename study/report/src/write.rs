//! A document to files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hopflow_results::Folder;

use crate::chart::Shape;
use crate::error::Error;
use crate::model::{Bars, Block, Chart, Document, Map};
use crate::style::Medium;
use crate::text::slug;
use crate::{chart, page, sections};

/// The files of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The page, which needs no other file.
    pub page: PathBuf,
    /// Each chart as an SVG file, in the order of the page; stacked bars and networks
    /// behind the others.
    pub plots: Vec<PathBuf>,
}

/// Writes a document as `DIR/report.html`, and its charts as `DIR/plots/ID.svg`.
///
/// Sections in `DIR/sections/*.json` become part of it. Each file is complete or stays as it was.
///
/// # Errors
/// If a file cannot be written, or one of a section cannot be read.
pub fn write(document: &Document, dir: &Path) -> Result<Written, Error> {
    let mut document = document.clone();
    sections::add(&mut document, dir)?;
    let document = with_unique_ids(document);
    let plots_dir = dir.join("plots");
    fs::create_dir_all(&plots_dir).map_err(Error::io("create", &plots_dir))?;
    let plot = |id: &str, drawn: &str| write_file(&plots_dir, &format!("{id}.svg"), drawn);
    let mut plots = Vec::new();
    for chart in charts(&document) {
        let drawn = chart::render(chart, chart::file_shape(chart), Medium::File);
        plots.push(plot(&chart.id, &drawn)?);
    }
    for bars in bars(&document) {
        let drawn = chart::render_bars(bars, Shape::Wide, Medium::File);
        plots.push(plot(&slug(&bars.id), &drawn)?);
    }
    for map in maps(&document) {
        let drawn = chart::render_map(map, Shape::Wide, Medium::File);
        plots.push(plot(&slug(&map.id), &drawn)?);
    }
    let page = write_file(dir, "report.html", &page::render(&document))?;
    Ok(Written { page, plots })
}

/// Writes a file into a folder, in the place of an earlier one in one step; returns its path.
///
/// # Errors
/// If the file cannot be written; the earlier one stays as it was.
pub(crate) fn write_file(dir: &Path, name: &str, text: &str) -> Result<PathBuf, Error> {
    Folder::open(dir).write_extra(name, text)?;
    Ok(dir.join(name))
}

fn charts(document: &Document) -> impl Iterator<Item = &Chart> {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    blocks.flat_map(Block::charts)
}

fn bars(document: &Document) -> impl Iterator<Item = &Bars> {
    let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
    std::iter::from_fn(move || {
        blocks.find_map(|block| match block {
            Block::Bars(bars) => Some(bars),
            _ => None,
        })
    })
}

fn maps(document: &Document) -> impl Iterator<Item = &Map> {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    blocks.filter_map(|block| match block {
        Block::Map(map) => Some(map),
        _ => None,
    })
}

/// Makes the identifiers of charts safe and different from each other, for they name files.
fn with_unique_ids(mut document: Document) -> Document {
    let mut taken = BTreeSet::new();
    let blocks = document
        .sections
        .iter_mut()
        .flat_map(|section| &mut section.blocks);
    for chart in blocks.flat_map(Block::charts_mut) {
        let base = slug(&chart.id);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        chart.id = candidates
            .find(|id| !taken.contains(id))
            .expect("numbers do not end");
        taken.insert(chart.id.clone());
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let page = write_file(folder.path(), "report.html", "before").unwrap();
        // Whoever still has the earlier file sees all of it.
        let other = folder.path().join("other");
        fs::hard_link(&page, &other).unwrap();
        write_file(folder.path(), "report.html", "after").unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "after");
        assert_eq!(fs::read_to_string(&other).unwrap(), "before");
        assert_eq!(names(folder.path()), ["other", "report.html"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("report.html")).unwrap();
        let error = write_file(folder.path(), "report.html", "text").unwrap_err();
        assert!(error.to_string().contains("report.html"), "{error}");
        assert_eq!(names(folder.path()), ["report.html"]);
    }
}
