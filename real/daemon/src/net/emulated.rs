//! A node's access link in a testbed: the link model of the simulator, in real time.

use std::net::SocketAddr;

use hopflow_engine::{Transmit, Via};
use hopflow_netem::{Link, LinkConfig, QueueConfig, Verdict};
use hopflow_random::{Stream, Streams};
use hopflow_units::{Bytes, Instant};
use slotmap::{DefaultKey, SlotMap};

/// Bytes of UDP and IPv4 headers and of a link's framing, as the simulator counts them.
const HEADERS: u64 = 30;

/// Nanoseconds between the moments at which packets come through: those in between wait for each
/// other, or every packet would wake its node.
const GRAIN: u64 = 200_000;

/// Packets that a fast link brings while a host stalls.
const STALL: u32 = 400;

type Sent = (Transmit, Vec<u8>);
type Received = (Via, SocketAddr, Vec<u8>);

/// The way from the node to the network, and back.
#[derive(Debug)]
pub(super) struct Emulated {
    up: Way<Sent>,
    down: Way<Received>,
}

/// One direction; the model moves the packets' keys.
#[derive(Debug)]
struct Way<P> {
    link: Link<DefaultKey>,
    rng: Stream,
    packets: SlotMap<DefaultKey, P>,
}

impl<P: Clone> Way<P> {
    fn send(&mut self, now: Instant, packet: P, data: usize) {
        let size = Bytes::new(data as u64 + HEADERS);
        let key = self.packets.insert(packet);
        match self.link.send(now, key, size, &mut self.rng) {
            Verdict::Queued => {}
            Verdict::Dropped(_) => drop(self.packets.remove(key)),
            Verdict::Duplicate => {
                let copy = self.packets.insert(self.packets[key].clone());
                let verdict = self.link.send_copy(now, copy, size, &mut self.rng);
                if matches!(verdict, Verdict::Dropped(_)) {
                    self.packets.remove(copy);
                }
            }
        }
    }

    /// A packet that has come through by `now`.
    fn receive(&mut self, now: Instant) -> Option<P> {
        let key = self.link.receive(now)?;
        while let Some(dropped) = self.link.take_dropped() {
            self.packets.remove(dropped);
        }
        self.packets.remove(key)
    }
}

/// The queue with room for what arrives together because a host let it wait: hosts stall for
/// milliseconds, which links do not.
fn with_slack(queue: &QueueConfig) -> QueueConfig {
    QueueConfig {
        packets: queue.packets.saturating_add(STALL),
        ..*queue
    }
}

impl Emulated {
    /// An idle link; losses and jitter are drawn from `seed`.
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Self {
        let streams = Streams::new(seed);
        Self {
            up: Way {
                link: Link::new(config.clone()),
                rng: streams.stream("emulated.up", 0),
                packets: SlotMap::new(),
            },
            down: Way {
                link: Link::new(LinkConfig {
                    queue: with_slack(&config.queue),
                    ..config.clone()
                }),
                rng: streams.stream("emulated.down", 0),
                packets: SlotMap::new(),
            },
        }
    }

    /// Whether the node may send now.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        self.up.link.room_at(now).is_none()
    }

    pub(super) fn send(&mut self, now: Instant, transmit: Transmit, data: &[u8]) {
        self.up.send(now, (transmit, data.to_vec()), data.len());
    }

    /// A packet that has passed the uplink.
    pub(super) fn left(&mut self, now: Instant) -> Option<Sent> {
        self.up.receive(now)
    }

    pub(super) fn receive(&mut self, now: Instant, via: Via, from: SocketAddr, data: &[u8]) {
        self.down.send(now, (via, from, data.to_vec()), data.len());
    }

    /// A packet that has passed the downlink.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Received> {
        self.down.receive(now)
    }

    /// When a packet has come through, or room is made for the next one.
    pub(super) fn next_event(&self, now: Instant) -> Instant {
        let (up, down) = (&self.up.link, &self.down.link);
        [up.next_event(), down.next_event(), up.room_at(now)]
            .into_iter()
            .flatten()
            .min()
            .map_or(Instant::FAR_FUTURE, |at| {
                Instant::from_nanos(at.as_nanos().next_multiple_of(GRAIN))
            })
    }
}
