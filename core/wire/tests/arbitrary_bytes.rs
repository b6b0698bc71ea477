//! Decoding is total: no bytes make it panic, read beyond them, or yield a frame that is not theirs.

use proptest::prelude::*;

#[path = "support/check.rs"]
mod check;
#[path = "../../../fuzz/explore.rs"]
mod explore;

/// Bytes that look like a frame at first, so that decoding gets past the type.
fn framed() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(3), Just(4), Just(12), Just(13), Just(15), any::<u8>()];
    let tail = prop::collection::vec(any::<u8>(), 0..1100);
    (any::<u16>(), kind, tail).prop_map(|(circuit, kind, tail)| {
        let mut bytes = circuit.to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(tail);
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_decode_or_fail_cleanly(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        check::any_bytes(&bytes);
    }

    #[test]
    fn bytes_behind_a_frame_head_decode_or_fail_cleanly(bytes in framed()) {
        check::any_bytes(&bytes);
    }
}

#[test]
fn fuzzing_frames_finds_nothing() {
    explore::explore("frame", check::any_bytes);
}
