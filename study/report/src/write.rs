//! A document to files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

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
/// Sections in `DIR/sections/*.json` become part of it.
///
/// # Errors
/// If a file cannot be written, or one of a section cannot be read.
pub fn write(document: &Document, dir: &Path) -> Result<Written, Error> {
    let mut document = document.clone();
    sections::add(&mut document, dir)?;
    let document = with_unique_ids(document);
    let plots_dir = dir.join("plots");
    fs::create_dir_all(&plots_dir).map_err(Error::io("create", &plots_dir))?;
    let mut plots = Vec::new();
    for chart in charts(&document) {
        let path = plots_dir.join(format!("{}.svg", chart.id));
        write_file(
            &path,
            &chart::render(chart, chart::file_shape(chart), Medium::File),
        )?;
        plots.push(path);
    }
    for bars in bars(&document) {
        let path = plots_dir.join(format!("{}.svg", slug(&bars.id)));
        write_file(&path, &chart::render_bars(bars, Shape::Wide, Medium::File))?;
        plots.push(path);
    }
    for map in maps(&document) {
        let path = plots_dir.join(format!("{}.svg", slug(&map.id)));
        write_file(&path, &chart::render_map(map, Shape::Wide, Medium::File))?;
        plots.push(path);
    }
    let page = dir.join("report.html");
    write_file(&page, &page::render(&document))?;
    Ok(Written { page, plots })
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("write", path))
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
