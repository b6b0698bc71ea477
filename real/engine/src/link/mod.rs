//! An engine's end of a link: its channel, the names of its circuits, and what waits to be sent.

use std::collections::VecDeque;
use std::net::SocketAddr;

use hopflow_channel::{DatagramChannel, Fingerprint, State, StreamChannel};
use hopflow_overlay::Direction;
use hopflow_units::{CircuitId as Name, Instant};

use crate::circuit::CircuitKey;
use crate::{ConnId, Via};

/// Names that pass before one is used again, so that late frames find no other circuit.
const QUARANTINE: usize = 1024;
/// Names that a link has; zero is left out.
const NAMES: usize = u16::MAX as usize;

/// Frames that wait for a link's handshake at most; more are dropped, for all are repeated.
const MAX_WAITING: usize = 1024;
/// Bytes beside the node's cells that a connection is given at most before it has taken them.
const MAX_BACKLOG: i64 = 64 * 1024;

/// What secures a link.
#[derive(Debug)]
pub(crate) enum Channel {
    Datagram(Box<DatagramChannel>),
    Stream(Box<StreamChannel>),
}

/// Where a link leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Peer {
    /// Datagrams from and to an address, by one of our sockets.
    Datagram(Via, SocketAddr),
    /// A connection.
    Stream(ConnId),
}

/// A link.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) peer: Peer,
    pub(crate) channel: Channel,
    /// Whom we asked for, if we opened the link.
    pub(crate) opened_to: Option<(SocketAddr, Fingerprint)>,
    pub(crate) names: Names,
    /// Whether the carrier takes anything: a connection that we open does not at once.
    pub(crate) connected: bool,
    /// Frames that wait for the channel's handshake.
    pub(crate) waiting: Vec<Vec<u8>>,
    /// Bytes that the connection takes at present; below zero if it was given more. Streams only.
    pub(crate) room: i64,
    /// Whether the handshake is over.
    pub(crate) open: bool,
    /// Whether the link served one circuit only, which is gone.
    pub(crate) spent: bool,
    pub(crate) out: Outgoing,
    /// The beginning of a frame whose end has not arrived; streams only.
    pub(crate) partial: Vec<u8>,
    /// When the link last had a circuit.
    pub(crate) used: Instant,
    /// When something arrived last.
    pub(crate) heard: Instant,
    /// When something left first, since then, that the neighbour must answer.
    pub(crate) asked: Option<Instant>,
    /// When the engine lets the channel hear the time.
    pub(crate) alarm: Instant,
}

impl Link {
    pub(crate) fn new(peer: Peer, channel: Channel, now: Instant) -> Self {
        Self {
            peer,
            channel,
            opened_to: None,
            names: Names::default(),
            connected: true,
            waiting: Vec::new(),
            room: 0,
            open: false,
            spent: false,
            out: Outgoing::default(),
            partial: Vec::new(),
            used: now,
            heard: now,
            asked: None,
            alarm: Instant::FAR_FUTURE,
        }
    }

    /// How far the channel is.
    pub(crate) fn state(&self) -> &State {
        match &self.channel {
            Channel::Datagram(channel) => channel.state(),
            Channel::Stream(channel) => channel.state(),
        }
    }

    /// Seals frames into a datagram, or onto the stream.
    pub(crate) fn seal(&mut self, now: Instant, frames: &[u8]) {
        match &mut self.channel {
            Channel::Datagram(channel) => {
                self.out.push(true, |out| {
                    channel.seal(now, frames, out);
                });
            }
            Channel::Stream(channel) => {
                self.room = self.room.saturating_sub(frames.len() as i64);
                self.out.push(false, |out| {
                    channel.seal(now, frames, out);
                });
            }
        }
    }

    /// Seals a frame that passes no queue of the node, or lets it wait for the handshake. Like a
    /// datagram it may be lost: a neighbour that takes nothing cannot make us keep what it asks
    /// for.
    pub(crate) fn send_beside(&mut self, now: Instant, frame: Vec<u8>) {
        if !self.open {
            // What is repeated while it waits need not be said twice.
            if self.waiting.len() < MAX_WAITING && !self.waiting.contains(&frame) {
                self.waiting.push(frame);
            }
        } else if self.room > -MAX_BACKLOG {
            self.seal(now, &frame);
        }
    }

    /// Takes what the channel itself has to send.
    pub(crate) fn take_handshake(&mut self, now: Instant) {
        match &mut self.channel {
            Channel::Datagram(channel) => loop {
                let mut more = false;
                self.out
                    .push(true, |out| more = channel.poll_transmit(now, out));
                if !more {
                    break;
                }
            },
            Channel::Stream(channel) => self.out.push(false, |out| {
                channel.poll_transmit(now, out);
            }),
        }
    }

