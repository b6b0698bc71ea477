//! The server as browsers meet it.

mod metrics;
mod results;
mod support;

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hopflow_live::{MOST_CONNECTIONS, Pace};
use support::{Events, ask, connect, get, serve, simulation};

#[test]
fn the_page_is_served_whole_and_may_load_nothing_from_elsewhere() {
    let server = serve(&simulation(Pace::MAX).stream());
    let address = server.address();
    let (head, page) = get(address, "/");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for line in [
        "Content-Type: text/html; charset=utf-8",
        "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin",
    ] {
        assert!(head.lines().any(|it| it == line), "{line}: {head}");
    }
    assert!(head.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"));
    assert!(
        !head.contains("Access-Control"),
        "no other page may read it"
    );
    assert!(!page.contains("<script>"), "its policy forbids that");
    let attributes = page.split(['"', '\'']);
    let named: Vec<_> = attributes
        .filter(|it| matches!(it.rsplit_once('.'), Some((_, "js" | "css"))))
        .collect();
    assert_eq!(named, ["live.css", "live.js"]);
    for (path, kind) in [
        ("/live.css", "text/css"),
        ("/live.js?x=1", "text/javascript"),
        ("/uplot.js", "text/javascript"),
    ] {
        let (head, body) = get(address, path);
        assert!(head.contains(&format!("Content-Type: {kind}")), "{head}");
        assert!(!body.is_empty());
    }
    server.end();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn nothing_but_the_page_is_served_and_only_to_those_who_name_an_address() {
    let server = serve(&simulation(Pace::MAX).stream());
    let address = server.address();
    for path in [
        "/live",
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/page/live.js",
        "http://a.example/",
    ] {
        let (head, body) = get(address, path);
        assert!(head.starts_with("HTTP/1.1 404 Not Found\r\n"), "{head}");
        let allowed = "allowed are /, /live.js, /uplot.js, /live.css, /events\n";
        assert_eq!(body, allowed, "{path}");
    }
    for (request, status, reason) in [
        (
            "GET /events HTTP/1.1\r\nHost: rebound.example:8734\r\n\r\n",
            "403 Forbidden",
            "host: \"rebound.example:8734\": allowed are localhost and addresses\n",
        ),
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
            "405 Method Not Allowed",
            "POST: allowed is GET, for nothing can be changed here\n",
        ),
        (
            "GET / HTTP/1.1\r\n\r\n",
            "400 Bad Request",
            "allowed is one host\n",
        ),
    ] {
        let (head, body) = ask(address, request);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{head}"
        );
        assert_eq!(body, reason);
    }
    let large = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(9000));
    assert!(ask(address, &large).0.starts_with("HTTP/1.1 431 "));
    server.end();
}

#[test]
fn a_simulation_is_told_from_its_beginning_to_its_end() {
    let simulation = simulation(Pace::MAX);
    let stream = simulation.stream();
    let server = serve(&stream);
    let mut early = Events::of(server.address());
    let (name, head) = early.next().unwrap();
    assert_eq!(
        (name.as_str(), &head["kind"]),
        ("network", &"simulation".into())
    );
    assert_eq!(head["network"]["transports"][1], "backtap");
    assert_eq!(head["network"]["users"].as_array().unwrap().len(), 3);
    thread::scope(|scope| {
        scope.spawn(|| simulation.run(&stream, &|| false));
        let events = early.until("done");
        let frames: Vec<_> = events.iter().filter(|(name, _)| name == "frame").collect();
        assert_eq!(frames.len(), 21, "one every 100 ms");
        let (_, last) = frames.last().unwrap();
        assert_eq!(last["at"], 2.0);
        let delivered = |user: usize| last["views"][1]["users"][user]["delivered"].as_u64();
        assert!(delivered(0).unwrap() > 100_000);
        let downloads = frames.iter().map(|(_, it)| &it["views"][1]["downloads"]);
        let downloads: usize = downloads.map(|it| it.as_array().unwrap().len()).sum();
        assert!(downloads > 2, "{downloads}");
        // Who comes late is told the same.
        let mut late = Events::of(server.address());
        assert_eq!(late.next().unwrap().1, head);
        assert_eq!(late.until("done"), events);
    });
    server.end();
}

#[test]
fn cells_are_shown_while_a_simulation_follows_real_time() {
    let simulation = simulation("20".parse().unwrap());
    let stream = simulation.stream();
    let server = serve(&stream);
    let mut events = Events::of(server.address());
    thread::scope(|scope| {
        scope.spawn(|| simulation.run(&stream, &|| false));
        let events = events.until("done");
        let moments = events.iter().filter(|(name, _)| name == "moment");
        let packets = moments.map(|(_, it)| it["views"][0]["packets"].as_array().unwrap().len());
        assert!(packets.max() > Some(0), "cells are under way");
        let frames = events.iter().filter(|(name, _)| name == "frame");
        assert_eq!(frames.count(), 21);
    });
    server.end();
}

#[test]
fn who_reads_nothing_holds_up_nobody_and_connections_are_limited() {
    let simulation = simulation(Pace::MAX);
    let stream = simulation.stream();
    let server = serve(&stream);
    let address = server.address();
    let mut idle: Vec<_> = (0..MOST_CONNECTIONS - 1)
        .map(|_| connect(address))
        .collect();
    for socket in &mut idle[..8] {
        let request = format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
    }
    let mut page = Events::of(address);
    let mut refused = connect(address);
    let mut answer = String::new();
    refused.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"),
        "{answer}"
    );
    assert!(answer.ends_with("allowed are 32 connections at a time\n"));
    simulation.run(&stream, &|| false);
    page.until("done");
    drop(idle);
    let again = (0..100).any(|_| {
        thread::park_timeout(Duration::from_millis(50));
        let mut socket = connect(address);
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let mut answer = String::new();
        socket.write_all(request.as_bytes()).is_ok()
            && socket.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.1 200 OK")
    });
    assert!(again, "places are given back");
    server.end();
}

#[test]
fn a_simulation_ends_when_it_is_asked_to() {
    let simulation = simulation(Pace::REAL_TIME);
    let stream = simulation.stream();
    simulation.run(&stream, &|| true);
    assert_eq!(Arc::strong_count(&stream), 1);
}
