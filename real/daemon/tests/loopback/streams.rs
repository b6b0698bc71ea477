//! How connections begin and end at both edges of the overlay, with real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::support::{Overlay, content, free_address, serve, serve_content, until};

/// The codes of RFC 1928, section 6.
const NOT_ALLOWED: u8 = 2;
const HOST_UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;

/// More than all buffers on the way hold.
const MUCH: usize = 3_000_000;

/// A name as a SOCKS request has it.
fn name(name: &str, port: u16) -> Vec<u8> {
    let mut target = vec![3, name.len() as u8];
    target.extend(name.as_bytes());
    target.extend(port.to_be_bytes());
    target
}

fn ipv4(address: [u8; 4], port: u16) -> Vec<u8> {
    let mut target = vec![1];
    target.extend(address);
    target.extend(port.to_be_bytes());
    target
}

#[test]
fn an_application_that_has_said_all_is_still_answered() {
    for preset in ["backtap", "vanilla"] {
        let overlay = Overlay::start(preset);
        let (said, heard) = channel();
        let server = serve(move |mut socket| {
            let mut got = Vec::new();
            socket.read_to_end(&mut got).unwrap();
            said.send(got).unwrap();
            socket.write_all(&content(MUCH)).unwrap();
        });
        let mut socket = overlay.connect(server);
        socket.write_all(&content(MUCH)).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        socket.read_to_end(&mut got).unwrap();
        assert!(got == content(MUCH), "{preset}: what the server said");
        assert!(
            heard.recv().unwrap() == content(MUCH),
            "{preset}: what it heard"
        );
        until("no stream is left", || overlay.exit().streams == 0);
        until("nor at the client", || overlay.client.total().streams == 0);
        overlay.end();
    }
}

#[test]
fn a_server_that_has_said_all_still_hears() {
    let overlay = Overlay::start("backtap");
    let (said, heard) = channel();
    let server = serve(move |mut socket| {
        socket.write_all(&content(MUCH)).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        socket.read_to_end(&mut got).unwrap();
        said.send(got).unwrap();
    });
    let mut socket = overlay.connect(server);
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert!(got == content(MUCH), "what the server said");
    socket.write_all(&content(MUCH)).unwrap();
    drop(socket);
    assert!(heard.recv().unwrap() == content(MUCH), "what it heard");
    until("no stream is left", || overlay.exit().streams == 0);
    overlay.end();
}

#[test]
fn the_exits_connection_is_broken_off_when_the_application_is_gone() {
    let overlay = Overlay::start("backtap");
    let (said, heard) = channel();
    let server = serve(move |mut socket| {
        let mut result = Ok(());
        while result.is_ok() {
            result = socket.write_all(&content(10_000));
        }
        said.send(result.unwrap_err().kind()).unwrap();
    });
    let mut socket = overlay.connect(server);
    socket.read_exact(&mut [0; 1000]).unwrap();
    drop(socket);
    let kind = heard.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(
        matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        "{kind}"
    );
    until("no stream is left", || overlay.exit().streams == 0);
    overlay.end();
}

#[test]
fn a_connection_that_breaks_off_at_the_server_does_so_at_the_application() {
    let overlay = Overlay::start("backtap");
    let server = serve(|mut socket| {
        socket.write_all(&content(1000)).unwrap();
        socket.read_exact(&mut [0]).unwrap();
        // What was not read makes the connection break off.
    });
    let mut socket = overlay.connect(server);
    socket.read_exact(&mut [0; 1000]).unwrap();
    socket.write_all(&[0; 2]).unwrap();
    let error = socket.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    overlay.end();
}

#[test]
fn what_cannot_be_connected_to_is_refused_with_the_reason() {
    let overlay = Overlay::start("backtap");
    let nobody = free_address();
    assert_eq!(overlay.connect_as(nobody, "").unwrap_err(), REFUSED);
    let unknown = name("no-such-host.invalid", 80);
    assert_eq!(overlay.ask(&unknown, "").unwrap_err(), HOST_UNREACHABLE);
    let known = name("localhost", serve_content(10).port());
    let mut socket = overlay.ask(&known, "").unwrap();
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 10);
    drop(socket);
    until("no stream is left", || overlay.exit().streams == 0);
    overlay.end();
}

