//! Applications whose connections are not there yet.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::support::{EVERYTHING, Overlay, free_address, serve, until};

/// The code of RFC 1928, section 6.
const TTL_EXPIRED: u8 = 6;

/// A server that hears of nobody: its queue is full of those whom it does not take.
struct Deaf {
    address: SocketAddr,
    _listener: Socket,
    _queue: Vec<Socket>,
}

impl Deaf {
    fn start() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&free_address().into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            // It is on its way, and so it stays once the queue is full.
            let _ = socket.connect(&address);
            socket
        };
        Self {
            address: address.as_socket().unwrap(),
            _queue: (0..4).map(connect).collect(),
            _listener: listener,
        }
    }
}

/// An application that asks for `target` and does not wait for the answer.
fn ask(overlay: &Overlay, target: SocketAddr) -> TcpStream {
    let mut socket = TcpStream::connect(overlay.socks).unwrap();
    let mut request = vec![5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1];
    request.extend(target.port().to_be_bytes());
    request.extend(b"early");
    socket.write_all(&request).unwrap();
    socket
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_the_user_says() {
    let overlay = Overlay::start_all("backtap", EVERYTHING, "stream-timeout = \"2 s\"\n");
    let deaf = Deaf::start();
    let refusal = overlay.connect_as(deaf.address, "").unwrap_err();
    assert_eq!(refusal, TTL_EXPIRED);
    until("the exit gives up", || overlay.exit().streams == 0);
    overlay.end();
}

#[test]
fn an_application_that_is_gone_is_waited_for_by_nobody() {
    let overlay = Overlay::start("backtap");
    let deaf = Deaf::start();
    let socket = ask(&overlay, deaf.address);
    until("the exit connects", || overlay.exit().streams == 1);
    drop(socket);
    until("the exit gives up", || overlay.exit().streams == 0);
    until("and the client", || overlay.client.total().streams == 0);
    overlay.end();
}

#[test]
fn a_request_of_an_application_that_is_gone_is_taken_back() {
    let mut overlay = Overlay::start("backtap");
    overlay
        .relays
        .drain(..)
        .for_each(|relay| relay.end().unwrap());
    until("no circuit is left", || {
        overlay.client.total().counters.circuits == 0
    });
    let mut socket = ask(&overlay, free_address());
    socket.read_exact(&mut [0; 2]).unwrap();
    until("it waits for a circuit", || waiting(&overlay) == 1);
    drop(socket);
    until("nobody waits", || waiting(&overlay) == 0);
    assert_eq!(overlay.client.total().streams, 0);
    overlay.end();
}

fn waiting(overlay: &Overlay) -> usize {
    let pool = overlay.client.total().pool;
    std::thread::park_timeout(Duration::from_millis(10));
    pool.map_or(0, |pool| pool.waiting)
}

#[test]
fn an_application_that_says_nothing_is_dropped() {
    let overlay = Overlay::start_all("backtap", EVERYTHING, "stream-timeout = \"1 s\"\n");
    let mut silent = TcpStream::connect(overlay.socks).unwrap();
    silent
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap_or(0), 0);
    until("nothing is left of it", || {
        overlay.client.total().streams == 0
    });
    overlay.end();
}

#[test]
fn an_exit_does_not_connect_to_relays() {
    const NOT_ALLOWED: u8 = 2;
    let overlay = Overlay::start("vanilla");
    let refusal = overlay.connect_as(overlay.addresses[0], "").unwrap_err();
    assert_eq!(refusal, NOT_ALLOWED);
    overlay.end();
}

#[test]
fn an_exit_gives_up_what_does_not_connect_and_closes_what_is_idle() {
    let limits = "connect-timeout = \"1 s\"\nidle-timeout = \"1 s\"\n";
    let overlay = Overlay::start_with_limits("backtap", EVERYTHING, "", ("", limits));
    let deaf = Deaf::start();
    let refusal = overlay.connect_as(deaf.address, "").unwrap_err();
    assert_eq!(refusal, TTL_EXPIRED);
    let silent = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let mut idle = overlay.connect(silent);
    until("the exit closes it", || overlay.exit().streams == 0);
    assert!(!idle.read(&mut [0; 1]).is_ok_and(|len| len > 0));
    overlay.end();
}

#[test]
fn a_circuit_gets_its_share_of_an_exits_connections() {
    let limits = "connections = 3\nconnections-per-circuit = 2\n";
    let overlay = Overlay::start_with_limits("backtap", EVERYTHING, "", ("", limits));
    let silent = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let mut first = overlay.connect_as(silent, "many").unwrap();
    let second = overlay.connect_as(silent, "many").unwrap();
    assert!(overlay.connect_as(silent, "many").is_err());
    let third = overlay.connect_as(silent, "other").unwrap();
    // The circuit that has most loses its oldest.
    let fourth = overlay.connect_as(silent, "another").unwrap();
    assert!(!first.read(&mut [0; 1]).is_ok_and(|len| len > 0));
    let counted = || {
        let it = overlay.exit().connections;
        (it.open, it.most, it.refused, it.evicted)
    };
    until("metrics say so", || counted() == (3, 1, 1, 1));
    drop((second, third, fourth));
    overlay.end();
}
