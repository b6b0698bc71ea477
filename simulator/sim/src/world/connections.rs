//! TCP connections between neighbours: frames become bytes, segments, and frames again.

use std::collections::VecDeque;

use hopflow_tcp::{Config, Connection, Segment};
use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::{Carrier, Frame};

use super::packets::Packet;
use super::{FRAMING, Source, World};
use crate::payload::Simulated;

/// One side of a connection: connection `n` has the ends `2 n` and `2 n + 1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ConnectionEnd(pub(super) u32);

impl ConnectionEnd {
    const fn index(self) -> usize {
        self.0 as usize
    }

    const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// All ends of all connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    ends: Vec<EndState>,
}

#[derive(Debug)]
struct EndState {
    tcp: Connection,
    node: u32,
    link: LinkId,
    /// The flow beside the overlay whose connection this is.
    flow: Option<u32>,
    /// Whether the node is told what TCP can send soon, for KIST, in place of what its buffer takes.
    kist: bool,
    /// Frames written here and not yet read by the peer, with the stream offset of their end.
    under_way: VecDeque<(u64, Frame<Simulated>)>,
    written: u64,
    read: u64,
    /// The pending event of this end; may be earlier than needed.
    alarm: Option<Instant>,
}

impl Connections {
    /// Adds a connection between two nodes' ends of a link; the first one opens it.
    pub(super) fn add(&mut self, ends: [(u32, LinkId); 2], config: &Config) -> [ConnectionEnd; 2] {
        let first = self.ends.len() as u32;
        let tcps = [Connection::connect(config), Connection::listen(config)];
        for ((node, link), tcp) in ends.into_iter().zip(tcps) {
            self.ends.push(EndState {
                tcp,
                node,
                link,
                flow: None,
                kist: false,
                under_way: VecDeque::new(),
                written: 0,
                read: 0,
                alarm: None,
            });
        }
        [ConnectionEnd(first), ConnectionEnd(first + 1)]
    }

    /// Says that a connection's node runs KIST.
    pub(super) fn limit_to_soon(&mut self, end: ConnectionEnd) {
        self.ends[end.index()].kist = true;
    }

    /// Says that a connection carries no frames but a flow beside the overlay.
    pub(super) fn beside_overlay(&mut self, end: ConnectionEnd, flow: usize) {
        self.ends[end.index()].flow = Some(flow as u32);
    }

    /// The flow beside the overlay whose connection this is.
    pub(super) fn flow(&self, end: ConnectionEnd) -> Option<usize> {
        self.ends[end.index()].flow.map(|flow| flow as usize)
    }

    /// Writes as much as the connection takes.
    pub(super) fn fill(&mut self, end: ConnectionEnd) {
        let tcp = &mut self.ends[end.index()].tcp;
        tcp.write(tcp.send_space());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn end(index: usize) -> ConnectionEnd {
        ConnectionEnd(index as u32)
    }

    /// Moves the frames to `out` that are complete at `end` once `bytes` more have arrived.
    #[inline]
    fn take_arrived(&mut self, end: ConnectionEnd, bytes: Bytes, out: &mut Vec<Frame<Simulated>>) {
        let state = &mut self.ends[end.index()];
        state.read += bytes.get();
        let read = state.read;
        let pipe = &mut self.ends[end.peer().index()].under_way;
        while let Some((offset, _)) = pipe.front()
            && *offset <= read
        {
            out.extend(pipe.pop_front().map(|(_, frame)| frame));
        }
    }
}

impl World {
    /// Writes what a node sends onto a connection.
    pub(super) fn write_frames(&mut self, end: ConnectionEnd) {
        let state = &mut self.connections.ends[end.index()];
        let mut len = Bytes::ZERO;
        for frame in self.frames.drain(..) {
            len += frame.wire_len(Carrier::Stream);
            state
                .under_way
                .push_back((state.written + len.get(), frame));
        }
        state.written += len.get();
        let accepted = state.tcp.write(len);
        assert!(
            accepted == len,
            "a node writes no more than there is room for"
        );
        self.pump_connection(end);
    }

    pub(super) fn receive_segment(&mut self, end: ConnectionEnd, segment: &Segment) {
        let state = &mut self.connections.ends[end.index()];
        state.tcp.receive(self.now, segment);
        let readable = state.tcp.readable();
        let node = state.node as usize;
        if let Some(flow) = state.flow {
            state.tcp.read(readable);
            self.on_cross_data(flow as usize, end, readable);
            self.pump_connection(end);
            return;
        }
        if readable.is_zero() {
            self.pump_connection(end);
            self.offer_room(end);
        } else if self.nodes[node].reading.is_some() {
            self.pump_connection(end);
            self.offer_room(end);
            self.await_reading(node, end);
        } else {
            self.read(end, readable);
        }
    }

