//! Reports of testbeds, where the library is built without them.

use std::path::{Path, PathBuf};

use hopflow_results::Manifest;

use crate::failure::Failure;

/// The scenarios of testbeds' results.
const TESTBEDS: [&str; 2] = ["testbed", "testbeds"];

/// Fails for testbeds' results; `None` if the folder holds something else.
pub(crate) fn rewrite(manifest: &Manifest, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    if TESTBEDS.contains(&manifest.scenario.as_str()) {
        return Err(Failure::bad_input(format_args!(
            "{}: holds a testbed's results; a build with the cargo feature \"overlay\" reports them",
            folder.display()
        )));
    }
    Ok(None)
}
