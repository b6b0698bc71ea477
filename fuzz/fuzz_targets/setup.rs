//! Any bytes as set-up messages, as what a hop reads inside of them, and as a handshake.
#![no_main]

#[path = "../../real/onion/tests/support/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::any_bytes(bytes));
