//! Bytes as what a next hop, or all hops of a client, do. Shared with fuzz targets.

use std::net::SocketAddr;

use hopflow_engine::{Action, CircuitKey, Engine, EngineConfig, Event, Limits, StreamHandle};
use hopflow_onion::Handshake;
use hopflow_onion::setup::{HopMessage, Refusal, SetupMessage};
use hopflow_units::{Cells, CircuitId, Duration, Instant};
use hopflow_wire::{Destroy, Frame, Reason, RelayCommand};

use crate::far::{self, Far};
use crate::life::{self, Script};
use crate::neighbour::{Neighbour, epoch};

/// A client and its hops.
struct Client {
    now: Instant,
    engine: Engine,
    far: Far,
    circuits: Vec<CircuitKey>,
    streams: Vec<StreamHandle>,
    /// What it did: circuits built and failed, cells that arrived.
    done: [u64; 3],
}

impl Client {
    fn of(transport: &str) -> Self {
        let options = "".parse().expect("it is TOML");
        let factory = hopflow_real_hosts::build(transport, &options).expect("it is known");
        let epoch = epoch();
        let config = EngineConfig {
            relay: None,
            extend_to: None,
            bucket: None,
            access: None,
            limits: Limits::default(),
            worker: 0,
            epoch,
        };
        Self {
            now: Instant::ZERO,
            engine: Engine::new(config, &*factory).expect("engines offer all"),
            far: Far::new(&factory.plan(), epoch),
            circuits: Vec::new(),
            streams: Vec::new(),
            done: [0; 3],
        }
    }

    fn build(&mut self, hops: usize) {
        let circuit = self.engine.build(self.now, vec![far::hop(); hops]);
        self.circuits.push(circuit);
        self.drain();
    }

    /// Lets time pass.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..10_000 {
            let next = self.engine.poll_timeout().max(self.now);
            if next > end {
                break;
            }
            self.now = next;
            self.engine.handle_timeout(next);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        loop {
            if let Some(event) = self.engine.poll_event(self.now) {
                self.on_event(&event);
            } else if let Some(action) = self.engine.poll_action() {
                if let Action::Connect { conn, .. } = action {
                    self.far.connect(self.now, &mut self.engine, conn);
                }
            } else if let Some((transmit, bytes)) = self.engine.poll_datagrams(self.now, 3000) {
                let bytes = bytes.to_vec();
                for datagram in bytes.chunks(transmit.segment) {
                    self.far.hear(self.now, datagram);
                }
            } else if let Some((conn, bytes)) = self.engine.poll_bytes(self.now) {
                let bytes = bytes.to_vec();
                if self.far.has(conn) {
                    self.engine.set_room(self.now, conn, 64 * 1024);
                    self.far.hear(self.now, &bytes);
                }
            } else if !self.far.deliver(self.now, &mut self.engine) {
                return;
            }
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Built { circuit } => {
                self.done[0] += 1;
                let stream = self.engine.open_stream(self.now, &[circuit], b"a:1");
                self.streams.extend(stream);
            }
            Event::Closed { circuit, .. } => {
                self.done[1] += 1;
                self.circuits.retain(|other| *other != circuit);
            }
            Event::Data { .. } => self.done[2] += 1,
            Event::Begin { .. } => panic!("a client begins streams itself"),
            Event::Writable { .. }
            | Event::Finished { .. }
            | Event::Reset { .. }
            | Event::Linked { .. } => {}
        }
    }

    /// The application does something with a stream or a circuit.
    fn use_something(&mut self, what: u8) {
        let count = self.streams.len();
        if what >= 240 || count == 0 {
            if let Some(circuit) = self.circuits.first() {
                self.engine.close_circuit(self.now, *circuit);
            }
            return self.build(1 + usize::from(what % 3));
        }
        let stream = self.streams[usize::from(what / 8) % count];
        let now = self.now;
        match what % 6 {
            0 => self
                .engine
                .set_credit(now, stream, Cells::new(u64::from(what / 8))),
            1 => self.engine.set_credit(now, stream, Cells::MAX),
            2 => drop(self.engine.write(now, stream, &[what; 3000])),
            3 => self.engine.finish(now, stream),
            4 => self.engine.close_stream(now, stream),
            _ => {
                let circuit = self.engine.circuit_of(stream);
                let another = circuit.and_then(|it| self.engine.open_stream(now, &[it], b"b:2"));
                self.streams.extend(another);
            }
        }
        self.drain();
    }
}

