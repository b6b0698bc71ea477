//! A node's access link in a testbed: the simulator's model, in real time.

use std::net::SocketAddr;

use hopflow_node::{Transmit, Via};
use hopflow_random::{Stream, Streams};
use hopflow_sim::net::{Link, LinkConfig, Verdict};
use hopflow_units::{Bytes, Instant};

/// Bytes of UDP and IPv4 headers and of a link's framing, as the simulator counts them.
const HEADERS: u64 = 30;

type Sent = (Transmit, Vec<u8>);
type Received = (Via, SocketAddr, Vec<u8>);

/// The way from the node to the network, and back.
#[derive(Debug)]
pub(super) struct Emulated {
    up: Link<Sent>,
    down: Link<Received>,
    up_rng: Stream,
    down_rng: Stream,
}

fn size(data: &[u8]) -> Bytes {
    Bytes::new(data.len() as u64 + HEADERS)
}

fn offer<P: Clone>(link: &mut Link<P>, rng: &mut Stream, now: Instant, packet: P, size: Bytes) {
    // Cloned only where the link may want a second one.
    let copy = (link.config().duplicate > 0.0).then(|| packet.clone());
    if link.send(now, packet, size, rng) == Verdict::Duplicate
        && let Some(copy) = copy
    {
        link.send_copy(now, copy, size, rng);
    }
}

impl Emulated {
    /// An idle link; losses and jitter are drawn from `seed`.
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Self {
        let streams = Streams::new(seed);
        Self {
            up: Link::new(config.clone()),
            down: Link::new(config.clone()),
            up_rng: streams.stream("emulated.up", 0),
            down_rng: streams.stream("emulated.down", 0),
        }
    }

    /// Whether the node may send now.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        self.up.room_at(now).is_none()
    }

    pub(super) fn send(&mut self, now: Instant, transmit: Transmit, data: &[u8]) {
        let packet = (transmit, data.to_vec());
        offer(&mut self.up, &mut self.up_rng, now, packet, size(data));
    }

    /// A packet that has passed the uplink.
    pub(super) fn left(&mut self, now: Instant) -> Option<Sent> {
        while self.up.take_dropped().is_some() {}
        self.up.receive(now)
    }

    pub(super) fn receive(&mut self, now: Instant, via: Via, from: SocketAddr, data: &[u8]) {
        let packet = (via, from, data.to_vec());
        offer(&mut self.down, &mut self.down_rng, now, packet, size(data));
    }

    /// A packet that has passed the downlink.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Received> {
        while self.down.take_dropped().is_some() {}
        self.down.receive(now)
    }

    /// When a packet arrives, or room is made.
    pub(super) fn next_event(&self, now: Instant) -> Instant {
        [self.up.next_event(), self.down.next_event(), self.up.room_at(now)]
            .into_iter()
            .flatten()
            .fold(Instant::FAR_FUTURE, Instant::min)
    }
}
