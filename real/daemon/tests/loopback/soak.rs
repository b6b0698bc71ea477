//! A network under random use for long: relays that restart, packets that are lost, clients that come,
//! fetch, stall, break off and go. Nothing may be wrong, stuck or left behind.
//!
//! `HOPFLOW_SOAK=600 cargo test -p hopflow-daemon --test loopback soak -- --ignored --nocapture` does
//! so for 600 seconds.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{EVERYTHING, Overlay, serve, try_ask};

/// Clients, and applications of each.
const CLIENTS: usize = 200;
const APPLICATIONS: usize = 1;
/// Milliseconds between requests of an application, at most.
const PAUSE: u64 = 40_000;
/// Time between restarts of a relay.
const RESTART: Duration = Duration::from_secs(60);
/// Time between looks at memory.
const LOOK: Duration = Duration::from_secs(5);
/// The largest answer.
const LARGEST: u64 = 400_000;
/// What memory may grow by after the first quarter.
const FLAT: f64 = 1.05;

/// What applications met.
#[derive(Debug, Default)]
struct Tally {
    whole: AtomicU64,
    broken_off: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    wrong: AtomicU64,
    stuck: AtomicU64,
    over: AtomicBool,
}

impl Tally {
    fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Bytes that servers and applications hold at once: what grows is then the nodes' memory.
const PIECE: u64 = 8 * 1024;

/// The pieces of an answer of `len` bytes.
fn pieces(len: u64) -> impl Iterator<Item = Vec<u8>> {
    let starts = (0..len).step_by(PIECE as usize);
    starts.map(move |start| {
        let end = len.min(start + PIECE);
        (start..end).map(|place| (place / 3) as u8).collect()
    })
}

/// A server that answers eight bytes with as many as they say.
fn serve_any() -> SocketAddr {
    serve(|mut socket| {
        let mut len = [0; 8];
        if socket.read_exact(&mut len).is_ok() {
            // The client may be gone.
            let _ = pieces(u64::from_be_bytes(len)).try_for_each(|piece| socket.write_all(&piece));
        }
    })
}

/// Reads `len` bytes of an answer, and returns whether they are right.
fn read_pieces(socket: &mut TcpStream, len: u64) -> std::io::Result<bool> {
    let mut bytes = [0; PIECE as usize];
    for piece in pieces(len) {
        let bytes = &mut bytes[..piece.len()];
        socket.read_exact(bytes)?;
        if *bytes != *piece {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An application that does as the dice say until all is over.
fn live(socks: SocketAddr, server: SocketAddr, seed: u64, tally: &Tally) {
    let mut dice = seed;
    let mut roll = move |bound: u64| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % bound
    };
    let mut target = vec![1, 127, 0, 0, 1];
    target.extend(server.port().to_be_bytes());
    while !tally.over.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(roll(PAUSE)));
        let user = roll(6).to_string();
        let Some(Ok(mut socket)) = try_ask(socks, &target, &user) else {
            Tally::add(&tally.refused);
            continue;
        };
        let len = 1 + roll(LARGEST);
        let taken = match roll(5) {
            // Breaks off.
            0 => roll(len),
            _ => len,
        };
        let stalls = roll(5) == 0;
        let _ = socket.set_read_timeout(Some(Duration::from_secs(90)));
        if socket.write_all(&len.to_be_bytes()).is_err() {
            Tally::add(&tally.failed);
            continue;
        }
        if stalls {
            thread::park_timeout(Duration::from_millis(roll(3000)));
        }
        let count = match read_pieces(&mut socket, taken) {
            Ok(false) => &tally.wrong,
            Ok(true) if taken < len => &tally.broken_off,
            Ok(true) => &tally.whole,
            Err(error) if error.kind() == ErrorKind::WouldBlock => &tally.stuck,
            Err(_) => &tally.failed,
        };
        Tally::add(count);
    }
}

/// The memory of this process, in bytes.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the system tells");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    4096.0 * pages.unwrap_or(0.0)
}

/// With a memory arena for every few threads, the allocator keeps more of what relays give back with each
/// one that is restarted in this process, while what is in use stays the same.
const ONE_ARENA: &str = "MALLOC_ARENA_MAX";

/// Does the test in a process with one arena.
fn soak_with_one_arena() {
    let itself = std::env::current_exe().unwrap();
    let arguments = ["soak::soak", "--exact", "--ignored", "--nocapture"];
    let mut soak = Command::new(itself);
    let ended = soak.args(arguments).env(ONE_ARENA, "1").status().unwrap();
    assert!(ended.success());
}

#[test]
#[ignore = "it takes as long as HOPFLOW_SOAK says"]
fn soak() {
    if std::env::var_os(ONE_ARENA).is_none() {
        return soak_with_one_arena();
    }
    let seconds = std::env::var("HOPFLOW_SOAK").ok();
    let seconds: u64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(600);
    let mut overlay = Overlay::start_limited("backtap", EVERYTHING, "", "[link]\nloss = 0.02\n");
    let (server, tally) = (serve_any(), Arc::new(Tally::default()));
    let clients: Vec<_> = (0..CLIENTS).map(|_| overlay.another_client()).collect();
    let mut lives = Vec::new();
    for (client, (_, socks)) in clients.iter().enumerate() {
        for application in 0..APPLICATIONS {
            let (socks, tally) = (*socks, tally.clone());
            let seed = (client * APPLICATIONS + application) as u64 + 1;
            lives.push(thread::spawn(move || live(socks, server, seed, &tally)));
        }
    }
    let looks = (seconds / LOOK.as_secs()).max(8) as usize;
    let mut memory = Vec::new();
    for look in 0..looks {
        thread::park_timeout(LOOK);
        memory.push(resident());
        let each = (RESTART.as_secs() / LOOK.as_secs()) as usize;
        if look % each == each - 1 {
            overlay.restart(look / each % 3);
        }
        if look % 6 == 5 {
            println!("{look}: {:.1} MB, {tally:?}", resident() / 1e6);
        }
    }
    tally.over.store(true, Ordering::Relaxed);
    for life in lives {
        life.join().unwrap();
    }
    let most = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    let (second, last) = (&memory[looks / 4..looks / 2], &memory[3 * looks / 4..]);
    let (second, last) = (most(second), most(last));
    println!("{tally:?}, memory {second} then {last}");
    for (client, _) in clients {
        client.end().unwrap();
    }
    overlay.end();
    assert_eq!(tally.wrong.load(Ordering::Relaxed), 0);
    assert_eq!(tally.stuck.load(Ordering::Relaxed), 0);
    assert!(tally.whole.load(Ordering::Relaxed) > seconds);
    assert!(last <= FLAT * second, "memory grew from {second} to {last}");
}
