//! Streams over several circuits, which the exit links.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use crate::support::{Overlay, content, serve_content, until};

const LEN: usize = 3_000_000;

/// Downloads of as many users, one after the other; returns what each of the middle relays has sent.
fn download(overlay: &Overlay, users: usize) -> [u64; 2] {
    let server = serve_content(LEN);
    for user in 0..users {
        let mut socket = overlay.connect_as(server, &format!("user {user}")).unwrap();
        socket.write_all(b"x").unwrap();
        let mut got = Vec::new();
        socket.read_to_end(&mut got).unwrap();
        assert!(got == content(LEN), "{} bytes", got.len());
    }
    let sent = |relay: usize| overlay.relays[relay].total().counters.node.cells_sent;
    until("the accounts are complete", || {
        sent(2) + sent(3) >= (users * LEN / 498) as u64
    });
    [sent(2), sent(3)]
}

/// A server that does not stop sending.
fn serve_for_ever() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        while socket.write_all(&[7; 10_000]).is_ok() {}
    });
    address
}

fn both_paths_carry(preset: &str) {
    let overlay = Overlay::start_two_paths(preset, 1, "legs = 2\nspare = 0\n");
    let sent = download(&overlay, 1);
    let least = (LEN / 498 / 20) as u64;
    assert!(
        sent.iter().all(|cells| *cells > least),
        "{preset}: {sent:?}"
    );
    assert_eq!(overlay.client.total().pool.unwrap().used, 1);
    overlay.end();
}

#[test]
fn a_download_comes_by_two_paths_of_datagrams() {
    both_paths_carry("backtap");
}

#[test]
fn a_download_comes_by_two_paths_of_connections() {
    both_paths_carry("tor-vegas");
}

#[test]
fn a_transport_that_switches_circuits_has_a_spare_one() {
    let overlay = Overlay::start_two_paths("switching", 1, "spare = 0\n");
    download(&overlay, 1);
    // Accounts are up to a tenth of a second old.
    let circuits = || overlay.exit().counters.circuits;
    until("a circuit and its spare", || circuits() >= 2);
    assert_eq!(circuits(), 2);
    overlay.end();
}

#[test]
fn an_exit_of_several_workers_serves_circuits_of_legs_all_the_same() {
    let overlay = Overlay::start_two_paths("backtap", 2, "legs = 2\nspare = 0\n");
    download(&overlay, 4);
    overlay.end();
}

#[test]
fn where_a_leg_dies_its_streams_end_and_the_next_ones_have_others() {
    let mut overlay = Overlay::start_two_paths("vanilla", 1, "legs = 2\nspare = 0\n");
    let mut socket = overlay.connect(serve_for_ever());
    let reader = thread::spawn(move || {
        std::io::copy(&mut socket, &mut std::io::sink()).expect_err("it does not end by itself")
    });
    until("the download is under way", || {
        overlay.relays[3].total().counters.node.cells_sent > 2000
    });
    overlay.relays.remove(3).end().unwrap();
    reader.join().unwrap();
    // One path is left: circuits have one leg.
    let mut socket = overlay.connect(serve_content(LEN));
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert!(got == content(LEN));
    drop(socket);
    overlay.end();
}
