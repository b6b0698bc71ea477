//! Any bytes, decoded as frames of both carriers and encoded again.
#![no_main]

#[path = "../../core/wire/tests/support/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::any_bytes(bytes));
