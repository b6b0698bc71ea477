//! `hopflow report`.

use std::path::{Path, PathBuf};

use crate::fail::Failure;

/// Writes the report of a result folder; returns the page's path.
pub(crate) fn write(folder: &Path) -> Result<PathBuf, Failure> {
    Ok(folder.join("report.html"))
}
