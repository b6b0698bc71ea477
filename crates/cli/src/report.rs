//! `hopflow report`.

use std::path::{Path, PathBuf};

use crate::fail::Failure;
use crate::show;

/// Writes the report of a result folder anew and says where it is.
pub(crate) fn report(folder: &Path) -> Result<(), Failure> {
    let page = write(folder)?;
    show::print(&format!("report   {}\n", page.display()))
}

/// Writes the report of a result folder; returns the page's path.
pub(crate) fn write(folder: &Path) -> Result<PathBuf, Failure> {
    let document = hopflow_report::from_results(folder)?;
    Ok(hopflow_report::write(&document, folder)?.page)
}
