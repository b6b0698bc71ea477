//! Engines on a network without sockets or clock: datagrams and connections with delay and loss.

pub(crate) mod traffic;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_channel::{Fingerprint, Identity};
use hopflow_engine::{
    CircuitKey, Engine, EngineConfig, Failure, Hop, KnownRelays, Limits, RelayIdentity,
    StreamHandle, Via,
};
use hopflow_onion::{LinkRequest, OnionPayload, OnionSecret};
use hopflow_overlay::{BucketConfig, Factory};
use hopflow_units::{Bytes, Cells, Duration, Instant, Rate};

use traffic::{ConnEnd, Parcel};
use traffic::{Tamper, Weather};

/// What one end of a stream has heard.
#[derive(Default, Debug)]
pub(crate) struct Heard {
    pub(crate) bytes: Vec<u8>,
    pub(crate) finished: bool,
    pub(crate) reset: bool,
}

/// What one end of a stream still wants to write.
struct Unwritten {
    bytes: Vec<u8>,
    taken: usize,
    finish: bool,
}

/// A network of engines.
pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) engines: Vec<Option<Engine>>,
    /// How far each engine's clock is ahead of the network's.
    ahead: Vec<Duration>,
    identities: Vec<Option<Arc<RelayIdentity>>>,
    epoch: std::time::Instant,
    pub(crate) weather: Weather,
    random: u64,
    parcels: BTreeMap<(Instant, u64), Parcel>,
    count: u64,
    peers: BTreeMap<ConnEnd, ConnEnd>,
    /// From whom to whom connections take nothing more.
    pub(crate) clogged: BTreeSet<(usize, usize)>,
    pub(crate) heard: BTreeMap<(usize, StreamHandle), Heard>,
    pub(crate) begun: Vec<(usize, StreamHandle, Vec<u8>)>,
    pub(crate) built: BTreeSet<(usize, CircuitKey)>,
    /// Workers of exits at which circuits are legs, as they answered.
    answered: BTreeMap<(usize, CircuitKey), Option<u16>>,
    pub(crate) closed: Vec<(usize, CircuitKey, Failure)>,
    unwritten: BTreeMap<(usize, StreamHandle), Unwritten>,
    /// Sees and may change all that travels.
    pub(crate) tamper: Option<Tamper>,
    /// Whether all that arrives at a moment is delivered before anybody acts on it, as a driver
    /// does that reads many datagrams at once.
    pub(crate) in_batches: bool,
}

/// Where a node listens, or whence it opens links; each node is in a network of its own.
pub(crate) fn address(node: usize, via: Via) -> SocketAddr {
    let port = match via {
        Via::Listening(_) => 1000,
        Via::Outgoing => 2000,
    };
    SocketAddr::from(([10, (node >> 8) as u8, node as u8, 1], port))
}

