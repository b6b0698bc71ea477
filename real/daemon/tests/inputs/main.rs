//! Inputs of all kinds, among them those of the fuzz targets' corpora.

mod check;
#[path = "../../../../fuzz/explore.rs"]
mod explore;

use proptest::prelude::*;

#[test]
fn fuzzing_what_a_node_reads_finds_nothing() {
    explore::explore("socks", check::socks);
    explore::explore("target", check::target);
    explore::explore("directory", check::directory);
    explore::explore("config", check::config);
    explore::explore("keys", check::keys);
}

proptest! {
    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check::socks(&bytes);
        check::target(&bytes);
        check::directory(&bytes);
        check::config(&bytes);
        check::keys(&bytes);
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