    /// Lets the channel hear the time.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.channel {
            Channel::Datagram(channel) => channel.handle_timeout(now),
            Channel::Stream(channel) => channel.handle_timeout(now),
        }
    }

    /// When the channel wants to hear the time.
    pub(crate) fn timeout(&self) -> Instant {
        match &self.channel {
            Channel::Datagram(channel) => channel.poll_timeout(),
            Channel::Stream(channel) => channel.poll_timeout(),
        }
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self, now: Instant) {
        match &mut self.channel {
            Channel::Datagram(channel) => channel.close(),
            Channel::Stream(channel) => channel.close(),
        }
        self.take_handshake(now);
    }
}

/// A circuit by its name on a link, and in which direction its cells leave there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) circuit: CircuitKey,
    pub(crate) leaving: Direction,
}

/// The names of circuits on a link.
#[derive(Debug, Default)]
pub(crate) struct Names {
    table: Vec<Option<Named>>,
    used: usize,
    last: usize,
}

impl Names {
    #[inline]
    pub(crate) fn get(&self, name: Name) -> Option<Named> {
        self.table.get(name.index()).copied().flatten()
    }

    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// All circuits with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name, CircuitKey)> + '_ {
        let named = |(name, named): (usize, &Option<Named>)| {
            named.map(|named| (Name::new(name as u16), named.circuit))
        };
        self.table.iter().enumerate().filter_map(named)
    }

    /// All circuits.
    pub(crate) fn circuits(&self) -> impl Iterator<Item = CircuitKey> + '_ {
        self.table.iter().flatten().map(|named| named.circuit)
    }

    /// Whether a neighbour that gives names in rotation may have come to this one. Others would
    /// make the table as large as they like; twice is granted, for names that are just given back.
    pub(crate) fn expects(&self, name: Name) -> bool {
        name.index() <= 2 * (2 * (self.used + 1)).clamp(QUARANTINE, NAMES)
    }

    /// Gives a circuit the name that a neighbour chose, which must be free.
    pub(crate) fn insert(&mut self, name: Name, named: Named) {
        if self.table.len() <= name.index() {
            self.table.resize(name.index() + 1, None);
        }
        self.used += usize::from(self.table[name.index()].is_none());
        self.table[name.index()] = Some(named);
    }

    /// Gives a circuit a name that has not been used for long; `None` if there is none.
    pub(crate) fn choose(&mut self, named: Named) -> Option<Name> {
        let most = (2 * self.used).clamp(QUARANTINE, NAMES);
        for _ in 0..most {
            self.last = self.last % most + 1;
            let name = Name::new(self.last as u16);
            if self.get(name).is_none() {
                self.insert(name, named);
                return Some(name);
            }
        }
        None
    }

    pub(crate) fn remove(&mut self, name: Name) {
        if let Some(place) = self.table.get_mut(name.index()) {
            self.used -= usize::from(place.take().is_some());
        }
    }
}

/// Sealed bytes that wait for the driver.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// Bytes at the front that the driver has taken.
    taken: usize,
    /// Lengths of the datagrams in it; empty for a stream.
    lens: VecDeque<usize>,
    /// Whether the link stands among those that have something to send.
    pub(crate) queued: bool,
}

impl Outgoing {
    /// Lets `write` append a datagram, or bytes of a stream if not `datagram`.
    pub(crate) fn push(&mut self, datagram: bool, write: impl FnOnce(&mut Vec<u8>)) {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        let before = self.bytes.len();
        write(&mut self.bytes);
        let len = self.bytes.len() - before;
        if datagram && len > 0 {
            self.lens.push_back(len);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// Moves all bytes of a stream to `out`.
    pub(crate) fn take_bytes(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[self.taken..]);
        self.bytes.clear();
        self.taken = 0;
    }

    /// Moves datagrams of one length to `out`, of which only the last may be shorter; returns
    /// that length.
    pub(crate) fn take_datagrams(&mut self, out: &mut Vec<u8>) -> Option<usize> {
        let segment = *self.lens.front()?;
        let (mut count, mut total) = (0, 0);
        for &len in &self.lens {
            if len > segment || count == MAX_SEGMENTS || total + len > MAX_BATCH {
                break;
            }
            count += 1;
            total += len;
            if len < segment {
                break;
            }
        }
        self.lens.drain(..count);
        out.extend_from_slice(&self.bytes[self.taken..self.taken + total]);
        self.taken += total;
        Some(segment)
    }
}

/// Datagrams that the kernel cuts one buffer into at most.
const MAX_SEGMENTS: usize = 64;
/// Bytes that it takes at once: those of the longest UDP datagram.
const MAX_BATCH: usize = 65_000;
