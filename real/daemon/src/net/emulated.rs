//! A node's access link in a testbed: the link model of the simulator, in real time.

use std::net::SocketAddr;

use hopflow_engine::{Transmit, Via};
use hopflow_netem::{Line, LinkConfig, access_link};
use hopflow_units::{Bytes, Instant};

use super::uplink::HEADERS;

/// Nanoseconds between the moments at which packets come through: those in between wait for each
/// other, or every packet would wake its node.
const GRAIN: u64 = 200_000;

type Sent = (Transmit, Vec<u8>);
type Received = (Via, SocketAddr, Vec<u8>);

/// The way from the node to the network, and back.
#[derive(Debug)]
pub(super) struct Emulated {
    up: Line<Sent>,
    down: Line<Received>,
}

/// Bytes of a datagram on the link.
const fn size(data: &[u8]) -> Bytes {
    Bytes::new(data.len() as u64 + HEADERS)
}

impl Emulated {
    /// An idle link; losses and jitter are drawn from `seed`.
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Self {
        let (up, down) = access_link(config, seed);
        Self { up, down }
    }

    /// Whether the node may send now.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        self.up.room_at(now).is_none()
    }

    pub(super) fn send(&mut self, now: Instant, transmit: Transmit, data: &[u8]) {
        self.up.send(now, (transmit, data.to_vec()), size(data));
    }

    /// A packet that has passed the uplink.
    pub(super) fn left(&mut self, now: Instant) -> Option<Sent> {
        self.up.receive(now)
    }

    pub(super) fn receive(&mut self, now: Instant, via: Via, from: SocketAddr, data: &[u8]) {
        self.down.send(now, (via, from, data.to_vec()), size(data));
    }

    /// A packet that has passed the downlink.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Received> {
        self.down.receive(now)
    }

    /// When a packet has come through, or there is room for the next one, if the uplink `was_full`: also if there is
    /// some by `now`, for nothing else may wake the worker.
    pub(super) fn next_event(&self, now: Instant, was_full: bool) -> Instant {
        let room = was_full.then(|| self.up.room_at(now).unwrap_or(now));
        [self.up.next_event(), self.down.next_event(), room]
            .into_iter()
            .flatten()
            .min()
            .map_or(Instant::FAR_FUTURE, |at| {
                Instant::from_nanos(at.as_nanos().next_multiple_of(GRAIN))
            })
    }
}
