//! What travels between engines.

use std::net::SocketAddr;

use hopflow_engine::{Action, ConnId, Engine, Event, StreamHandle, Via};
use hopflow_units::{Cells, Duration, Instant};

use super::{Heard, Network, address};

/// What is under way.
pub(super) enum Parcel {
    Datagram {
        from: SocketAddr,
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
pub(super) type ConnEnd = (usize, ConnId);

/// A datagram, or a piece of a stream, that passes by.
pub(crate) struct Passing<'a> {
    /// Who sent it.
    pub(crate) from: usize,
    /// Whom it is for.
    pub(crate) to: usize,
    /// What it is; no datagram is sent if nothing is left.
    pub(crate) bytes: &'a mut Vec<u8>,
    /// Datagrams to be sent beside it, so much later.
    pub(crate) others: &'a mut Vec<(Duration, Vec<u8>)>,
    /// Datagrams to its sender, in the name of whom it is for.
    pub(crate) back: &'a mut Vec<Vec<u8>>,
}

/// Somebody on the way.
pub(crate) type Tamper = Box<dyn FnMut(Passing<'_>)>;

/// What happens to datagrams on the way.
pub(crate) struct Weather {
    pub(crate) delay: Duration,
    /// Of 1000 datagrams.
    pub(crate) lost: u64,
    /// Of 1000 datagrams, those that take three times as long.
    pub(crate) late: u64,
}

impl Default for Weather {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(10),
            lost: 0,
            late: 0,
        }
    }
}

/// Bytes that a connection takes at a time.
const ROOM: usize = 64 * 1024;

fn whose(address: SocketAddr) -> Option<(usize, Via)> {
    let SocketAddr::V4(v4) = address else {
        return None;
    };
    let via = match v4.port() {
        1000 => Via::Listening(None),
        _ => Via::Outgoing,
    };
    let [_, high, low, _] = v4.ip().octets();
    Some((usize::from(high) << 8 | usize::from(low), via))
}

impl Network {
    pub(super) fn post(&mut self, delay: Duration, parcel: Parcel) {
        self.count += 1;
        self.parcels.insert((self.now + delay, self.count), parcel);
    }

