//! What holds for any folder of results; a test and a fuzz target share it.

use std::fs;

use hopflow_results::{Download, Folder, Sample};

/// What the bytes may be the file of.
const FILES: [&str; 2] = ["manifest.json", "values.csv"];

/// A folder whose manifest, values or table are these bytes is read, or refused by an error.
pub(crate) fn any_bytes(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is room");
    for name in FILES {
        fs::write(folder.path().join(name), bytes).expect("there is room");
    }
    let results = Folder::open(folder.path());
    let _ = results.read_values();
    let Ok(manifest) = results.read_manifest() else {
        return;
    };
    for entry in &manifest.runs {
        let _ = results.read_table::<Download>(entry);
        let _ = results.read_table::<Sample>(entry);
    }
}
