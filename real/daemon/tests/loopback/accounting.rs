//! A relay that limits what it moves in a period.

use std::io::{Read, Write};

use crate::reload::connects_anew;
use crate::support::{EVERYTHING, Overlay, pass, serve, serve_content, until};

const DAY: u64 = 24 * 60 * 60;

fn rests(preset: &str) {
    let quick = "stream-timeout = \"2 s\"\nbuild-timeout = \"1 s\"\n";
    let middle = "[accounting]\nmax = \"1 MB\"\nstart = \"day 00:00\"\n";
    let mut overlay = Overlay::start_limited(preset, EVERYTHING, quick, middle);
    let middle = 1;
    let standing = |overlay: &Overlay| overlay.relays[middle].standing().unwrap();
    assert!(!standing(&overlay).spent);
    let len = 2_000_000;
    let mut socket = overlay.connect(serve_content(len));
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), len, "{preset}: streams may end");
    drop(socket);
    until("the middle has moved what it may", || {
        standing(&overlay).spent
    });
    let moved = standing(&overlay).moved;
    // Two million bytes came and went, and what they were packed into.
    for bytes in [moved.sent, moved.received] {
        assert!(
            (2_000_000..2_600_000).contains(&bytes),
            "{preset}: {moved:?}"
        );
    }
    until("it has closed its circuits", || {
        overlay.relays[middle].total().counters.circuits == 0
    });
    let server = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    assert!(connects_anew(&overlay, server).is_err(), "{preset}");

    overlay.restart(middle);
    assert!(standing(&overlay).spent, "{preset}: a restart wins nothing");
    assert!(standing(&overlay).moved.sent >= moved.sent, "{preset}");
    assert!(connects_anew(&overlay, server).is_err(), "{preset}");

    pass(DAY);
    until("the next day has come", || !standing(&overlay).spent);
    until("it works again", || connects_anew(&overlay, server).is_ok());
    overlay.end();
}

#[test]
fn a_relay_that_has_moved_what_it_may_rests_until_the_next_period() {
    rests("backtap");
    rests("vanilla");
}
