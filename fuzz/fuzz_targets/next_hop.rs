//! Any bytes as what a relay's neighbour and its next hop do.
#![no_main]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../real/engine/tests/neighbour/far.rs"]
mod far;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../real/engine/tests/neighbour/far_life.rs"]
mod far_life;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../real/engine/tests/neighbour/life.rs"]
mod life;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../../real/engine/tests/neighbour/neighbour.rs"]
mod neighbour;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    far_life::relay(bytes);
});
