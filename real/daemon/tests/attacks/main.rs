//! Attacks on a relay over real sockets, on the loopback device: how an honest download fares
//! meanwhile, and whether a client is served that was not there before.
//!
//! `cargo test -p hopflow-daemon --test attacks -- --nocapture` prints what was measured.
//! Attackers and nodes share the machine's processors.

mod attacker;
mod speaker;
#[path = "../loopback/support.rs"]
#[expect(dead_code, reason = "shared with the tests in `loopback`")]
mod support;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration as StdDuration;

use hopflow_daemon::net::Running;
use hopflow_engine::Hop;
use hopflow_overlay::FlowView;
use hopflow_units::Duration;
use socket2::SockRef;

use attacker::{Link, Relay, address, connect, create, network, now, opening, proven_opening};
use speaker::Speaker;
use support::{EVERYTHING, Overlay, ask, download, serve, until};

/// The middle relay's token bucket: what the honest download gets if nothing disturbs it.
const BUCKET: &str = "[bucket]\nrate = \"2 MB/s\"\nburst = \"200 kB\"\n";
/// How long a rate is measured.
const SPAN: Duration = Duration::from_millis(1200);
/// How long an attack goes on before that.
const LEAD: StdDuration = StdDuration::from_millis(500);
/// How long attackers take to stall.
const STALL: StdDuration = StdDuration::from_secs(8);
/// What the honest download keeps of its rate while attackers take the processor.
const KEPT: f64 = 0.5;
/// What it keeps while attackers take nothing any more.
const KEPT_AT_REST: f64 = 0.9;
/// Spans of which one must show that.
const SPANS_AT_REST: u32 = 5;
/// What it keeps at least of its fair share of the bucket while attackers use theirs.
const KEPT_OF_SHARE: f64 = 0.7;
/// Cells within a second that are no upload.
const FEW: u64 = 100;
/// Cells that an upload without end may bring to a server that reads nothing: those that the exit holds
/// before it asks the client to pause, and those on their way until then, 128 KiB that two kernels take,
/// and some.
const MOST_UPLOADED: u64 = 1000;
/// When uploads must have come to rest.
const REST: u32 = 60;
/// When a new client has its first byte at the latest.
const NEWCOMER: Duration = Duration::from_secs(2);
/// Only one scene at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Uploads without end of an attacker.
const ENDLESS: usize = 10;

/// Requests of an attacker at most.
const MOST: usize = 20_000;

/// A network with an honest download under way.
struct Scene {
    preset: &'static str,
    overlay: Overlay,
    guard: Relay,
    /// All relays, the first one first.
    hops: Vec<Hop>,
    server: SocketAddr,
    received: Arc<AtomicU64>,
    /// What went wrong.
    complaints: RefCell<Vec<String>>,
}

/// What an attacker has.
#[derive(Clone)]
struct Tools {
    preset: &'static str,
    guard: Relay,
    hops: Vec<Hop>,
    datagrams: bool,
    /// A client that does what the attacker's applications ask for.
    client: SocketAddr,
    /// The honest client.
    victim: SocketAddr,
    /// A server that says nothing.
    silent: SocketAddr,
    /// A server that sends without end.
    endless: SocketAddr,
    /// A server that reads nothing.
    deaf: SocketAddr,
    /// Attackers that have begun all their uploads.
    begun: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

/// When an attack is judged, and how.
struct Judged<'a> {
    /// Waits for that.
    wait: &'a dyn Fn(&Tools),
    /// What the honest download keeps of its rate then, at least.
    kept: f64,
    /// In one of so many spans: other work on the machine takes the processor for some of them, an
    /// attack that is not at rest slows all.
    spans: u32,
}

impl Tools {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits until all of so many attackers have begun to upload.
    fn wait_for_uploads(&self, count: u64) {
        until("all uploads have begun", || {
            self.begun.load(Ordering::Relaxed) == count
        });
    }

    fn link(&self, number: u16) -> Option<Link> {
        self.link_from(address(number))
    }

