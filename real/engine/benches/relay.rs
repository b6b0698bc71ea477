//! What a middle relay's processor does for each cell: engines with their real cryptography, and
//! between them nothing but memory.
//!
//! `cargo bench -p hopflow-engine --bench relay -- [transport] [megabytes]`

use std::alloc::System;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_channel::Identity;
use hopflow_engine::{
    Action, CircuitKey, ConnId, Engine, EngineConfig, Event, Hop, Limits, RelayIdentity,
    StreamHandle, Via,
};
use hopflow_onion::OnionSecret;
use hopflow_units::{Duration, Instant};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The client, and behind it its relays.
const NODES: usize = 4;
/// The one that is measured.
const MIDDLE: usize = 2;
/// Time between two rounds, in each of which every engine takes what was sent in the round before.
const ROUND: Duration = Duration::from_micros(200);
/// Bytes that a connection takes at a time.
const ROOM: usize = 64 * 1024;
/// Cells of one sample.
const SAMPLE: u64 = 2000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
    let named = words.next();
    let megabytes = words
        .next()
        .map_or(32, |word| word.parse().expect("a number"));
    let all = ["backtap", "vanilla"];
    for transport in all
        .into_iter()
        .filter(|name| named.is_none_or(|it| it == name))
    {
        let mut network = Network::new(transport);
        network.download(megabytes << 20);
        network.report(transport);
    }
}

/// What is under way to an engine.
enum Parcel {
    Datagrams(Via, SocketAddr, usize, Vec<u8>),
    Bytes(ConnId, Vec<u8>),
    Opened(ConnId, usize),
}

struct Network {
    now: Instant,
    engines: Vec<Engine>,
    inboxes: Vec<Vec<Parcel>>,
    peers: BTreeMap<(usize, ConnId), (usize, ConnId)>,
    built: bool,
    begun: Option<StreamHandle>,
    received: usize,
    /// Nanoseconds and allocations of the middle relay since the last sample, and at which cell
    /// that was.
    spent: (u128, usize),
    sampled: u64,
    /// Nanoseconds and allocations for each cell.
    samples: Vec<(f64, f64)>,
}

fn address(node: usize, via: Via) -> SocketAddr {
    let port = match via {
        Via::Listening(_) => 1000,
        Via::Outgoing => 2000,
    };
    SocketAddr::from(([10, 0, 0, node as u8], port))
}

