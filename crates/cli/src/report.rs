//! `hopflow report`.

use std::path::{Path, PathBuf};

use hopflow_results::Folder;

use crate::fail::Failure;
use crate::{reproduce, show, sweep, testbed};

/// Writes the report of a result folder anew and says where it is.
pub(crate) fn report(folder: &Path) -> Result<(), Failure> {
    let page = write(folder)?;
    show::print(&format!("report   {}\n", page.display()))
}

/// Writes the report of a result folder; returns the page's path.
pub(crate) fn write(folder: &Path) -> Result<PathBuf, Failure> {
    let manifest = Folder::open(folder).read_manifest()?;
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
