//! Relays and a client on the loopback device: an application fetches through them by SOCKS.

mod streams;
mod support;
mod waiting;

use std::io::{Read, Write};
use std::thread;

use support::{Overlay, content, serve_content};

fn fetch(preset: &str) {
    let overlay = Overlay::start(preset);
    let len = 2_000_000;
    let server = serve_content(len);
    let fetches: Vec<_> = (0..4)
        .map(|_| {
            let mut socket = overlay.connect(server);
            thread::spawn(move || {
                socket.write_all(b"x").unwrap();
                let mut got = Vec::new();
                socket.read_to_end(&mut got).unwrap();
                got
            })
        })
        .collect();
    for fetch in fetches {
        assert!(fetch.join().unwrap() == content(len), "{preset}");
    }
    overlay.end();
}

#[test]
fn backtap_fetches_through_three_relays() {
    fetch("backtap");
}

#[test]
fn vanilla_fetches_through_three_relays() {
    fetch("vanilla");
}

#[test]
fn pctcp_fetches_through_three_relays() {
    fetch("pctcp");
}
