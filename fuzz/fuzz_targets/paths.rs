//! Any bytes as a file of circuits.
#![no_main]

use hopflow_paths::CircuitFile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = CircuitFile::parse(bytes, "a file");
});
