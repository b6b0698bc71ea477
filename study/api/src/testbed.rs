//! Reports of testbeds.

mod figures;
mod made;
mod page;

use std::path::{Path, PathBuf};

use hopflow_results::Manifest;
use hopflow_testbed::SCENARIO;

pub use figures::{
    CUT_OFF, SETTINGS, SHOWN, cut_off, cut_off_sides, error, heading, is_cut_off, names,
    unfinished, value,
};
pub use made::Made;
pub use page::{check_folder, claim, list, place, write_matrix, write_one};

use crate::failure::Failure;
use page::{MATRIX, rewrite_matrix};

/// Writes the report of testbeds' results anew; `None` if the folder holds something else.
pub(crate) fn rewrite(manifest: &Manifest, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    match manifest.scenario.as_str() {
        SCENARIO => write_one(folder).map(Some),
        MATRIX => rewrite_matrix(folder, manifest).map(Some),
        _ => Ok(None),
    }
}
