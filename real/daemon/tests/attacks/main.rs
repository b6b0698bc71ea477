//! Attacks on a relay over real sockets, on the loopback device: how an honest download fares
//! meanwhile, and whether a client is served that was not there before.
//!
//! `cargo test -p hopflow-daemon --test attacks -- --nocapture` prints what was measured.
//! Attackers and nodes share the machine's processors.

mod attacker;
#[path = "../loopback/support.rs"]
#[expect(dead_code, reason = "shared with the tests in `loopback`")]
mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use hopflow_daemon::net::Running;
use hopflow_units::Duration;

use attacker::{Link, Relay, address, connect, create, now, opening};
use support::{EVERYTHING, Overlay, ask, serve};

/// The middle relay's token bucket: what the honest download gets if nothing disturbs it.
const BUCKET: &str = "[bucket]\nrate = \"2 MB/s\"\nburst = \"200 kB\"\n";
/// How long a rate is measured.
const SPAN: Duration = Duration::from_millis(1500);
/// What the honest download keeps of its rate while attackers take the processor.
const KEPT: f64 = 0.5;
/// When a new client has its first byte at the latest.
const NEWCOMER: Duration = Duration::from_secs(2);
/// Requests of an attacker at most.
const MOST: usize = 20_000;

/// A network with an honest download under way.
struct Scene {
    preset: &'static str,
    overlay: Overlay,
    guard: Relay,
    server: SocketAddr,
    received: Arc<AtomicU64>,
}

/// What an attacker has.
#[derive(Clone)]
struct Tools {
    guard: Relay,
    datagrams: bool,
    /// A client that does what the attacker's applications ask for.
    client: SocketAddr,
    /// The honest client.
    victim: SocketAddr,
    /// A server that says nothing.
    silent: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Tools {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn link(&self, number: u16) -> Option<Link> {
        if self.datagrams {
            Link::datagrams(&self.guard, address(number))
        } else {
            Link::stream(&self.guard, address(number))
        }
    }

    /// Does something up to [`MOST`] times, about so many times in a second.
    fn repeat(&self, per_second: u32, mut each: impl FnMut(usize)) {
        const TURNS: u32 = 100;
        let at_once = (per_second / TURNS).max(1) as usize;
        for turn in 0..MOST {
            if self.is_over() {
                return;
            }
            each(turn);
            if turn % at_once == at_once - 1 {
                thread::park_timeout(StdDuration::from_secs(1) / TURNS);
            }
        }
    }
}

fn target(server: SocketAddr) -> Vec<u8> {
    let mut target = vec![1, 127, 0, 0, 1];
    target.extend(server.port().to_be_bytes());
    target
}

/// A server that sends without end.
fn serve_endlessly() -> SocketAddr {
    serve(|mut socket| {
        let bytes = [7; 16 * 1024];
        while socket.write_all(&bytes).is_ok() {}
    })
}

impl Scene {
    fn start(preset: &'static str) -> Self {
        let overlay = Overlay::start_limited(preset, EVERYTHING, "", BUCKET);
        let keys = overlay.guard_keys();
        let guard = Relay {
            address: overlay.guard,
            fingerprint: keys.identity().unwrap().fingerprint(),
            onion: keys.onion().unwrap().public(),
        };
        let server = serve_endlessly();
        let received = Arc::new(AtomicU64::new(0));
        download(overlay.connect(server), received.clone());
        let scene = Self {
            preset,
            overlay,
            guard,
            server,
            received,
        };
        // It has come to its rate, and spent what the bucket held at first.
        thread::park_timeout(StdDuration::from_secs(2));
        scene
    }

    /// The honest download's rate from now on, in bytes per second.
    fn rate(&self) -> f64 {
        let (from, before) = (now(), self.received.load(Ordering::Relaxed));
        thread::park_timeout(StdDuration::from_nanos(SPAN.as_nanos()));
        let after = self.received.load(Ordering::Relaxed);
        (after - before) as f64 / now().saturating_since(from).as_secs_f64()
    }

    /// How long a new client takes to its first byte.
    fn serve_newcomer(&self) -> Duration {
        let from = now();
        let (client, socks) = self.overlay.another_client();
        let mut socket = ask(socks, &target(self.server), "new").expect("it is served");
        socket.read_exact(&mut [0; 1]).expect("it gets a byte");
        let took = now().saturating_since(from);
        drop(socket);
        client.end().unwrap();
        took
    }

