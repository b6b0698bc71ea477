//! The report of any result folder.

use std::path::{Path, PathBuf};

use hopflow_report::Document;
use hopflow_results::Folder;

use crate::failure::Failure;
use crate::{reproduce, sweep, testbed};

/// What a page was made from that came from the Python package, next to it.
const PAGE: &str = "page.json";

/// Writes the report of a result folder; returns the page's path.
///
/// # Errors
/// If the folder holds no results, they are damaged, or a file cannot be written.
pub fn write_report(folder: &Path) -> Result<PathBuf, Failure> {
    let results = Folder::open(folder);
    if let Some(page) = results.read_extra(PAGE)? {
        let document = Document::from_json(&page)?;
        return Ok(hopflow_report::write(&document, folder)?.page);
    }
    let manifest = results.read_manifest()?;
    if let Some(page) = reproduce::rewrite(&manifest, folder)? {
        return Ok(page);
    }
    if let Some(page) = testbed::rewrite(&manifest, folder)? {
        return Ok(page);
    }
    if let Some(page) = sweep::rewrite(&manifest, folder)? {
        return Ok(page);
    }
    let document = hopflow_report::from_results(folder)?;
    Ok(hopflow_report::write(&document, folder)?.page)
}
