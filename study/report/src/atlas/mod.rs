//! The atlas: one page that shows all reproduced figures, to be sorted and searched.

mod figure;
mod model;
mod page;
mod thumbnail;

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::write::write_file;
pub use model::{Atlas, AtlasEntry, AtlasFound, VerdictCounts};

impl Atlas {
    /// Writes the page, which needs no other file, as `DIR/index.html`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, Error> {
        fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        write_file(dir, "index.html", &page::render(self))
    }
}
