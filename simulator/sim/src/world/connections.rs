//! All TCP connections, and how they share their machines' uplinks.

use hopflow_tcp::{Config, Segment};
use hopflow_units::{Bytes, Instant};

use super::address::{ConnectionEnd, LinkEnd, NodeAt};
use super::connection::TcpEnd;
use super::cross::CrossFlow;
use super::machine::Machine;
use super::reading::Next;
use super::shared::Shared;
use super::timeline::{EventSource, Timeline};

/// All ends of all connections.
///
/// Where a function takes a machine, it is that of the connection's end.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    ends: Vec<TcpEnd>,
    /// Connections outside the overlay.
    flows: Vec<CrossFlow>,
}

impl Connections {
    /// Adds a connection that carries an overlay link; its first end opens it.
    pub(crate) fn add(
        &mut self,
        ends: [LinkEnd; 2],
        config: &Config,
        timeline: &mut Timeline,
    ) -> [ConnectionEnd; 2] {
        let numbers = [0, 1].map(|side| ConnectionEnd::new(self.ends.len() + side));
        let slots = numbers.map(|end| timeline.add(EventSource::Connection(end)));
        self.ends.extend(TcpEnd::pair(ends, config, slots));
        numbers
    }

    /// Lets the node at an end write only what TCP can send soon, for KIST.
    pub(crate) fn enable_kist_limit(&mut self, end: ConnectionEnd) {
        self.ends[end.index()].kist = true;
    }

    /// Makes a connection carry no frames but a flow outside the overlay, from its first end to the
    /// other, that is measured from a time on.
    pub(crate) fn carry_flow(&mut self, connection: [ConnectionEnd; 2], from: Instant) {
        for end in connection {
            self.ends[end.index()].flow = Some(self.flows.len() as u32);
        }
        self.flows.push(CrossFlow::new(connection[0], from));
    }

    /// The flows outside the overlay.
    pub(crate) fn flows(&self) -> &[CrossFlow] {
        &self.flows
    }

    /// The ends of connections of the overlay.
    pub(crate) fn overlay_ends(&self) -> Vec<ConnectionEnd> {
        let ends = (0..self.ends.len()).map(ConnectionEnd::new);
        ends.filter(|end| self.ends[end.index()].flow.is_none())
            .collect()
    }

    /// The node at an end.
    pub(crate) fn node(&self, end: ConnectionEnd) -> NodeAt {
        self.ends[end.index()].at.node
    }

    /// Opens a connection of the overlay, or waits for the peer to do it.
    pub(crate) fn open(&mut self, end: ConnectionEnd, machine: &mut Machine, shared: &mut Shared) {
        self.offer_room(end, machine, shared.now());
        self.pump(end, machine, shared);
    }

    /// Opens the connection of a flow.
    pub(crate) fn open_flow(
        &mut self,
        sender: ConnectionEnd,
        machine: &mut Machine,
        shared: &mut Shared,
    ) {
        self.ends[sender.index()].fill();
        self.pump(sender, machine, shared);
    }

    /// Writes the frames at hand.
    pub(crate) fn write(&mut self, end: ConnectionEnd, machine: &mut Machine, shared: &mut Shared) {
        self.ends[end.index()].write(&mut shared.frames);
        self.pump(end, machine, shared);
    }

    /// Takes a segment that has arrived.
    pub(crate) fn receive(
        &mut self,
        end: ConnectionEnd,
        segment: &Segment,
        machine: &mut Machine,
        shared: &mut Shared,
    ) {
        let state = &mut self.ends[end.index()];
        state.tcp.receive(shared.now(), segment);
        let readable = state.tcp.readable();
        let position = state.at.node.position;
        if let Some(flow) = state.flow {
            return self.receive_flow((end, flow), readable, machine, shared);
        }
        let reading = machine.node_mut(position).reading.as_mut();
        if readable.is_zero() {
            self.pump(end, machine, shared);
            self.offer_room(end, machine, shared.now());
        } else if let Some(reading) = reading {
            reading.enqueue(end);
            self.pump(end, machine, shared);
            self.offer_room(end, machine, shared.now());
            self.serve_reading(position, machine, shared);
        } else {
            self.read(end, readable, machine, shared);
        }
    }