/// Whatever its hops do, and in which order: a client goes on, holds a bounded amount, and has
/// nothing left when all is over. Returns circuits built and failed, and cells that arrived.
pub(crate) fn client(bytes: &[u8]) -> [u64; 3] {
    let mut script = Script(bytes);
    let transport = script.transport();
    let mut client = Client::of(transport);
    client.build(1 + usize::from(script.byte() % 3));
    while !script.0.is_empty() {
        match script.byte() {
            0..=15 => {
                let wait = u64::from(script.byte());
                client.wait(Duration::from_millis(wait * wait * 10));
            }
            16..=63 => client.use_something(script.byte()),
            _ => act(&mut client.far, client.now, &mut script),
        }
        client.drain();
        for (_, views) in client.engine.flows() {
            for view in views.into_iter().flatten() {
                assert!(view.queued.get() <= 4500, "{view:?}");
            }
        }
    }
    for circuit in std::mem::take(&mut client.circuits) {
        client.engine.close_circuit(client.now, circuit);
    }
    for _ in 0..20 {
        client.wait(Duration::from_secs(60));
    }
    let counters = client.engine.counters();
    assert_eq!((counters.circuits, counters.links), (0, 0), "{transport}");
    client.done
}

/// Whatever its next hop and its neighbour do: a relay goes on, and has nothing left when both are
/// silent. Returns its cells sent.
pub(crate) fn relay(bytes: &[u8]) -> u64 {
    let mut script = Script(bytes);
    let transport = script.transport();
    let mut relay = Neighbour::of(transport, life::limits(script.byte()));
    relay.far = Some(Far::new(&relay.plan, epoch()));
    relay.create(0);
    relay.create(1);
    let to: SocketAddr = far::ADDRESS;
    relay.extend_to(0, to, far::hop().fingerprint);
    while !script.0.is_empty() {
        match script.byte() {
            0..=119 => life::act(&mut relay, &mut script),
            120..=129 => {
                let circuit = u16::from(script.byte() % 4);
                relay.extend_to(circuit, to, far::hop().fingerprint);
            }
            _ => {
                if let Some(far) = &mut relay.far {
                    act(far, relay.now, &mut script);
                }
            }
        }
        relay.drain();
    }
    relay.hang_up();
    for _ in 0..20 {
        relay.wait(Duration::from_secs(60));
    }
    let counters = relay.engine.counters();
    assert_eq!((counters.circuits, counters.links), (0, 0), "{transport}");
    counters.node.cells_sent
}

/// The far relay does something.
fn act(far: &mut Far, now: Instant, script: &mut Script<'_>) {
    let (what, circuit) = (script.byte(), far.circuit(script.byte()));
    // What is never answered leads nowhere.
    if what < 230 && far.is_asked(circuit) {
        return far.answer(now, circuit, Cells::new(100));
    }
    let handshake =
        |script: &mut Script<'_>| Handshake::new(script.take(60).to_vec()).expect("it is short");
    match what % 14 {
        0..=2 => far.answer(now, circuit, Cells::new(u64::from(script.byte()))),
        3 => {
            let created = SetupMessage::Created {
                queue_limit: Cells::new(u64::from(script.byte())),
                handshake: handshake(script),
            };
            far.setup(now, circuit, &created);
        }
        4 => {
            let counter = u32::from(script.byte());
            let message = match script.byte() % 3 {
                0 => HopMessage::Refused {
                    reason: Refusal::Busy,
                },
                1 => HopMessage::Extended {
                    queue_limit: Cells::new(9),
                    handshake: handshake(script),
                },
                _ => HopMessage::Extend {
                    address: far::ADDRESS,
                    fingerprint: [1; 32],
                    handshake: handshake(script),
                },
            };
            far.backward(now, circuit, counter, &message);
        }
        5 => {
            let data = [RelayCommand::Data as u8, 0, 1, 0, 3, 1, 2, 3];
            far.cell(now, circuit, &data, 0);
        }
        6 => {
            let (header, ahead) = script.relay_cell();
            far.cell(now, circuit, &header, ahead);
        }
        7 => {
            let len = usize::from(script.byte() / 8);
            let plain = script.take(len).to_vec();
            far.cell(now, circuit, &plain, 0);
        }
        8 => far.frame(now, &script.feedback(circuit)),
        9 => far.frame(now, &Frame::Probe(CircuitId::new(circuit))),
        10 => {
            let circuit = CircuitId::new(circuit);
            let reason = Reason::Requested;
            far.frame(now, &Frame::Destroy(Destroy { circuit, reason }));
        }
        11 => {
            let len = usize::from(script.byte());
            let bytes = script.take(len).to_vec();
            far.bring(&bytes);
        }
        12 => far.demand_cookie(script.byte()),
        // What is no frame ends a connection, so this is rare.
        _ if script.byte() > 200 => {
            let len = usize::from(script.byte()) * 6;
            let plain = script.take(len).to_vec();
            far.say(now, &plain);
        }
        _ => far.answer(now, circuit, Cells::new(100)),
    }
}
