//! Files of circuits that are anything.

use hopflow_paths::CircuitFile;

#[path = "../../../fuzz/explore.rs"]
mod explore;

#[test]
fn fuzzing_files_of_circuits_finds_nothing() {
    explore::explore("paths", |bytes| drop(CircuitFile::parse(bytes, "a file")));
}