fn whose(address: SocketAddr) -> (usize, Via) {
    let SocketAddr::V4(v4) = address else {
        panic!("all addresses are of version 4");
    };
    let via = match v4.port() {
        1000 => Via::Listening(None),
        _ => Via::Outgoing,
    };
    (v4.ip().octets()[3].into(), via)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn clock() -> std::time::Instant {
    std::time::Instant::now()
}

impl Network {
    fn new(transport: &str) -> Self {
        let options = "".parse().expect("it is TOML");
        let factory = hopflow_transports::build(transport, &options).expect("a transport");
        let mut network = Self {
            now: Instant::ZERO,
            engines: Vec::new(),
            inboxes: (0..NODES).map(|_| Vec::new()).collect(),
            peers: BTreeMap::new(),
            built: false,
            begun: None,
            received: 0,
            spent: (0, 0),
            sampled: 0,
            samples: Vec::new(),
        };
        let mut path = Vec::new();
        for node in 0..NODES {
            let identity = RelayIdentity {
                certificate: Identity::generate(),
                onion: OnionSecret::generate(),
            };
            let hop = Hop {
                address: address(node, Via::Listening(None)),
                fingerprint: identity.certificate.fingerprint(),
                onion: identity.onion.public(),
            };
            let relay = (node > 0).then(|| Arc::new(identity));
            path.extend(relay.is_some().then_some(hop));
            let config = EngineConfig {
                relay,
                extend_to: None,
                bucket: None,
                access: None,
                limits: Limits::default(),
                worker: 0,
                epoch: clock(),
            };
            network
                .engines
                .push(Engine::new(config, &*factory).expect("engines offer all"));
        }
        let circuit = network.engines[0].build(network.now, path);
        network.run_until(|network| network.built);
        network.begin(circuit);
        network
    }

    fn begin(&mut self, circuit: CircuitKey) {
        let (now, client) = (self.now, &mut self.engines[0]);
        client.open_stream(now, &[circuit], b"example.org:80");
        self.run_until(|network| network.begun.is_some());
    }

    fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            self.round();
        }
    }

    /// Lets the exit send so many bytes.
    fn download(&mut self, bytes: usize) {
        let (chunk, mut left) = (vec![7; 32 * 1024], bytes);
        let goal = self.received + bytes;
        let stream = self.begun.expect("the exit has a stream");
        while self.received < goal {
            loop {
                let piece = &chunk[..left.min(chunk.len())];
                let taken = self.engines[NODES - 1].write(self.now, stream, piece);
                left -= taken;
                if taken == 0 {
                    break;
                }
            }
            self.round();
        }
    }

    fn round(&mut self) {
        self.now += ROUND;
        let inboxes: Vec<Vec<Parcel>> = self.inboxes.iter_mut().map(std::mem::take).collect();
        for (node, inbox) in inboxes.into_iter().enumerate() {
            if node == MIDDLE {
                let (start, before) = (clock(), ALLOCATOR.stats());
                let sent = middle_relay(&mut self.engines[node], self.now, &inbox);
                self.spent.0 += start.elapsed().as_nanos();
                let after = ALLOCATOR.stats();
                self.spent.1 += after.allocations - before.allocations;
                self.post(node, sent);
                self.sample();
            } else {
                let sent = relay(&mut self.engines[node], self.now, &inbox);
                self.post(node, sent);
            }
            for parcel in inbox {
                if let Parcel::Opened(theirs, by) = parcel {
                    self.open(node, theirs, by);
                }
            }
            self.take_events(node);
        }
    }

    fn sample(&mut self) {
        let cells = self.engines[MIDDLE].counters().node.cells_sent - self.sampled;
        if cells >= SAMPLE {
            let (nanos, allocations) = std::mem::take(&mut self.spent);
            let cells_sent = cells as f64;
            self.samples
                .push((nanos as f64 / cells_sent, allocations as f64 / cells_sent));
            self.sampled += cells;
        }
    }

    fn open(&mut self, node: usize, theirs: ConnId, by: usize) {
        let Some(ours) = self.engines[node].accept(self.now, address(by, Via::Outgoing).ip())
        else {
            panic!("relays take connections");
        };
        self.peers.insert((by, theirs), (node, ours));
        self.peers.insert((node, ours), (by, theirs));
        for (node, conn) in [(by, theirs), (node, ours)] {
            self.engines[node].connected(self.now, conn);
            self.engines[node].set_room(self.now, conn, ROOM);
        }
    }

    fn post(&mut self, from: usize, sent: Vec<(Target, Vec<u8>)>) {
        for (target, bytes) in sent {
            match target {
                Target::Datagrams(via, to, segment) => {
                    let (to, their_via) = whose(to);
                    let from = address(from, via);
                    self.inboxes[to].push(Parcel::Datagrams(their_via, from, segment, bytes));
                }
                Target::Bytes(conn) => {
                    let (to, theirs) = self.peers[&(from, conn)];
                    self.inboxes[to].push(Parcel::Bytes(theirs, bytes));
                }
            }
        }
    }

    fn take_events(&mut self, node: usize) {
        while let Some(action) = self.engines[node].poll_action() {
            match action {
                Action::Connect { conn, to } => {
                    self.inboxes[whose(to).0].push(Parcel::Opened(conn, node));
                }
                Action::Close { .. } => panic!("nothing fails"),
            }
        }
        while let Some(event) = self.engines[node].poll_event(self.now) {
            match event {
                Event::Built { .. } => self.built = true,
                Event::Begin { stream, .. } => self.begun = Some(stream),
                Event::Data { payload, .. } => self.received += payload.data().len(),
                Event::Writable { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn report(&self, transport: &str) {
        // The window opens first.
        let samples = &self.samples[self.samples.len() / 4..];
        let median = |of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        };
        println!(
            "{transport}: {:.0} ns and {:.2} allocations for each cell at the middle relay, \
             medians of {} samples",
            median(|sample| sample.0),
            median(|sample| sample.1),
            samples.len()
        );
    }
}

/// Where bytes are to be sent.
enum Target {
    Datagrams(Via, SocketAddr, usize),
    Bytes(ConnId),
}

/// A name of its own, by which profilers find what is measured.
#[inline(never)]
fn middle_relay(engine: &mut Engine, now: Instant, inbox: &[Parcel]) -> Vec<(Target, Vec<u8>)> {
    relay(engine, now, inbox)
}

/// Takes what arrived and returns what is to be sent.
fn relay(engine: &mut Engine, now: Instant, inbox: &[Parcel]) -> Vec<(Target, Vec<u8>)> {
    for parcel in inbox {
        match parcel {
            Parcel::Datagrams(via, from, segment, bytes) => {
                engine.receive_datagrams(now, *via, *from, *segment, bytes);
            }
            Parcel::Bytes(conn, bytes) => engine.receive_bytes(now, *conn, bytes),
            Parcel::Opened(..) => {}
        }
    }
    if engine.poll_timeout() <= now {
        engine.handle_timeout(now);
    }
    let mut sent = Vec::new();
    transmit(engine, now, &mut sent);
    sent
}

/// Stands for the sockets: what is sent is copied once, as the kernel would.
fn transmit(engine: &mut Engine, now: Instant, sent: &mut Vec<(Target, Vec<u8>)>) {
    while let Some((transmit, bytes)) = engine.poll_datagrams(now, 256 * 1024) {
        let target = Target::Datagrams(transmit.via, transmit.to, transmit.segment);
        sent.push((target, bytes.to_vec()));
    }
    while let Some((conn, bytes)) = engine.poll_bytes(now) {
        sent.push((Target::Bytes(conn), bytes.to_vec()));
        engine.set_room(now, conn, ROOM);
    }
}