    /// Reads up to `most` bytes of a connection of the overlay; returns how many there were.
    pub(super) fn read(&mut self, end: ConnectionEnd, most: Bytes) -> Bytes {
        let state = &mut self.connections.ends[end.index()];
        let (node, link) = (state.node as usize, state.link);
        let read = state.tcp.readable().min(most);
        state.tcp.read(read);
        let frames = &mut self.frames;
        self.connections.take_arrived(end, read, frames);
        self.nodes[node].host.receive(self.now, link, frames);
        self.pump_connection(end);
        self.offer_room(end);
        read
    }

    /// Tells a node how much its connection takes.
    pub(super) fn offer_room(&mut self, end: ConnectionEnd) {
        let state = &self.connections.ends[end.index()];
        let host = &mut self.nodes[state.node as usize].host;
        let space = state.tcp.send_space();
        let room = if state.kist {
            space.min(sent_soon(&state.tcp))
        } else {
            space
        };
        host.set_room(self.now, state.link, room);
    }

    /// Sends all segments that a connection may send, unless the uplink is full: then it waits its
    /// turn behind those that wait already.
    pub(super) fn pump_connection(&mut self, end: ConnectionEnd) {
        let home = self.home(self.connections.ends[end.index()].node as usize);
        loop {
            let full_until = match self.nodes[home].room_at {
                Some(at) => Some(at),
                None => self.nodes[home].up.room_at(self.now),
            };
            if let Some(at) = full_until {
                self.await_room(home, end, at);
                break;
            }
            if !self.send_segment(end) {
                break;
            }
        }
        self.arm_connection(end);
    }

    /// Sends a connection's next segment; false if it has none.
    #[inline]
    fn send_segment(&mut self, end: ConnectionEnd) -> bool {
        let EndState {
            tcp, link, node, ..
        } = &mut self.connections.ends[end.index()];
        let node = *node as usize;
        let neighbour = self.nodes[node].links[link.index()];
        let Some(segment) = tcp.poll_transmit(self.now) else {
            return false;
        };
        let size = segment.wire_len() + FRAMING;
        let content = self.packets.add_segment(segment);
        let packet = Packet::new(neighbour.node, neighbour.link, size, content);
        self.send_up(node, packet);
        true
    }

    /// Lets the connections that wait for a node's uplink send a segment each in turn.
    pub(super) fn serve_waiting(&mut self, node: usize) {
        while let Some(end) = self.nodes[node].waiting.pop_front() {
            if let Some(at) = self.nodes[node].up.room_at(self.now) {
                self.nodes[node].waiting.push_front(end);
                self.nodes[node].room_at = Some(at);
                return;
            }
            self.serve_connection(node, end);
        }
    }

    /// Lets the first of the connections that wait for a node's uplink send a segment; false if
    /// none waits.
    pub(super) fn serve_next_waiting(&mut self, node: usize) -> bool {
        let Some(end) = self.nodes[node].waiting.pop_front() else {
            return false;
        };
        self.serve_connection(node, end);
        true
    }

    /// Lets a connection send a segment; it then waits for its next turn behind the others.
    fn serve_connection(&mut self, node: usize, end: ConnectionEnd) {
        if self.send_segment(end) {
            self.nodes[node].waiting.push_back(end);
        }
        self.arm_connection(end);
    }

    #[cold]
    fn await_room(&mut self, node: usize, end: ConnectionEnd, at: Instant) {
        let state = &mut self.nodes[node];
        state.room_at = Some(at);
        if !state.waiting.contains(&end) {
            state.waiting.push_back(end);
        }
        self.wake_by(node, at);
    }

    /// Makes sure that an event serves the connection's timers. An event that turns out to be
    /// early costs less than moving it with every segment.
    #[inline]
    fn arm_connection(&mut self, end: ConnectionEnd) {
        let state = &mut self.connections.ends[end.index()];
        let Some(timeout) = state.tcp.poll_timeout() else {
            return;
        };
        if state.alarm.is_none_or(|alarm| alarm > timeout) {
            state.alarm = Some(timeout);
            self.agenda
                .set(self.slot(Source::Connection(end.index())), Some(timeout));
        }
    }

    pub(super) fn on_connection_timer(&mut self, index: usize) {
        let end = Connections::end(index);
        self.agenda.set(self.slot(Source::Connection(index)), None);
        let state = &mut self.connections.ends[index];
        state.alarm = None;
        state.tcp.handle_timeout(self.now);
        if state.kist {
            // A time-out shrinks what can be sent soon.
            self.offer_room(end);
        }
        self.pump_connection(end);
    }
}

/// What TCP can send at once, and a window's worth to follow when acknowledgements come, less what
/// waits in the socket (tor 0.4.9, `scheduler_kist.c`, with a buffer factor of 1).
fn sent_soon(tcp: &Connection) -> Bytes {
    let window = tcp.cwnd();
    window.saturating_sub(tcp.in_flight()) + window.saturating_sub(tcp.unsent())
}