    /// Sends a node a datagram from any address.
    pub(crate) fn inject(&mut self, from: SocketAddr, to: (usize, Via), bytes: Vec<u8>) {
        self.post(self.weather.delay, Parcel::Datagram { from, to, bytes });
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
            let timers = self.engines.iter().zip(&self.ahead);
            let timers = timers.filter_map(|(engine, ahead)| {
                let timeout = engine.as_ref().map(Engine::poll_timeout)?;
                Some(timeout.saturating_sub(*ahead))
            });
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
                let now = self.clock(node);
                if self.in_batches {
                    self.pump(node);
                }
                if let Some(engine) = &mut self.engines[node]
                    && engine.poll_timeout() <= now
                {
                    engine.handle_timeout(now);
                    self.pump(node);
                }
            }
        }
    }

    /// Datagrams of one address and length that arrive in a batch arrive together.
    fn deliver(&mut self, parcel: Parcel) {
        let node = match &parcel {
            Parcel::Datagram { to: (node, _), .. }
            | Parcel::Bytes { to: (node, _), .. }
            | Parcel::Closed { to: (node, _) } => *node,
            Parcel::Opened { by, to } => return self.open(*by, *to),
        };
        let now = self.clock(node);
        let Some(engine) = &mut self.engines[node] else {
            return;
        };
        match parcel {
            Parcel::Datagram { from, to, bytes } => {
                let (segment, mut data) = (bytes.len(), bytes);
                while self.in_batches
                    && let Some(entry) = self.parcels.first_entry()
                    && entry.key().0 <= self.now
                    && matches!(entry.get(), Parcel::Datagram { from: other, to: via, bytes }
                        if (*other, *via, bytes.len()) == (from, to, segment))
                    && let Parcel::Datagram { bytes, .. } = entry.remove()
                {
                    data.extend(bytes);
                }
                engine.receive_datagrams(now, to.1, from, segment, &data);
            }
            Parcel::Bytes { to, bytes } => engine.receive_bytes(now, to.1, &bytes),
            Parcel::Closed { to } => engine.closed(now, to.1),
            Parcel::Opened { .. } => {}
        }
        if !self.in_batches {
            self.pump(node);
        }
    }

    /// A connection reaches the node that it is opened to.
    fn open(&mut self, by: ConnEnd, to: usize) {
        let now = self.clock(to);
        let from = address(by.0, Via::Outgoing).ip();
        let accepted = self.engines[to]
            .as_mut()
            .and_then(|engine| engine.accept(now, from));
        let Some(conn) = accepted else {
            let now = self.clock(by.0);
            if let Some(engine) = &mut self.engines[by.0] {
                engine.closed(now, by.1);
            }
            return self.pump(by.0);
        };
        self.peers.insert(by, (to, conn));
        self.peers.insert((to, conn), by);
        for (node, conn) in [by, (to, conn)] {
            let now = self.clock(node);
            let Some(engine) = self.engines[node].as_mut() else {
                continue;
            };
            engine.connected(now, conn);
            engine.set_room(now, conn, ROOM);
            self.pump(node);
        }
    }

    /// Carries away what a node has to say and to send.
    pub(crate) fn pump(&mut self, node: usize) {
        loop {
            let now = self.clock(node);
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
            if let Some((transmit, bytes)) = engine.poll_datagrams(now, usize::MAX) {
                let from = address(node, transmit.via);
                let bytes = bytes.to_vec();
                for datagram in bytes.chunks(transmit.segment) {
                    self.carry(node, from, transmit.to, datagram.to_vec());
                }
                continue;
            }
            if let Some((conn, bytes)) = engine.poll_bytes(now) {
                let bytes = bytes.to_vec();
                self.write_connection((node, conn), bytes);
                continue;
            }
            return engine.observe(now);
        }
    }

    fn write_connection(&mut self, from: ConnEnd, mut bytes: Vec<u8>) {
        let Some(&to) = self.peers.get(&from) else {
            return;
        };
        if self.clogged.contains(&(from.0, to.0)) {
            return;
        }
        if let Some(tamper) = &mut self.tamper {
            tamper(Passing {
                from: from.0,
                to: to.0,
                bytes: &mut bytes,
                others: &mut Vec::new(),
                back: &mut Vec::new(),
            });
        }
        let now = self.clock(from.0);
        self.engine_mut(from.0).set_room(now, from.1, ROOM);
        self.post(self.weather.delay, Parcel::Bytes { to, bytes });
    }

    fn carry(&mut self, node: usize, from: SocketAddr, to: SocketAddr, mut bytes: Vec<u8>) {
        let Some(to) = whose(to).filter(|(to, _)| *to < self.engines.len()) else {
            return;
        };
        let (mut others, mut back) = (Vec::new(), Vec::new());
        if let Some(tamper) = &mut self.tamper {
            tamper(Passing {
                from: node,
                to: to.0,
                bytes: &mut bytes,
                others: &mut others,
                back: &mut back,
            });
        }
        for bytes in back {
            let (from, Some(to)) = (address(to.0, to.1), whose(from)) else {
                continue;
            };
            self.post(
                Duration::from_micros(10),
                Parcel::Datagram { from, to, bytes },
            );
        }
        for (later, bytes) in others {
            let delay = self.weather.delay + later;
            self.post(delay, Parcel::Datagram { from, to, bytes });
        }
        if self.chance(self.weather.lost) || bytes.is_empty() {
            return;
        }
        let late = if self.chance(self.weather.late) { 3 } else { 1 };
        let delay = self.weather.delay.saturating_mul(late);
        self.post(delay, Parcel::Datagram { from, to, bytes });
    }

    fn on_action(&mut self, node: usize, action: Action) {
        match action {
            Action::Connect { conn, to } => {
                let by = (node, conn);
                let to = whose(to).expect("addresses are those of nodes").0;
                let delay = self.weather.delay.saturating_mul(2);
                self.post(delay, Parcel::Opened { by, to });
            }
            Action::Close { conn } => {
                if let Some(peer) = self.peers.remove(&(node, conn)) {
                    self.peers.remove(&peer);
                    self.post(self.weather.delay, Parcel::Closed { to: peer });
                }
            }
        }
    }

    fn heard_mut(&mut self, node: usize, stream: StreamHandle) -> &mut Heard {
        self.heard.entry((node, stream)).or_default()
    }

    fn on_event(&mut self, node: usize, event: Event) {
        match event {
            Event::Built { circuit } => drop(self.built.insert((node, circuit))),
            Event::Linked { circuit, worker } => {
                self.answered.insert((node, circuit), worker);
            }
            Event::Closed { circuit, why } => {
                self.built.remove(&(node, circuit));
                self.closed.push((node, circuit, why));
            }
            Event::Begin { stream, target } => {
                self.begun.push((node, stream, target.data().to_vec()));
                let now = self.now;
                self.engine_mut(node).set_credit(now, stream, Cells::MAX);
                self.heard.insert((node, stream), Heard::default());
            }
            Event::Data { stream, payload } => {
                let heard = self.heard_mut(node, stream);
                heard.bytes.extend_from_slice(payload.data());
            }
            Event::Finished { stream } => self.heard_mut(node, stream).finished = true,
            Event::Reset { stream } => {
                self.heard_mut(node, stream).reset = true;
                self.unwritten.remove(&(node, stream));
            }
            Event::Writable { stream } => self.write_on(node, stream),
        }
    }
}
