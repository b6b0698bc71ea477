//! Any bytes as what a network does to a link by datagrams.
#![no_main]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../real/channel/tests/datagram/any.rs"]
mod any;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../real/channel/tests/datagram/support.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    any::any_bytes(bytes);
});
