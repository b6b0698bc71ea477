//! Any bytes as a model of traffic.
#![no_main]

use hopflow_traffic::Model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Model::read(bytes, "a file");
});
