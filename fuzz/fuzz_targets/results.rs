//! Any bytes as the files of a folder of results.
#![no_main]

#[path = "../../study/results/tests/any/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::any_bytes(bytes));
