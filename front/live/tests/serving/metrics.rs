//! Nodes that serve metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hopflow_live::{Target, Watch};

use crate::support::{Events, serve};

/// A node that gives the same answer again and again.
fn node(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 1024]);
            let _ = socket.write_all(answer.as_bytes());
        }
    });
    address
}

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// A node that takes connections and never answers.
fn silent() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn nodes_are_told_with_what_they_say_or_why_they_say_nothing() {
    let (_listener, silent) = silent();
    let targets = vec![
        Target::new(
            "guard",
            node(
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\
                 hopflow_build_info{role=\"relay\"} 1\nhopflow_links 3\n# EOF\n",
            ),
        ),
        Target::new("gone", nobody()),
        Target::new("silent", silent),
        Target::new("other", node("HTTP/1.1 200 OK\r\n\r\nup 1\n")),
        Target::new("lost", node("HTTP/1.1 404 Not Found\r\n\r\n")),
    ];
    let watch = Watch::new(targets).unwrap();
    let stream = watch.stream();
    let server = serve(&stream);
    let ending = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| watch.run(&stream, &|| ending.load(Ordering::Acquire)));
        let mut events = Events::of(server.address());
        let (name, head) = events.next().unwrap();
        assert_eq!(name, "nodes");
        assert_eq!(head["nodes"][0]["name"], "guard");
        let (name, sample) = events.next().unwrap();
        assert_eq!(name, "sample");
        let nodes = &sample["nodes"];
        assert_eq!(nodes[0]["values"]["links"], 3.0);
        assert_eq!(nodes[0]["about"]["role"], "relay");
        for (number, problem) in [
            (1, "nobody serves metrics there"),
            (2, "does not answer"),
            (3, "serves no metrics that begin with hopflow_"),
            (4, "answers /metrics with 404"),
        ] {
            assert_eq!(nodes[number]["problem"], problem);
        }
        let later = events.next().unwrap().1;
        assert!(later["at"].as_f64() > sample["at"].as_f64());
        ending.store(true, Ordering::Release);
    });
    server.end();
}
