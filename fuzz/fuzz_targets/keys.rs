//! Any bytes as the files of a node's keys.
#![no_main]

#[allow(dead_code, reason = "shared with other targets and tests")]
#[path = "../../real/daemon/tests/inputs/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::keys(bytes));
