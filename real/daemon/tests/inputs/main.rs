//! Inputs of all kinds, among them those of the fuzz targets' corpora.

mod check;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

/// Checks each file of a fuzz target's corpus.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let entries = fs::read_dir(folder.join(target)).expect("the corpus is there");
    let files = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap());
    assert!(files.inspect(|bytes| check(bytes)).count() > 3, "{target}");
}

#[test]
fn the_fuzzing_corpora_are_harmless() {
    replay("socks", check::socks);
    replay("target", check::target);
    replay("directory", check::directory);
    replay("config", check::config);
}

proptest! {
    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check::socks(&bytes);
        check::target(&bytes);
        check::directory(&bytes);
        check::config(&bytes);
    }

    #[test]
    fn any_requests_mean_the_same_in_pieces(
        method in 0..4_u8,
        command in 0..4_u8,
        kind in 0..6_u8,
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = vec![5, 1, method];
        if method == 2 {
            bytes.extend([1, 1, b'a', 1, b'b']);
        }
        bytes.extend([5, command, 0, kind]);
        bytes.extend(rest);
        check::socks(&bytes);
    }
}
