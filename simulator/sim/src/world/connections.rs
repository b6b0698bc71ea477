//! The TCP connections of a machine, and how they share its uplink.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopflow_tcp::Segment;
use hopflow_trace::Way;
use hopflow_units::{Bytes, Instant};
use hopflow_wire::Frame;

use super::address::{ConnectionEnd, LinkEnd};
use super::connection::TcpEnd;
use super::cross::{CrossEnd, CrossFlow};
use super::machine::Machine;
use super::marks::TcpMarks;
use super::outbox::Written;
use super::reading::Next;
use super::shared::Shared;
use crate::payload::Simulated;

/// All ends of connections at one machine.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    ends: Vec<TcpEnd>,
    /// When ends want their timers served; entries that an end has forgotten are skipped.
    alarms: BinaryHeap<Reverse<(Instant, ConnectionEnd)>>,
    /// The first of these times, forgotten or not: of what is asked for every event nothing lies on
    /// the heap.
    first: Instant,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            ends: Vec::new(),
            alarms: BinaryHeap::new(),
            first: Instant::FAR_FUTURE,
        }
    }
}

impl Connections {
    /// The end that would be added next.
    pub(crate) const fn next_end(&self) -> ConnectionEnd {
        ConnectionEnd::new(self.ends.len())
    }

    pub(crate) fn add(&mut self, end: TcpEnd) {
        self.ends.push(end);
    }

    /// Makes an end of a connection open later than at the beginning.
    pub(crate) fn open_at(&mut self, end: ConnectionEnd, time: Instant) {
        self.ends[end.index()].opens = time;
    }

    /// Makes an end carry no frames but data outside the overlay.
    pub(crate) fn carry(&mut self, end: ConnectionEnd, cross: CrossEnd) {
        self.ends[end.index()].cross = Some(cross);
    }

    /// All ends of connections of the overlay, each with the machine of its peer, and when it opens.
    pub(crate) fn peers(&self) -> impl Iterator<Item = (ConnectionEnd, usize, Instant)> {
        let ends = (0..).map(ConnectionEnd::new).zip(&self.ends);
        let ends = ends.filter(|(_, state)| state.cross.is_none());
        ends.map(|(end, state)| (end, state.peer_machine(), state.opens))
    }

    /// Makes all ends of connections of the overlay note what becomes of marked cells.
    pub(crate) fn follow(&mut self) {
        for end in self.ends.iter_mut().filter(|end| end.cross.is_none()) {
            end.marks = Some(Box::default());
        }
    }

    /// What an end notes of marked cells.
    pub(crate) fn marks(&mut self, end: ConnectionEnd) -> Option<&mut TcpMarks> {
        self.ends[end.index()].marks.as_deref_mut()
    }

    /// What all ends have noted, each with its end of the link.
    pub(crate) fn take_marks(&mut self) -> impl Iterator<Item = (LinkEnd, TcpMarks)> {
        let ends = self.ends.iter_mut();
        ends.filter_map(|end| Some((end.at, *end.marks.take()?)))
    }

    /// The machine's ends of connections outside the overlay.
    pub(crate) fn cross_ends(&self) -> impl Iterator<Item = LinkEnd> {
        let ends = self.ends.iter().filter(|end| end.cross.is_some());
        ends.map(|end| end.at)
    }

    /// What peers have written and nobody has read, by the machine's ends.
    pub(crate) fn arriving(&self) -> impl Iterator<Item = (LinkEnd, Vec<Frame<Simulated>>)> {
        let ends = self.ends.iter().filter(|end| end.cross.is_none());
        ends.map(|end| (end.at, end.arriving().collect()))
    }

    /// Breaks a connection off: nothing comes of this end any more.
    pub(crate) fn break_off(&mut self, end: ConnectionEnd) {
        self.ends[end.index()].break_off();
    }