#[test]
fn an_exit_connects_to_what_its_policy_accepts_and_to_nothing_private_by_default() {
    let server = serve_content(10);
    let exit = format!(
        "policy = [\"reject *:{}\", \"accept *:*\"]\n",
        server.port()
    );
    let overlay = Overlay::start_with("backtap", &exit);
    // No exit allows it, as the client knows.
    assert_eq!(overlay.connect_as(server, "").unwrap_err(), NOT_ALLOWED);
    // Whether a name leads to a private address only the exit can know, and it does not tell.
    let other = serve_content(10).port();
    assert_eq!(
        overlay.ask(&name("localhost", other), "").unwrap_err(),
        HOST_UNREACHABLE
    );
    for private in [
        [10, 0, 0, 1],
        [192, 168, 1, 1],
        [169, 254, 1, 1],
        [0, 0, 0, 0],
    ] {
        assert_eq!(
            overlay.ask(&ipv4(private, 80), "").unwrap_err(),
            NOT_ALLOWED
        );
    }
    overlay.end();
}

#[test]
fn a_relay_that_ends_lets_transfers_through_it_end_first() {
    let mut overlay = Overlay::start("backtap");
    let mut socket = overlay.connect(serve_content(10 * MUCH));
    socket.write_all(b"x").unwrap();
    socket.read_exact(&mut [0; 1000]).unwrap();
    let middle = overlay.relays.remove(1);
    let ending = thread::spawn(move || middle.end());
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 10 * MUCH - 1000);
    drop(socket);
    ending.join().unwrap().unwrap();
    overlay.end();
}

#[test]
fn users_share_no_circuit_and_streams_of_one_user_do() {
    let overlay = Overlay::start("backtap");
    let server = serve_content(10);
    let connect = |user: &str| overlay.connect_as(server, user).unwrap();
    let sockets = ["one", "two", "one", "three", "two", "one"].map(connect);
    let used = || overlay.client.total().pool.unwrap().used;
    until("each user has a circuit", || used() == 3);
    until("all streams are there", || {
        overlay.exit().streams == sockets.len()
    });
    thread::park_timeout(Duration::from_millis(300));
    assert_eq!(used(), 3, "and it stays one");
    drop(sockets);
    until("no stream is left", || overlay.exit().streams == 0);
    overlay.end();
}

/// What a node may hold for a circuit whose reader stalls: 4000 cells in its queue and as many that
/// it has sent and that wait in its successor's, at 640 bytes each.
const MOST_HELD: u64 = 2 * 4000 * 640;

#[test]
fn a_reader_that_stalls_holds_up_its_own_stream_only_and_holds_little() {
    let overlay = Overlay::start("backtap");
    let server: SocketAddr = serve_content(30_000_000);
    let mut stalled = overlay.connect(server);
    stalled.write_all(b"x").unwrap();
    stalled.read_exact(&mut [0; 1000]).unwrap();
    let mut reader = overlay.connect(serve_content(MUCH));
    reader.write_all(b"x").unwrap();
    let mut got = Vec::new();
    reader.read_to_end(&mut got).unwrap();
    assert!(
        got == content(MUCH),
        "the other stream of the circuit goes on"
    );
    until("what waits for the reader counts", || {
        overlay.exit().held.get() > 64 << 10
    });
    for node in overlay.relays.iter().chain([&overlay.client]) {
        let held = node.total().held.get();
        assert!(held <= MOST_HELD, "{held} bytes are held");
    }
    drop(stalled);
    drop(reader);
    until("no stream is left", || overlay.exit().streams == 0);
    overlay.end();
}

/// A server that says nothing, reads slowly, and says how much it has read and how that ended.
fn slow_reader(said: Sender<(usize, Option<ErrorKind>)>) -> SocketAddr {
    serve(move |mut socket| {
        socket.shutdown(Shutdown::Write).unwrap();
        let (mut buffer, mut got) = (vec![0; 64 << 10], 0);
        let end = loop {
            match socket.read(&mut buffer) {
                Ok(0) => break None,
                Ok(len) => got += len,
                Err(error) => break Some(error.kind()),
            }
            thread::park_timeout(Duration::from_millis(4));
        };
        said.send((got, end)).unwrap();
    })
}

