//! Decoding is total: no bytes make it panic, read beyond them, or yield a frame that is not theirs.

use std::path::Path;

use proptest::prelude::*;

#[path = "support/check.rs"]
mod check;

/// Bytes that look like a frame at first, so that decoding gets past the type.
fn framed() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(3), Just(4), Just(12), Just(13), any::<u8>()];
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
fn the_fuzzing_corpus_decodes_or_fails_cleanly() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frame");
    let entries = std::fs::read_dir(&corpus).expect("the corpus is part of the repository");
    let mut replayed = 0;
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        check::any_bytes(&std::fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert!(replayed > 0, "no corpus in {}", corpus.display());
}
