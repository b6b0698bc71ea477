//! Sections that other programs add to the page of a folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::{Document, Section};

/// The folder of such sections, below that of the page.
const FOLDER: &str = "sections";
/// The heading of the section that stays the last.
const LAST: &str = "Origin";

/// Adds the sections that lie in files below `dir` to its page, before the section on the origin.
pub(crate) fn add(document: &mut Document, dir: &Path) -> Result<(), Error> {
    let mut added = Vec::new();
    for path in files(&dir.join(FOLDER))? {
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        added.push(Section::from_json(&text, &path)?);
    }
    let sections = &mut document.sections;
    let is_last = |section: &Section| section.heading == LAST;
    let place = sections.iter().rposition(is_last).unwrap_or(sections.len());
    sections.splice(place..place, added);
    Ok(())
}

/// The JSON files of a folder in the order of their names; none if there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        paths.push(entry.map_err(Error::io("read", folder))?.path());
    }
    paths.retain(|path| path.extension() == Some(OsStr::new("json")));
    paths.sort();
    Ok(paths)
}