#[test]
fn the_end_of_an_upload_arrives_although_its_circuit_is_of_age() {
    let overlay = Overlay::start_aging("backtap");
    let (said, heard) = channel();
    let mut socket = overlay.connect(slow_reader(said));
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    thread::park_timeout(Duration::from_millis(1500));
    socket.write_all(&content(MUCH)).unwrap();
    drop(socket);
    assert_eq!(heard.recv().unwrap(), (MUCH, None));
    overlay.end();
}

#[test]
fn the_end_of_an_upload_arrives_although_the_client_ends() {
    for preset in ["backtap", "vanilla"] {
        let overlay = Overlay::start(preset);
        let (said, heard) = channel();
        let mut socket = overlay.connect(slow_reader(said));
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
        socket.write_all(&content(MUCH)).unwrap();
        drop(socket);
        overlay.end();
        assert_eq!(heard.recv().unwrap(), (MUCH, None), "{preset}");
    }
}

/// Reads until a connection ends: the error by which it does, or `None` if it ends as if all had come.
fn end_of(mut socket: TcpStream) -> Option<ErrorKind> {
    let mut buffer = [0; 1000];
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(error.kind()),
        }
    }
}

#[test]
fn a_download_that_a_client_leaves_when_it_ends_does_not_end_as_if_complete() {
    let overlay = Overlay::start_hasty("backtap");
    let server = serve(|mut socket| while socket.write_all(&[7; 1000]).is_ok() {});
    let mut socket = overlay.connect(server);
    socket.read_exact(&mut [0; 1000]).unwrap();
    let reading = thread::spawn(move || end_of(socket));
    overlay.end();
    assert_eq!(reading.join().unwrap(), Some(ErrorKind::ConnectionReset));
}

#[test]
fn an_upload_that_an_exit_leaves_when_it_ends_does_not_end_as_if_complete() {
    let mut overlay = Overlay::start_hasty("backtap");
    let (said, heard) = channel();
    let server = serve(move |socket| said.send(end_of(socket)).unwrap());
    let mut socket = overlay.connect(server);
    socket.write_all(&content(1000)).unwrap();
    overlay.relays.pop().unwrap().end().unwrap();
    let end = heard.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    drop(socket);
    overlay.end();
}

#[test]
fn an_application_that_uploads_hears_what_the_server_says_to_the_beginning() {
    for preset in ["backtap", "vanilla"] {
        let overlay = Overlay::start(preset);
        let server = serve(|mut socket| {
            socket.read_exact(&mut [0; 1000]).unwrap();
            socket.write_all(&content(60_000)).unwrap();
        });
        for _ in 0..2 {
            let mut socket = overlay.connect(server);
            let mut uploading = socket.try_clone().unwrap();
            // It breaks off in the end.
            let upload = thread::spawn(move || drop(uploading.write_all(&content(MUCH))));
            let mut got = vec![0; 60_000];
            socket.read_exact(&mut got).unwrap();
            assert!(got == content(60_000), "{preset}");
            // An end or a reset, of which the upload may have heard first.
            let more = socket.read(&mut [0]).unwrap_or(0);
            assert_eq!(more, 0, "{preset}");
            drop(socket);
            upload.join().unwrap();
        }
        until("no stream is left", || overlay.exit().streams == 0);
        overlay.end();
    }
}

#[test]
fn an_application_that_asks_for_nothing_is_no_stream_and_holds_up_no_shutdown() {
    let overlay = Overlay::start("backtap");
    let mut asks = overlay.connect(serve_content(10));
    let mut silent = TcpStream::connect(overlay.socks).unwrap();
    silent.write_all(&[5, 1, 0]).unwrap();
    silent.read_exact(&mut [0; 2]).unwrap();
    thread::park_timeout(Duration::from_millis(300));
    assert_eq!(overlay.client.total().streams, 1);
    asks.write_all(b"x").unwrap();
    asks.read_to_end(&mut Vec::new()).unwrap();
    drop(asks);
    let (ended, end) = channel();
    thread::spawn(move || {
        overlay.end();
        // Where the test has failed nobody listens.
        let _ = ended.send(());
    });
    let soon = Duration::from_secs(6);
    assert!(end.recv_timeout(soon).is_ok(), "before `drain` is over");
    drop(silent);
}
