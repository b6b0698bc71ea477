//! Engines on a network without sockets or clock: datagrams and connections with delay and loss.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_channel::Identity;
use hopflow_node::{
    Action, CircuitKey, ConnId, Engine, EngineConfig, Event, Hop, Limits, RelayIdentity,
    StreamHandle, Via,
};
use hopflow_onion::{OnionPayload, OnionSecret};
use hopflow_overlay::{BucketConfig, Factory};
use hopflow_units::{Duration, Instant};

/// What is under way.
enum Parcel {
    Datagram {
        from: (usize, Via),
        to: (usize, Via),
        bytes: Vec<u8>,
    },
    Bytes {
        to: (usize, ConnId),
        bytes: Vec<u8>,
    },
    Opened {
        by: (usize, ConnId),
        to: usize,
    },
    Closed {
        to: (usize, ConnId),
    },
}

/// One end of a connection, as its engine names it.
type ConnEnd = (usize, ConnId);

/// What one end of a stream has heard.
#[derive(Default, Debug)]
pub(crate) struct Heard {
    pub(crate) bytes: Vec<u8>,
    pub(crate) finished: bool,
    pub(crate) reset: bool,
}

/// Sees the sender, the receiver and the bytes of every datagram, and may change them.
pub(crate) type Tamper = Box<dyn FnMut(usize, usize, &mut Vec<u8>)>;

/// What happens to datagrams on the way.
pub(crate) struct Weather {
    pub(crate) delay: Duration,
    /// Of 1000 datagrams.
    pub(crate) lost: u64,
    /// Of 1000 datagrams, those that take three times as long.
    pub(crate) late: u64,
}

/// A network of engines.
pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) engines: Vec<Option<Engine>>,
    identities: Vec<Option<Arc<RelayIdentity>>>,
    pub(crate) weather: Weather,
    random: u64,
    parcels: BTreeMap<(Instant, u64), Parcel>,
    count: u64,
    peers: BTreeMap<ConnEnd, ConnEnd>,
    pub(crate) heard: BTreeMap<(usize, StreamHandle), Heard>,
    pub(crate) begun: Vec<(usize, StreamHandle, Vec<u8>)>,
    pub(crate) built: Vec<CircuitKey>,
    pub(crate) closed: Vec<(CircuitKey, hopflow_node::Failure)>,
    /// Bytes that each end still wants to write.
    pub(crate) unwritten: BTreeMap<(usize, StreamHandle), (Vec<u8>, bool)>,
    /// Calls a test made of the network: sees and may change every datagram.
    pub(crate) tamper: Option<Tamper>,
}

fn address(node: usize, via: Via) -> SocketAddr {
    let port = match via {
        Via::Listening => 1000,
        Via::Outgoing => 2000,
    };
    SocketAddr::from(([10, 0, 0, node as u8], port))
}

fn whose(address: SocketAddr) -> (usize, Via) {
    let SocketAddr::V4(v4) = address else {
        panic!("addresses are IPv4")
    };
    let via = match v4.port() {
        1000 => Via::Listening,
        _ => Via::Outgoing,
    };
    (v4.ip().octets()[3] as usize, via)
}

impl Network {
    /// A client, node 0, and `relays` relays.
    pub(crate) fn new(factory: &dyn Factory<OnionPayload>, relays: usize) -> Self {
        Self::limited(factory, relays, &[])
    }