    fn link_from(&self, from: IpAddr) -> Option<Link> {
        if self.datagrams {
            Link::datagrams(&self.guard, from)
        } else {
            Link::stream(&self.guard, from)
        }
    }

    fn speaker(&self, number: u16, server: SocketAddr) -> Option<Speaker> {
        Speaker::new(self.preset, address(number), server)
    }

    /// The relays of these numbers, the first one's is zero.
    fn path(&self, relays: &[usize]) -> Vec<Hop> {
        relays
            .iter()
            .map(|&relay| self.hops[relay].clone())
            .collect()
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
        let hops: Vec<Hop> = (0..overlay.addresses.len())
            .map(|relay| Hop {
                address: overlay.addresses[relay],
                fingerprint: overlay.keys(relay).identity().unwrap().fingerprint(),
                onion: overlay.keys(relay).onion().unwrap().public(),
            })
            .collect();
        let guard = Relay {
            address: hops[0].address,
            fingerprint: hops[0].fingerprint,
            onion: hops[0].onion,
        };
        let server = serve_endlessly();
        let received = Arc::new(AtomicU64::new(0));
        download(overlay.connect(server), received.clone());
        let scene = Self {
            preset,
            overlay,
            guard,
            hops,
            server,
            received,
            complaints: RefCell::default(),
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

    /// Lets `count` attackers do `attack`, and notes what it does to others.
    fn under(&self, what: &str, count: u16, attack: fn(&Tools, u16)) {
        self.under_for(what, count, attack, LEAD);
    }

    /// The same for attacks that take their fair share of the bucket until they stall, which they do
    /// within this time.
    fn under_for(&self, what: &str, count: u16, attack: fn(&Tools, u16), lead: StdDuration) {
        let wait: &dyn Fn(&Tools) = &|_| thread::park_timeout(lead);
        let judged = Judged {
            wait,
            kept: KEPT,
            spans: 1,
        };
        self.under_until(what, count, attack, &judged);
    }

    fn under_until(&self, what: &str, count: u16, attack: fn(&Tools, u16), judged: &Judged<'_>) {
        let before = self.rate();
        let over = Arc::new(AtomicBool::new(false));
        let (client, socks) = self.overlay.another_client();
        let tools = Tools {
            preset: self.preset,
            guard: self.guard,
            hops: self.hops.clone(),
            endless: self.server,
            deaf: serve_deaf(&over),
            datagrams: self.preset == "backtap",
            client: socks,
            victim: self.overlay.socks,
            silent: serve(|mut socket| drop(socket.read(&mut [0; 1]))),
            begun: Arc::default(),
            over: over.clone(),
        };
        let start = |number| {
            let tools = tools.clone();
            thread::spawn(move || attack(&tools, number))
        };
        let attackers: Vec<_> = (0..count).map(start).collect();
        (judged.wait)(&tools);
        let mut during = self.rate();
        for _ in 1..judged.spans {
            if during >= judged.kept * before {
                break;
            }
            during = self.rate();
        }
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
        let failed = self.overlay.relays.iter().any(Running::has_failed);
        for (holds, complaint) in [
            (
                kept >= judged.kept,
                format!("{before} B/s before, {during} during"),
            ),
            (newcomer <= NEWCOMER, format!("a newcomer waits {newcomer}")),
            (
                total.held.get() <= 512 << 20,
                format!("{} held", total.held),
            ),
            (
                !failed && !self.overlay.client.has_failed(),
                "a node ended".to_owned(),
            ),
        ] {
            if !holds {
                self.complain(what, &complaint);
            }
        }
    }

    fn complain(&self, what: &str, complaint: &str) {
        let complaint = format!("{}, {what}: {complaint}", self.preset);
        self.complaints.borrow_mut().push(complaint);
    }

    /// Cells that the middle relay has forwarded to the exit for others than the honest download, whose
    /// circuit brings most to its client.
    fn uploaded(&self) -> u64 {
        let flows = self.overlay.relays[1].total().flows;
        let departed = |flow: &Option<FlowView>| flow.map_or(0, |it| it.departed.get());
        let honest = flows.iter().max_by_key(|it| departed(&it[1]));
        let all: u64 = flows.iter().map(|it| departed(&it[0])).sum();
        all - honest.map_or(0, |it| departed(&it[0]))
    }

    /// Waits until nothing is uploaded any more, and returns how many cells were since `before`.
    fn wait_for_rest(&self, what: &str, before: u64) -> u64 {
        let mut last = self.uploaded();
        for _ in 0..REST {
            thread::park_timeout(StdDuration::from_secs(1));
            let uploaded = self.uploaded();
            if uploaded.saturating_sub(last) < FEW {
                return uploaded.saturating_sub(before);
            }
            last = uploaded;
        }
        self.complain(what, "uploads go on");
        last.saturating_sub(before)
    }

    /// Uploads of 32 KiB, of which kernels take most.
    fn under_uploads(&self) {
        let (what, count) = ("slow servers", 2);
        let wait = |tools: &Tools| {
            tools.wait_for_uploads(count);
            self.wait_for_rest(what, 0);
        };
        let judged = Judged {
            wait: &wait,
            kept: KEPT_AT_REST,
            spans: SPANS_AT_REST,
        };
        self.under_until(what, count as u16, uploads_to_who_does_not_read, &judged);
    }

    /// Uploads without end: they get their share of the bucket until what is between the two ends is
    /// full, which is little.
    fn under_endless_uploads(&self) {
        let (what, count) = ("slow servers, uploads without end", 2);
        let (rate, before) = (self.rate(), self.uploaded());
        // Links take turns at the bucket over TCP, circuits do over datagrams.
        let share = if self.preset == "vanilla" {
            1.0 / 2.0
        } else {
            1.0 / 3.0
        };
        let wait = |tools: &Tools| {
            tools.wait_for_uploads(count);
            thread::park_timeout(LEAD);
            let mut during = self.rate() / rate;
            if during < KEPT_OF_SHARE * share {
                // Uploads last for more than two spans; other work may have taken one of them.
                during = self.rate() / rate;
            }
            let cells = self.wait_for_rest(what, before);
            let each = cells / (count * ENDLESS as u64);
            println!(
                "{}, while uploads go on: {:.0} %; {each} cells each",
                self.preset,
                100.0 * during
            );
            if during < KEPT_OF_SHARE * share {
                self.complain(
                    what,
                    &format!("{during:.2} of the rate while uploads go on"),
                );
            }
            if each > MOST_UPLOADED {
                self.complain(what, &format!("{each} cells for each upload"));
            }
        };
        let judged = Judged {
            wait: &wait,
            kept: KEPT_AT_REST,
            spans: SPANS_AT_REST,
        };
        self.under_until(what, count as u16, uploads_without_end, &judged);
    }
}

/// A server that reads nothing until all is over; its kernel takes little.
fn serve_deaf(over: &Arc<AtomicBool>) -> SocketAddr {
    let over = over.clone();
    serve(move |socket| {
        let _ = SockRef::from(&socket).set_recv_buffer_size(4096);
        while !over.load(Ordering::Relaxed) {
            thread::park_timeout(StdDuration::from_millis(100));
        }
        drop(socket);
    })
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

/// Opens links from as many networks.
fn floods_links_from_many_networks(tools: &Tools, number: u16) {
    let mut links = Vec::new();
    tools.repeat(200, |turn| {
        links.extend(tools.link_from(network(4096 * number + turn as u16 % 4096)));
    });
}

/// Sends one first datagram again and again, whose cookie is good.
fn replays_a_proven_opening(tools: &Tools, number: u16) {
    let Ok(socket) = UdpSocket::bind((address(number), 0)) else {
        return;
    };
    let Some(opening) = proven_opening(&tools.guard, &socket) else {
        return;
    };
    tools.repeat(5000, |_| {
        let _ = socket.send_to(&opening, tools.guard.address);
    });
}

/// Connects and begins TLS with the first bytes of a message that does not go on.
fn leaves_handshakes_half_open(tools: &Tools, number: u16) {
    let mut sockets = Vec::new();
    tools.repeat(1000, |turn| {
        if turn < 3000
            && let Some(mut socket) = connect(address(number), tools.guard.address)
        {
            let _ = socket.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
            sockets.push(socket);
        }
    });
}

/// Says messages of all kinds on an open link, each with one byte that is wrong, at every place.
fn says_garbage_in_every_place(tools: &Tools, number: u16) {
    let Some(mut link) = tools.link(number) else {
        return;
    };
    link.be_hasty();
    let create = create(&tools.guard);
    tools.repeat(2000, |turn| {
        let mut message = vec![0; 3 + 512];
        let kinds = [0, 3, 4, 12, 13, 14, 15];
        message[1] = 1;
        message[2] = kinds[turn % kinds.len()];
        let place = turn / kinds.len() % message.len();
        message[place] ^= 0xa5;
        if turn % 50 == 0 {
            link.create(1, &create);
        }
        if !link.say(&message)
            && let Some(new) = tools.link(number)
        {
            link = new;
        }
    });
}

/// Lets downloads begin and then takes nothing from its link, acknowledgements of TCP included.
fn snipes(tools: &Tools, number: u16) {
    let Some(mut speaker) = tools.speaker(number, tools.endless) else {
        return;
    };
    for _ in 0..2 {
        speaker.build(tools.path(&[0, 1, 2]));
    }
    tools.repeat(1000, |turn| {
        if turn < 600 {
            speaker.converse();
        }
    });
}

/// Builds circuits that pass all relays again and again.
fn builds_loops(tools: &Tools, number: u16) {
    let Some(mut speaker) = tools.speaker(number, tools.deaf) else {
        return;
    };
    tools.repeat(1000, |turn| {
        if turn % 20 == 0 && turn < 1000 {
            speaker.build(tools.path(&[0, 1, 2, 0, 1, 2, 0, 1, 2]));
        }
        speaker.converse();
    });
}

/// Asks for an endless answer, and takes a byte of it now and then. What the kernel holds of it is more than
/// what nodes do.
fn reads_slowly(tools: &Tools, number: u16) {
    let user = number.to_string();
    let Ok(mut socket) = ask(tools.client, &target(tools.endless), &user) else {
        return;
    };
    let _ = SockRef::from(&socket).set_recv_buffer_size(4096);
    let _ = socket.set_nonblocking(true);
    tools.repeat(100, |_| drop(socket.read(&mut [0; 1])));
}

/// Uploads to servers that read nothing, `most` bytes to each of so many.
fn uploads(tools: &Tools, number: u16, servers: usize, most: usize) {
    let (mut sockets, bytes) = (Vec::new(), vec![7; 32 * 1024]);
    tools.repeat(200, |turn| {
        if turn < servers {
            let user = number.to_string();
            if let Ok(socket) = ask(tools.client, &target(tools.deaf), &user) {
                let _ = socket.set_nonblocking(true);
                sockets.push((socket, 0));
            }
        } else if let Some((socket, said)) = sockets.get_mut(turn % servers) {
            let len = bytes.len().min(most - *said);
            *said += socket.write(&bytes[..len]).unwrap_or(0);
        }
        if turn == 2 * servers {
            tools.begun.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// Uploads 32 KiB each.
fn uploads_to_who_does_not_read(tools: &Tools, number: u16) {
    uploads(tools, number, 40, 32 * 1024);
}

/// Uploads as much as is taken.
fn uploads_without_end(tools: &Tools, number: u16) {
    uploads(tools, number, ENDLESS, usize::MAX);
}

/// Says a byte now and then on each of many streams.
fn writes_slowly(tools: &Tools, number: u16) {
    let mut sockets = Vec::new();
    tools.repeat(200, |turn| {
        if turn < 60 {
            let user = number.to_string();
            sockets.extend(ask(tools.client, &target(tools.silent), &user));
        } else {
            let which = turn % sockets.len().max(1);
            if let Some(socket) = sockets.get_mut(which) {
                let _ = socket.write_all(&[7]);
            }
        }
    });
}

/// Asks for names that nobody has, without waiting for an answer.
fn asks_for_names(tools: &Tools, number: u16) {
    let mut sockets = Vec::new();
    tools.repeat(300, |turn| {
        if turn < 600
            && let Ok(mut socket) = TcpStream::connect(tools.client)
        {
            let name = format!("a{turn}.b{number}.invalid");
            let mut request = vec![5, 1, 0, 5, 1, 0, 3, name.len() as u8];
            request.extend(name.as_bytes());
            request.extend([0, 80]);
            let _ = socket.write_all(&request);
            sockets.push(socket);
        }
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
    let _alone = ALONE.lock();
    println!("{HEAD}");
    let mut complaints = Vec::new();
    for preset in ["backtap", "vanilla"] {
        let scene = Scene::start(preset);
        let files = scene.overlay.files();
        scene.under("nothing", 0, |_, _| ());
        scene.under("circuit flood from one network", 4, floods_circuits);
        scene.under("link flood from one network", 4, floods_links);
        let attack = floods_links_from_many_networks;
        scene.under("link flood from many networks", 4, attack);
        if preset == "backtap" {
            scene.under("forged openings", 1, forges_openings);
            scene.under("a replayed opening", 2, replays_an_opening);
            let attack = replays_a_proven_opening;
            scene.under("a replayed opening with its cookie", 2, attack);
        } else {
            let attack = leaves_connections_half_open;
            scene.under("half-open connections", 1, attack);
            let attack = leaves_handshakes_half_open;
            scene.under("half-open handshakes", 1, attack);
        }
        scene.under("garbage", 2, says_garbage);
        scene.under("garbage in every place", 2, says_garbage_in_every_place);
        scene.under_for("sniper", 2, snipes, STALL);
        scene.under("loops", 1, builds_loops);
        scene.under_for("slow readers", 1, reads_slowly, STALL);
        scene.under("slow writers", 2, writes_slowly);
        scene.under("stream flood", 1, floods_streams);
        scene.under("names that nobody has", 2, asks_for_names);
        scene.under("silent applications", 1, says_a_byte_to_the_client);
        assert_eq!(scene.overlay.files(), files, "no node writes to the disk");
        complaints.append(&mut scene.complaints.borrow_mut());
        scene.overlay.end();
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn servers_that_read_nothing_slow_nobody() {
    let _alone = ALONE.lock();
    println!("{HEAD}");
    let mut complaints = Vec::new();
    for preset in ["backtap", "vanilla"] {
        let scene = Scene::start(preset);
        scene.under_uploads();
        scene.under_endless_uploads();
        complaints.append(&mut scene.complaints.borrow_mut());
        scene.overlay.end();
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Sets how many files this process may have open; false if that cannot be done.
fn limit_descriptors(limit: u64) -> bool {
    let pid = std::process::id().to_string();
    let limit = format!("--nofile={limit}:");
    let set = Command::new("prlimit")
        .args(["--pid", &pid, &limit])
        .status();
    set.is_ok_and(|status| status.success())
}

#[test]
fn nodes_that_get_no_descriptors_go_on_and_recover() {
    let _alone = ALONE.lock();
    let scene = Scene::start("vanilla");
    let before = scene.rate();
    let in_use = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    if !limit_descriptors(in_use + 60) {
        println!("skipped: it needs the command prlimit");
        return scene.overlay.end();
    }
    let mut sockets = Vec::new();
    for _ in 0..100 {
        sockets.extend(TcpStream::connect(scene.guard.address));
        sockets.extend(TcpStream::connect(scene.overlay.socks));
    }
    let during = scene.rate();
    drop(sockets);
    assert!(limit_descriptors(in_use + 10_000));
    let newcomer = scene.serve_newcomer();
    println!(
        "| {} | no descriptors | {:.0} % | {:.0} ms |",
        scene.preset,
        100.0 * during / before,
        newcomer.as_secs_f64() * 1e3
    );
    assert!(during >= KEPT * before, "{before} B/s, then {during} B/s");
    assert!(newcomer <= NEWCOMER, "a newcomer waits {newcomer}");
    scene.overlay.end();
}
