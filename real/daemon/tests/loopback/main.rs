//! Relays and a client on the loopback device: an application fetches through them by SOCKS.

mod accounting;
mod legs;
mod moves;
mod reload;
mod soak;
mod streams;
mod support;
mod traces;
mod waiting;

use std::io::{Read, Write};
use std::thread;

use support::{Overlay, content, serve_content, until};

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
fn the_metrics_of_the_transports_layers_are_in_the_account() {
    let overlay = Overlay::start("backtap");
    let mut socket = overlay.connect(serve_content(500_000));
    socket.write_all(b"x").unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    until("the exit says what was measured", || {
        !overlay.exit().metrics.is_empty()
    });
    let metrics = overlay.exit().metrics;
    let names: Vec<&str> = metrics.iter().map(|it| it.metric.name).collect();
    assert_eq!(names, ["base_round_trip", "round_trip", "waiting"]);
    for summary in &metrics {
        let mean = summary.mean();
        assert!(summary.min <= mean && mean <= summary.max, "{summary:?}");
    }
    // Feedback may wait a millisecond for company, and no round trip counts as shorter.
    assert!(metrics[0].min >= 0.001, "{:?}", metrics[0]);
    drop(socket);
    overlay.end();
}

/// Fetches by a client that reaches relays at IPv6 addresses only, over relays that have both.
fn fetch_by_v6(preset: &str) {
    let Some(overlay) = Overlay::start_with_v6(preset) else {
        eprintln!("skipped: this machine has no ::1");
        return;
    };
    let len = 300_000;
    let mut socket = overlay.connect(serve_content(len));
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert!(got == content(len), "{preset}");
    drop(socket);
    overlay.end();
}

#[test]
fn relays_of_two_addresses_are_reached_at_the_other_one_by_datagrams() {
    fetch_by_v6("backtap");
}

#[test]
fn relays_of_two_addresses_are_reached_at_the_other_one_by_connections() {
    fetch_by_v6("vanilla");
}

#[test]
fn backtap_fetches_through_three_relays() {
    fetch("backtap");
}

#[test]
fn udp_or_fetches_through_three_relays() {
    fetch("udp-or");
}

#[test]
fn vanilla_fetches_through_three_relays() {
    fetch("vanilla");
}

#[test]
fn pctcp_fetches_through_three_relays() {
    fetch("pctcp");
}