    /// What ends here have counted outside the overlay.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &CrossFlow> {
        self.ends.iter().filter_map(|end| match &end.cross {
            Some(CrossEnd::Receiver(flow)) => Some(flow),
            _ => None,
        })
    }

    /// Opens all connections of the overlay that are there from the beginning, or waits for their peers to do it.
    pub(crate) fn open_all(&mut self, machine: &mut Machine, shared: &mut Shared) {
        for end in (0..self.ends.len()).map(ConnectionEnd::new) {
            let state = &self.ends[end.index()];
            if state.cross.is_none() && state.opens == Instant::ZERO {
                self.open(end, machine, shared);
            }
        }
    }

    /// Takes frames that the peer of an end has written.
    #[inline]
    pub(crate) fn expect(&mut self, end: ConnectionEnd, frames: impl Iterator<Item = Written>) {
        let end = &mut self.ends[end.index()];
        frames.for_each(|frame| end.expect(frame));
    }

    /// Reads a field of each part of an end; the number means nothing.
    #[inline]
    pub(crate) fn touch(&self, end: ConnectionEnd) -> u64 {
        self.ends[end.index()].touch()
    }

    /// Before when no end's timers are to be served.
    #[inline]
    pub(crate) const fn no_alarm_before(&self) -> Instant {
        self.first
    }

    /// When the timers of an end are to be served next, and which.
    pub(crate) fn next_alarm(&mut self) -> Option<(Instant, ConnectionEnd)> {
        while let Some(&Reverse((at, end))) = self.alarms.peek() {
            self.first = at;
            if self.ends[end.index()].alarm() == Some(at) {
                return Some((at, end));
            }
            self.alarms.pop();
        }
        self.first = Instant::FAR_FUTURE;
        None
    }

    /// Wakes the machine for the timers of an end, unless it does so anyway.
    #[inline]
    fn arm(&mut self, end: ConnectionEnd) {
        if let Some(at) = self.ends[end.index()].arm() {
            self.first = self.first.min(at);
            self.alarms.push(Reverse((at, end)));
        }
    }

    /// Opens a connection of the overlay, or waits for the peer to do it.
    pub(crate) fn open(&mut self, end: ConnectionEnd, machine: &mut Machine, shared: &mut Shared) {
        self.offer_room(end, machine, shared.now());
        self.pump(end, machine, shared);
    }

    /// Opens a connection outside the overlay.
    pub(crate) fn open_cross(
        &mut self,
        sender: ConnectionEnd,
        machine: &mut Machine,
        shared: &mut Shared,
    ) {
        self.pump(sender, machine, shared);
    }

    /// Writes the frames at hand.
    pub(crate) fn write(&mut self, end: ConnectionEnd, machine: &mut Machine, shared: &mut Shared) {
        self.ends[end.index()].write(&mut shared.frames, &mut shared.out.written);
        self.pump(end, machine, shared);
        if self.ends[end.index()].room_differs() {
            self.offer_room(end, machine, shared.now());
        }
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
        if state.is_broken() {
            return;
        }
        state.receive(shared.now(), segment, machine.down.link().config());
        let readable = state.tcp.readable();
        let position = state.at.node.position;
        if state.cross.is_some() {
            return self.receive_cross(end, readable, machine, shared);
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

    /// A segment outside the overlay has arrived: the receiver counts.
    fn receive_cross(
        &mut self,
        end: ConnectionEnd,
        readable: Bytes,
        machine: &mut Machine,
        shared: &mut Shared,
    ) {
        let state = &mut self.ends[end.index()];
        state.tcp.read(readable);
        if let Some(CrossEnd::Receiver(flow)) = &mut state.cross {
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
                    return machine.node_mut(position).wake_by(at);
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
        let state = &mut self.ends[end.index()];
        let read = state.read(most, &mut shared.frames);
        if let Some(marks) = &mut state.marks {
            marks.take_read(&mut shared.read);
        }
        let LinkEnd { node, link } = state.at;
        if let Some(tracer) = &mut machine.tracer {
            let at = (node.position, link);
            tracer.on_stream(shared.now, at, &shared.frames, Way::Received);
        }
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
                machine.stop_connection(end, at);
                break;
            }
            let Some(packet) = state.poll_transmit(shared.now(), &mut shared.packets) else {
                break;
            };
            machine.send(packet, shared);
        }
        self.arm(end);
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
            machine.send(packet, shared);
            machine.requeue(end);
        }
        self.arm(end);
    }

    /// Handles the timers of a connection that are due; returns the position of its node if that
    /// heard of room.
    pub(crate) fn on_timer(
        &mut self,
        end: ConnectionEnd,
        machine: &mut Machine,
        shared: &mut Shared,
    ) -> Option<u16> {
        let state = &mut self.ends[end.index()];
        state.handle_timeout(shared.now());
        let heard = state.kist.then_some(state.at.node.position);
        if heard.is_some() {
            // A time-out changes what can be sent soon.
            self.offer_room(end, machine, shared.now());
        }
        self.pump(end, machine, shared);
        heard
    }
}