    /// Lets `count` attackers do `attack`, and checks what it does to others.
    fn under(&self, what: &str, count: u16, attack: fn(&Tools, u16)) {
        let before = self.rate();
        let over = Arc::new(AtomicBool::new(false));
        let (client, socks) = self.overlay.another_client();
        let tools = Tools {
            guard: self.guard,
            datagrams: self.preset == "backtap",
            client: socks,
            victim: self.overlay.socks,
            silent: serve(|mut socket| drop(socket.read(&mut [0; 1]))),
            over: over.clone(),
        };
        let start = |number| {
            let tools = tools.clone();
            thread::spawn(move || attack(&tools, number))
        };
        let attackers: Vec<_> = (0..count).map(start).collect();
        let during = self.rate();
        let newcomer = self.serve_newcomer();
        let total = self.overlay.relays[0].total();
        over.store(true, Ordering::Relaxed);
        for attacker in attackers {
            attacker.join().unwrap();
        }
        client.end().unwrap();
        let kept = during / before;
        let counters = total.counters;
        println!(
            "| {} | {what} | {:.0} % | {:.0} ms | {} | {:.1} MB | {} |",
            self.preset,
            100.0 * kept,
            newcomer.as_secs_f64() * 1e3,
            counters.circuits,
            total.held.get() as f64 / 1e6,
            counters.links_refused
                + counters.links_evicted
                + counters.circuits_refused
                + counters.circuits_evicted,
        );
        assert!(kept >= KEPT, "{what}: {before} B/s before, {during} during");
        assert!(newcomer <= NEWCOMER, "{what}: a newcomer waits {newcomer}");
        assert!(total.held.get() <= 512 << 20, "{what}: {} held", total.held);
        let failed = self.overlay.relays.iter().any(Running::has_failed);
        assert!(
            !failed && !self.overlay.client.has_failed(),
            "{what}: a node ended"
        );
    }
}

/// Receives until the connection ends.
fn download(mut socket: TcpStream, received: Arc<AtomicU64>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(len) = socket.read(&mut buffer) {
            if len == 0 {
                return;
            }
            received.fetch_add(len as u64, Ordering::Relaxed);
        }
    });
}

/// Begins circuits by the thousand and never uses them.
fn floods_circuits(tools: &Tools, number: u16) {
    let Some(mut link) = tools.link(number) else {
        return;
    };
    link.be_hasty();
    let create = create(&tools.guard);
    tools.repeat(5000, |turn| {
        link.create(1 + (turn % 2000) as u16, &create);
        link.hear();
    });
}

/// Opens links and keeps them, without a word.
fn floods_links(tools: &Tools, number: u16) {
    let mut links = Vec::new();
    tools.repeat(200, |_| links.extend(tools.link(number)));
}

/// Connects and says nothing.
fn leaves_connections_half_open(tools: &Tools, number: u16) {
    let mut sockets = Vec::new();
    tools.repeat(1000, |turn| {
        if turn < 3000 {
            sockets.extend(connect(address(number), tools.guard.address));
        }
    });
}

/// Sends first datagrams from addresses that never answer.
fn forges_openings(tools: &Tools, _: u16) {
    tools.repeat(2000, |turn| {
        if let Ok(socket) = UdpSocket::bind((address(turn as u16), 0)) {
            let _ = socket.send_to(&opening(&tools.guard), tools.guard.address);
        }
    });
}

/// Sends one first datagram again and again.
fn replays_an_opening(tools: &Tools, number: u16) {
    let (Ok(socket), opening) = (UdpSocket::bind((address(number), 0)), opening(&tools.guard))
    else {
        return;
    };
    tools.repeat(5000, |_| {
        let _ = socket.send_to(&opening, tools.guard.address);
    });
}

/// Says what is no frame on an open link.
fn says_garbage(tools: &Tools, number: u16) {
    let Some(mut link) = tools.link(number) else {
        return;
    };
    link.be_hasty();
    tools.repeat(2000, |turn| {
        let noise: Vec<u8> = (0..300).map(|at| (at * turn / 7 + turn) as u8).collect();
        if !link.say(&noise)
            && let Some(new) = tools.link(number)
        {
            link = new;
        }
    });
}

/// Opens streams by the hundred on one circuit, to a server that says nothing.
fn floods_streams(tools: &Tools, number: u16) {
    let mut sockets = Vec::new();
    tools.repeat(200, |turn| {
        if turn < 300 {
            sockets.extend(ask(
                tools.client,
                &target(tools.silent),
                &number.to_string(),
            ));
        }
    });
}

/// Connects to the victim's client and says a byte.
fn says_a_byte_to_the_client(tools: &Tools, _: u16) {
    let mut sockets = Vec::new();
    tools.repeat(500, |turn| {
        if turn < 1000
            && let Ok(mut socket) = TcpStream::connect(tools.victim)
        {
            let _ = socket.write_all(&[5]);
            sockets.push(socket);
        }
    });
}

const HEAD: &str =
    "| transport | attack | rate kept | newcomer | circuits | memory | turned away |";

#[test]
fn attacks_take_no_relay_down() {
    println!("{HEAD}");
    for preset in ["backtap", "vanilla"] {
        let scene = Scene::start(preset);
        scene.under("nothing", 0, |_, _| ());
        scene.under("circuit flood from one network", 4, floods_circuits);
        scene.under("link flood from one network", 4, floods_links);
        if preset == "backtap" {
            scene.under("forged openings", 1, forges_openings);
            scene.under("a replayed opening", 2, replays_an_opening);
        } else {
            let attack = leaves_connections_half_open;
            scene.under("half-open connections", 1, attack);
        }
        scene.under("garbage", 2, says_garbage);
        scene.under("stream flood", 1, floods_streams);
        scene.under("silent applications", 1, says_a_byte_to_the_client);
        scene.overlay.end();
    }
}