    /// A segment of a flow has arrived: the sender writes what fits, the receiver counts.
    fn receive_flow(
        &mut self,
        (end, flow): (ConnectionEnd, u32),
        readable: Bytes,
        machine: &mut Machine,
        shared: &mut Shared,
    ) {
        let state = &mut self.ends[end.index()];
        state.tcp.read(readable);
        let flow = &mut self.flows[flow as usize];
        if flow.sender() == end {
            state.fill();
        } else {
            flow.count(shared.now(), readable);
        }
        self.pump(end, machine, shared);
    }

    /// Reads from the connections that wait, in turn, as long as their node has tokens.
    pub(crate) fn serve_reading(
        &mut self,
        position: u16,
        machine: &mut Machine,
        shared: &mut Shared,
    ) {
        while let Some(reading) = &mut machine.node_mut(position).reading {
            match reading.next(shared.now()) {
                Next::Read(end, share) => {
                    let read = self.read(end, share, machine, shared);
                    if let Some(reading) = &mut machine.node_mut(position).reading {
                        reading.pay(end, share, read);
                    }
                }
                Next::Wait(at) => {
                    let timer = machine.node_mut(position).timer;
                    return shared.timeline.wake_by(timer, at);
                }
                Next::Idle => return,
            }
        }
    }

    /// Passes up to `most` bytes of a connection to its node; returns how many there were.
    fn read(
        &mut self,
        end: ConnectionEnd,
        most: Bytes,
        machine: &mut Machine,
        shared: &mut Shared,
    ) -> Bytes {
        let both = [end.index(), end.peer().index()];
        let [state, peer] = self
            .ends
            .get_disjoint_mut(both)
            .expect("a connection has two ends");
        let read = state.read(most, peer, &mut shared.frames);
        let LinkEnd { node, link } = state.at;
        let host = &mut machine.node_mut(node.position).host;
        host.receive(shared.now(), link, &mut shared.frames);
        self.pump(end, machine, shared);
        self.offer_room(end, machine, shared.now());
        read
    }

    /// Tells a node how much its connection takes.
    fn offer_room(&self, end: ConnectionEnd, machine: &mut Machine, now: Instant) {
        let state = &self.ends[end.index()];
        let LinkEnd { node, link } = state.at;
        let host = &mut machine.node_mut(node.position).host;
        host.set_room(now, link, state.room());
    }

    /// Sends all segments that a connection may send, unless the uplink is full: then it waits its
    /// turn behind those that wait already.
    fn pump(&mut self, end: ConnectionEnd, machine: &mut Machine, shared: &mut Shared) {
        let state = &mut self.ends[end.index()];
        loop {
            if let Some(at) = machine.full_until(shared.now()) {
                machine.stop_connection(end, at, shared);
                break;
            }
            let Some(packet) = state.poll_transmit(shared.now(), &mut shared.packets) else {
                break;
            };
            machine.up.send(packet, shared);
        }
        state.arm(&mut shared.timeline);
    }

    /// Lets the connections that wait for a machine's uplink send a segment each in turn, until it
    /// is full again.
    pub(crate) fn serve_uplink(&mut self, machine: &mut Machine, shared: &mut Shared) {
        while let Some(end) = machine.next_connection() {
            if let Some(at) = machine.up.room_at(shared.now()) {
                return machine.keep_turn(end, at);
            }
            self.serve(end, machine, shared);
        }
    }

    /// Lets the first of the connections that wait for a machine's uplink send a segment; false if
    /// none waits.
    pub(crate) fn serve_next(&mut self, machine: &mut Machine, shared: &mut Shared) -> bool {
        let Some(end) = machine.next_connection() else {
            return false;
        };
        self.serve(end, machine, shared);
        true
    }

    /// Lets a connection send a segment; it then waits for its next turn behind the others.
    fn serve(&mut self, end: ConnectionEnd, machine: &mut Machine, shared: &mut Shared) {
        let state = &mut self.ends[end.index()];
        if let Some(packet) = state.poll_transmit(shared.now(), &mut shared.packets) {
            machine.up.send(packet, shared);
            machine.requeue(end);
        }
        state.arm(&mut shared.timeline);
    }

    /// Handles the timers of a connection that are due; returns whether its node heard of room.
    pub(crate) fn on_timer(
        &mut self,
        end: ConnectionEnd,
        machine: &mut Machine,
        shared: &mut Shared,
    ) -> bool {
        let state = &mut self.ends[end.index()];
        state.handle_timeout(&mut shared.timeline);
        let kist = state.kist;
        if kist {
            // A time-out changes what can be sent soon.
            self.offer_room(end, machine, shared.now());
        }
        self.pump(end, machine, shared);
        kist
    }
}