/// A token bucket of so many kilobytes per second.
pub(crate) fn bucket(rate: u64, interval: Duration) -> BucketConfig {
    let rate = Rate::from_kilobytes_per_sec(rate);
    let step = rate.bytes_per_sec() * interval.as_nanos() / 1_000_000_000;
    BucketConfig {
        rate,
        depth: Bytes::new(step.max(20_000)),
        interval,
        phase: Duration::ZERO,
    }
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
        #[expect(
            clippy::disallowed_methods,
            reason = "the library wants some clock's time"
        )]
        let epoch = std::time::Instant::now();
        let mut network = Self {
            now: Instant::ZERO,
            engines: Vec::new(),
            ahead: Vec::new(),
            identities: Vec::new(),
            epoch,
            weather: Weather::default(),
            random: 1,
            parcels: BTreeMap::new(),
            count: 0,
            peers: BTreeMap::new(),
            clogged: BTreeSet::new(),
            heard: BTreeMap::new(),
            begun: Vec::new(),
            built: BTreeSet::new(),
            answered: BTreeMap::new(),
            closed: Vec::new(),
            unwritten: BTreeMap::new(),
            tamper: None,
            in_batches: false,
        };
        network.add_client(factory);
        for relay in 0..relays {
            let bucket = buckets.get(relay).copied().flatten();
            let identity = RelayIdentity {
                certificate: Identity::generate(),
                onion: OnionSecret::generate(),
            };
            network.add(factory, Some(Arc::new(identity)), bucket);
        }
        network
    }

    /// Another client; returns its number.
    pub(crate) fn add_client(&mut self, factory: &dyn Factory<OnionPayload>) -> usize {
        self.add(factory, None, None)
    }

    fn add(
        &mut self,
        factory: &dyn Factory<OnionPayload>,
        relay: Option<Arc<RelayIdentity>>,
        bucket: Option<BucketConfig>,
    ) -> usize {
        let mut config = self.config(relay.clone());
        config.bucket = bucket;
        self.engines.push(Some(
            Engine::new(config, factory).expect("engines offer all"),
        ));
        self.ahead.push(Duration::ZERO);
        self.identities.push(relay);
        self.engines.len() - 1
    }

    fn config(&self, relay: Option<Arc<RelayIdentity>>) -> EngineConfig {
        EngineConfig {
            relay,
            extend_to: None,
            bucket: None,
            access: None,
            limits: Limits::default(),
            worker: 0,
            epoch: self.epoch,
        }
    }

    /// Lets a relay start anew, without what it knew, with some of its configuration changed.
    pub(crate) fn restart(
        &mut self,
        node: usize,
        factory: &dyn Factory<OnionPayload>,
        change: impl FnOnce(&mut EngineConfig),
    ) {
        self.kill(node);
        let mut config = self.config(self.identities[node].clone());
        change(&mut config);
        self.engines[node] = Some(Engine::new(config, factory).expect("engines offer all"));
    }

    /// The relays' entries in a directory.
    pub(crate) fn path(&self, relays: &[usize]) -> Vec<Hop> {
        relays.iter().map(|&node| self.hop(node)).collect()
    }

    pub(crate) fn hop(&self, node: usize) -> Hop {
        let identity = self.identities[node].as_ref().expect("a relay");
        let (address, fingerprint) = self.target(node);
        Hop {
            address,
            fingerprint,
            onion: identity.onion.public(),
        }
    }

    /// The relays, as an engine's configuration names them.
    pub(crate) fn known(&self, relays: &[usize]) -> Arc<KnownRelays> {
        let hops = relays.iter().map(|&node| self.hop(node));
        let known = hops.map(|hop| ((hop.address, hop.fingerprint), hop.onion));
        Arc::new(known.collect())
    }

    /// Where a relay listens and how it proves itself.
    pub(crate) fn target(&self, node: usize) -> (SocketAddr, Fingerprint) {
        let identity = self.identities[node].as_ref().expect("a relay");
        let fingerprint = identity.certificate.fingerprint();
        (address(node, Via::Listening(None)), fingerprint)
    }

    pub(crate) fn engine(&self, node: usize) -> &Engine {
        self.engines[node].as_ref().expect("the node runs")
    }

    pub(crate) fn engine_mut(&mut self, node: usize) -> &mut Engine {
        self.engines[node].as_mut().expect("the node runs")
    }

    /// The time by a node's clock.
    pub(crate) fn clock(&self, node: usize) -> Instant {
        self.now + self.ahead[node]
    }

    /// A node's clock jumps, as after a pause of its machine; the node notices at once.
    pub(crate) fn jump(&mut self, node: usize, span: Duration) {
        self.ahead[node] += span;
        let now = self.clock(node);
        self.engine_mut(node).handle_timeout(now);
        self.pump(node);
    }

    /// Builds a circuit of the first client and waits for it.
    pub(crate) fn circuit(&mut self, relays: &[usize]) -> CircuitKey {
        self.circuit_of(0, relays)
    }

    /// Builds a circuit of a client and waits for it.
    pub(crate) fn circuit_of(&mut self, client: usize, relays: &[usize]) -> CircuitKey {
        let circuit = self.begin_circuit(client, self.path(relays));
        self.await_circuit(client, circuit);
        circuit
    }

    /// Builds a leg of a linked set of the first client and waits for the exit's answer: the worker that has it.
    pub(crate) fn leg(
        &mut self,
        relays: &[usize],
        link: &LinkRequest,
    ) -> (CircuitKey, Option<u16>) {
        let circuit = self.circuit(relays);
        let now = self.clock(0);
        self.engine_mut(0).link(now, circuit, link);
        self.pump(0);
        let until = self.now + Duration::from_secs(30);
        while !self.answered.contains_key(&(0, circuit)) && self.now < until {
            self.run_for(Duration::from_millis(10));
        }
        (circuit, self.answered[&(0, circuit)])
    }

    fn await_circuit(&mut self, client: usize, circuit: CircuitKey) {
        let until = self.now + Duration::from_secs(60);
        while !self.built.contains(&(client, circuit)) && self.now < until {
            let failure = self.failure(client, circuit);
            assert_eq!(failure, None, "the circuit is closed");
            self.run_for(Duration::from_millis(10));
        }
        let built = self.built.contains(&(client, circuit));
        assert!(built, "the circuit is not built");
    }

    /// Begins to build a circuit.
    pub(crate) fn begin_circuit(&mut self, client: usize, path: Vec<Hop>) -> CircuitKey {
        let now = self.clock(client);
        self.engine_mut(client).build(now, path)
    }

    /// Why a circuit is closed, if it is.
    pub(crate) fn failure(&self, client: usize, circuit: CircuitKey) -> Option<Failure> {
        let closed = self.closed.iter();
        let mut of_it = closed.filter(|(node, key, _)| (*node, *key) == (client, circuit));
        of_it.next().map(|(_, _, why)| *why)
    }

    /// Closes a circuit of a client.
    pub(crate) fn close_circuit(&mut self, client: usize, circuit: CircuitKey) {
        let now = self.clock(client);
        self.engine_mut(client).close_circuit(now, circuit);
        self.pump(client);
    }

    /// Opens a stream at the first client.
    pub(crate) fn stream(&mut self, circuit: CircuitKey, target: &str) -> StreamHandle {
        self.stream_of(0, circuit, target)
    }

    /// Opens a stream at a client.
    pub(crate) fn stream_of(
        &mut self,
        client: usize,
        circuit: CircuitKey,
        target: &str,
    ) -> StreamHandle {
        self.stream_on(client, &[circuit], target)
    }

    fn stream_on(&mut self, client: usize, legs: &[CircuitKey], target: &str) -> StreamHandle {
        let now = self.clock(client);
        let stream = self
            .engine_mut(client)
            .open_stream(now, legs, target.as_bytes())
            .expect("the circuits are ready");
        self.heard.insert((client, stream), Heard::default());
        self.pump(client);
        stream
    }

    /// Opens a stream at a client and waits for its far end at the exit, which it returns, too.
    pub(crate) fn stream_pair(
        &mut self,
        client: usize,
        circuit: CircuitKey,
    ) -> (StreamHandle, (usize, StreamHandle)) {
        self.pair_on(client, &[circuit])
    }

    /// The same over all legs of a linked set of the first client.
    pub(crate) fn stream_over(
        &mut self,
        legs: &[CircuitKey],
    ) -> (StreamHandle, (usize, StreamHandle)) {
        self.pair_on(0, legs)
    }

    fn pair_on(
        &mut self,
        client: usize,
        legs: &[CircuitKey],
    ) -> (StreamHandle, (usize, StreamHandle)) {
        let before = self.begun.len();
        let near = self.stream_on(client, legs, "example.org:80");
        let until = self.now + Duration::from_secs(30);
        while self.begun.len() == before && self.now < until {
            self.run_for(Duration::from_millis(10));
        }
        let (exit, far, _) = self.begun.last().expect("the exit hears of the stream");
        (near, (*exit, *far))
    }

    /// Lets an end write all of `bytes`, and finish if `finish`.
    pub(crate) fn write(
        &mut self,
        node: usize,
        stream: StreamHandle,
        bytes: Vec<u8>,
        finish: bool,
    ) {
        let unwritten = Unwritten {
            bytes,
            taken: 0,
            finish,
        };
        self.unwritten.insert((node, stream), unwritten);
        self.write_on(node, stream);
        self.pump(node);
    }

    fn write_on(&mut self, node: usize, stream: StreamHandle) {
        let now = self.clock(node);
        let Some(unwritten) = self.unwritten.get_mut(&(node, stream)) else {
            return;
        };
        let engine = self.engines[node].as_mut().expect("the node runs");
        let rest = &unwritten.bytes[unwritten.taken..];
        unwritten.taken += engine.write(now, stream, rest);
        if unwritten.taken == unwritten.bytes.len() {
            if unwritten.finish {
                engine.finish(now, stream);
            }
            self.unwritten.remove(&(node, stream));
        }
    }

    /// Lets an end read, or not.
    pub(crate) fn set_reading(&mut self, node: usize, stream: StreamHandle, reading: bool) {
        let credit = if reading { Cells::MAX } else { Cells::ZERO };
        self.set_credit(node, stream, credit);
    }

    /// Lets an end take so many cells.
    pub(crate) fn set_credit(&mut self, node: usize, stream: StreamHandle, credit: Cells) {
        let now = self.clock(node);
        self.engine_mut(node).set_credit(now, stream, credit);
        self.pump(node);
    }

    /// Closes an end of a stream.
    pub(crate) fn close_stream(&mut self, node: usize, stream: StreamHandle) {
        let now = self.clock(node);
        self.unwritten.remove(&(node, stream));
        self.engine_mut(node).close_stream(now, stream);
        self.pump(node);
    }

    pub(crate) fn heard(&self, node: usize, stream: StreamHandle) -> &Heard {
        &self.heard[&(node, stream)]
    }

    /// Cells that wait in all circuits of a node at most, per circuit.
    pub(crate) fn longest_queue(&self, node: usize) -> u64 {
        let flows = self.engine(node).flows().flat_map(|(_, views)| views);
        let held = |view: hopflow_overlay::FlowView| view.queued + view.out_of_order;
        let held = flows.flatten().map(|view| held(view).get());
        held.max().unwrap_or(0)
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
}