    /// A client and relays with token buckets, by relay from node 1.
    pub(crate) fn limited(
        factory: &dyn Factory<OnionPayload>,
        relays: usize,
        buckets: &[Option<BucketConfig>],
    ) -> Self {
        let mut identities = vec![None];
        identities.extend((0..relays).map(|_| {
            Some(Arc::new(RelayIdentity {
                certificate: Identity::generate(),
                onion: OnionSecret::generate(),
            }))
        }));
        #[expect(
            clippy::disallowed_methods,
            reason = "the library wants some clock's time"
        )]
        let epoch = std::time::Instant::now();
        let engines = identities.iter().enumerate().map(|(node, relay)| {
            let config = EngineConfig {
                relay: relay.clone(),
                extend_to: None,
                bucket: node
                    .checked_sub(1)
                    .and_then(|relay| buckets.get(relay).copied().flatten()),
                limits: Limits::default(),
                epoch,
            };
            Some(Engine::new(config, factory))
        });
        Self {
            now: Instant::ZERO,
            engines: engines.collect(),
            identities,
            weather: Weather {
                delay: Duration::from_millis(10),
                lost: 0,
                late: 0,
            },
            random: 1,
            parcels: BTreeMap::new(),
            count: 0,
            peers: BTreeMap::new(),
            heard: BTreeMap::new(),
            begun: Vec::new(),
            built: Vec::new(),
            closed: Vec::new(),
            unwritten: BTreeMap::new(),
            tamper: None,
        }
    }

    /// The relays' entries in a directory.
    pub(crate) fn path(&self, relays: &[usize]) -> Vec<Hop> {
        relays.iter().map(|&node| self.hop(node)).collect()
    }

    pub(crate) fn hop(&self, node: usize) -> Hop {
        let identity = self.identities[node].as_ref().expect("a relay");
        Hop {
            address: address(node, Via::Listening),
            fingerprint: identity.certificate.fingerprint(),
            onion: identity.onion.public(),
        }
    }

    pub(crate) fn client(&mut self) -> &mut Engine {
        self.engines[0].as_mut().expect("the client runs")
    }

    pub(crate) fn engine(&self, node: usize) -> &Engine {
        self.engines[node].as_ref().expect("the node runs")
    }

    /// Builds a circuit and waits for it.
    pub(crate) fn circuit(&mut self, relays: &[usize]) -> CircuitKey {
        let path = self.path(relays);
        let now = self.now;
        let circuit = self.client().build(now, path);
        let until = self.now + Duration::from_secs(60);
        while !self.built.contains(&circuit) && self.now < until {
            assert!(
                self.closed.iter().all(|(closed, _)| *closed != circuit),
                "the circuit is closed: {:?}",
                self.closed
            );
            self.run_for(Duration::from_millis(10));
        }
        assert!(self.built.contains(&circuit), "the circuit is not built");
        circuit
    }

    /// Opens a stream at the client.
    pub(crate) fn stream(&mut self, circuit: CircuitKey, target: &str) -> StreamHandle {
        let now = self.now;
        let stream = self
            .client()
            .open_stream(now, circuit, target.as_bytes())
            .expect("the circuit is ready");
        self.heard.insert((0, stream), Heard::default());
        stream
    }

    /// Lets an end write all of `bytes`, and finish if `finish`.
    pub(crate) fn write(
        &mut self,
        node: usize,
        stream: StreamHandle,
        bytes: Vec<u8>,
        finish: bool,
    ) {
        self.unwritten.insert((node, stream), (bytes, finish));
        self.write_on(node, stream);
        self.pump(node);
    }

    fn write_on(&mut self, node: usize, stream: StreamHandle) {
        let now = self.now;
        let Some((bytes, finish)) = self.unwritten.get_mut(&(node, stream)) else {
            return;
        };
        let engine = self.engines[node].as_mut().expect("the node runs");
        let taken = engine.write(now, stream, bytes);
        bytes.drain(..taken);
        if bytes.is_empty() {
            if *finish {
                engine.finish(now, stream);
            }
            self.unwritten.remove(&(node, stream));
        }
    }

    pub(crate) fn heard(&self, node: usize, stream: StreamHandle) -> &Heard {
        &self.heard[&(node, stream)]
    }

    /// A node is gone from one moment to the next.
    pub(crate) fn kill(&mut self, node: usize) {
        self.engines[node] = None;
        let ends: Vec<(ConnEnd, ConnEnd)> = self
            .peers
            .iter()
            .filter(|((there, _), _)| *there == node)
            .map(|(end, peer)| (*end, *peer))
            .collect();
        for (end, peer) in ends {
            self.peers.remove(&end);
            self.peers.remove(&peer);
            self.post(self.weather.delay, Parcel::Closed { to: peer });
        }
    }

    fn post(&mut self, delay: Duration, parcel: Parcel) {
        self.count += 1;
        self.parcels.insert((self.now + delay, self.count), parcel);
    }

    fn chance(&mut self, per_mille: u64) -> bool {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % 1000 < per_mille
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        for node in 0..self.engines.len() {
            self.pump(node);
        }
        loop {
            let parcel = self.parcels.first_key_value().map(|((at, _), _)| *at);
            let timers = self.engines.iter().flatten().map(Engine::poll_timeout);
            let next = timers.chain(parcel).min().unwrap_or(end).max(self.now);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            while let Some(entry) = self.parcels.first_entry()
                && entry.key().0 <= next
            {
                let parcel = entry.remove();
                self.deliver(parcel);
            }
            for node in 0..self.engines.len() {
                if let Some(engine) = &mut self.engines[node]
                    && engine.poll_timeout() <= next
                {
                    engine.handle_timeout(next);
                    self.pump(node);
                }
            }
        }
    }

    fn deliver(&mut self, parcel: Parcel) {
        let now = self.now;
        let node = match parcel {
            Parcel::Datagram { from, to, bytes } => {
                if let Some(engine) = &mut self.engines[to.0] {
                    engine.receive_datagram(now, to.1, address(from.0, from.1), &bytes);
                }
                to.0
            }
            Parcel::Bytes { to, bytes } => {
                if let Some(engine) = &mut self.engines[to.0] {
                    engine.receive_bytes(now, to.1, &bytes);
                }
                to.0
            }
            Parcel::Opened { by, to } => {
                let accepted = self.engines[to]
                    .as_mut()
                    .and_then(|engine| engine.accept(now));
                let Some(conn) = accepted else {
                    if let Some(engine) = &mut self.engines[by.0] {
                        engine.closed(now, by.1);
                    }
                    return self.pump(by.0);
                };
                self.peers.insert(by, (to, conn));
                self.peers.insert((to, conn), by);
                for (node, conn) in [by, (to, conn)] {
                    let engine = self.engines[node].as_mut().expect("both run");
                    engine.connected(now, conn);
                    engine.set_room(now, conn, 64 * 1024);
                    self.pump(node);
                }
                return;
            }
            Parcel::Closed { to } => {
                if let Some(engine) = &mut self.engines[to.0] {
                    engine.closed(now, to.1);
                }
                to.0
            }
        };
        self.pump(node);
    }

    /// Carries away what a node has to say and to send.
    pub(crate) fn pump(&mut self, node: usize) {
        loop {
            let now = self.now;
            let Some(engine) = &mut self.engines[node] else {
                return;
            };
            if let Some(event) = engine.poll_event(now) {
                self.on_event(node, event);
                continue;
            }
            if let Some(action) = engine.poll_action() {
                self.on_action(node, action);
                continue;
            }
            let mut bytes = Vec::new();
            if let Some(transmit) = engine.poll_datagrams(now, usize::MAX, &mut bytes) {
                for datagram in bytes.chunks(transmit.segment) {
                    let mut bytes = datagram.to_vec();
                    let to = whose(transmit.to);
                    if let Some(tamper) = &mut self.tamper {
                        tamper(node, to.0, &mut bytes);
                    }
                    if self.chance(self.weather.lost) || bytes.is_empty() {
                        continue;
                    }
                    let late = if self.chance(self.weather.late) { 3 } else { 1 };
                    let delay = self.weather.delay.saturating_mul(late);
                    let from = (node, transmit.via);
                    self.post(delay, Parcel::Datagram { from, to, bytes });
                }
                continue;
            }
            if let Some(conn) = engine.poll_bytes(now, &mut bytes) {
                if let Some(&to) = self.peers.get(&(node, conn)) {
                    engine.set_room(now, conn, 64 * 1024);
                    self.post(self.weather.delay, Parcel::Bytes { to, bytes });
                }
                continue;
            }
            return;
        }
    }

    fn on_action(&mut self, node: usize, action: Action) {
        match action {
            Action::Connect { conn, to } => {
                let by = (node, conn);
                self.post(
                    self.weather.delay.saturating_mul(2),
                    Parcel::Opened {
                        by,
                        to: whose(to).0,
                    },
                );
            }
            Action::Close { conn } => {
                if let Some(peer) = self.peers.remove(&(node, conn)) {
                    self.peers.remove(&peer);
                    self.post(self.weather.delay, Parcel::Closed { to: peer });
                }
            }
        }
    }

    fn on_event(&mut self, node: usize, event: Event) {
        match event {
            Event::Built { circuit } => self.built.push(circuit),
            Event::Closed { circuit, why } => self.closed.push((circuit, why)),
            Event::Begin { stream, target } => {
                self.begun.push((node, stream, target.data().to_vec()));
                self.heard.insert((node, stream), Heard::default());
            }
            Event::Data { stream, payload } => {
                let heard = self.heard.entry((node, stream)).or_default();
                heard.bytes.extend_from_slice(payload.data());
            }
            Event::Finished { stream } => {
                self.heard.entry((node, stream)).or_default().finished = true;
            }
            Event::Reset { stream } => {
                self.heard.entry((node, stream)).or_default().reset = true;
                self.unwritten.remove(&(node, stream));
            }
            Event::Writable { stream } => self.write_on(node, stream),
        }
    }
}
