//! The world: it takes event after event and routes it to the parts that it concerns.

use std::ops::ControlFlow;

use hopflow_overlay::{CircuitHandle, Direction, Event, StreamHandle};
use hopflow_units::{Duration, Instant};

use super::address::{ConnectionEnd, LinkEnd, NodeAt};
use super::connections::Connections;
use super::machine::{Machine, Node, Turn};
use super::packets::{Content, Packet};
use super::recorders::Recorders;
use super::routers::Routers;
use super::schedule::{Schedule, Scheduled};
use super::shared::Shared;
use super::timeline::EventSource;
use super::users::{StreamWrite, User};
use crate::outcome::Outcome;
use crate::payload::{DataOffset, Simulated};

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Duration,
    /// When the simulation ends.
    pub end: Duration,
}

/// Events between two calls of the observer.
const OBSERVE_EVERY: u64 = 1 << 16;

/// A running simulation.
#[derive(Debug)]
pub struct World {
    pub(super) end: Instant,
    pub(super) shared: Shared,
    pub(super) machines: Vec<Machine>,
    pub(super) routers: Routers,
    pub(super) connections: Connections,
    pub(super) users: Vec<User>,
    pub(super) schedule: Schedule,
    pub(super) recorders: Recorders,
}

impl World {
    /// Makes the world record the latency of every cell of data that is delivered from the time on
    /// at which recording begins ([`Sampling::from`](crate::spec::Sampling::from)).
    ///
    /// Must be called before the world runs.
    pub fn record_latency(&mut self) {
        self.assert_new();
        self.recorders.add_latency(&self.users);
    }

    /// Makes the world record what an observer sees of each circuit, in bins of `interval` from the
    /// time on at which recording begins ([`Sampling::from`](crate::spec::Sampling::from)).
    ///
    /// Must be called before the world runs.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn record_traces(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "bins have a width");
        self.assert_new();
        self.recorders
            .add_traces(&self.users, self.machines.len(), interval);
    }

    /// Samples the queues of all access links so often, from when recording begins
    /// ([`Sampling::from`](crate::spec::Sampling)).
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn record_queues(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "samples need an interval");
        let (machines, timeline) = (self.machines.len(), &mut self.shared.timeline);
        self.recorders.add_queues(machines, interval, timeline);
    }

    fn assert_new(&self) {
        assert!(self.shared.now() == Instant::ZERO, "nothing has been sent");
    }

    /// Runs to the end; false if the observer stopped the run.
    pub fn run(&mut self, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> bool {
        for machine in 0..self.machines.len() {
            self.pump(NodeAt::new(machine, 0));
        }
        for machine in 0..self.machines.len() {
            self.pump_others(machine);
        }
        while let Some(source) = self.shared.timeline.advance(self.end) {
            let events = self.shared.timeline.events();
            if events.is_multiple_of(OBSERVE_EVERY) && observer(self.progress()).is_break() {
                return false;
            }
            self.handle(source);
        }
        true
    }

    #[inline]
    fn node_mut(&mut self, node: NodeAt) -> &mut Node {
        self.machines[node.machine()].node_mut(node.position)
    }

    fn progress(&self) -> Progress {
        let since_start = |time: Instant| time.saturating_since(Instant::ZERO);
        Progress {
            now: since_start(self.shared.now()),
            end: since_start(self.end),
        }
    }

    /// Everything that was recorded.
    pub fn into_outcome(self) -> Outcome {
        let events = self.shared.timeline.events();
        self.recorders
            .finish(&self.users, &self.machines, &self.connections, events)
    }

    fn handle(&mut self, source: EventSource) {
        match source {
            EventSource::Uplink(machine) => self.on_uplink(machine as usize),
            EventSource::Downlink(machine) => self.on_downlink(machine as usize),
            EventSource::Node(node) => self.on_node_timer(node),
            EventSource::Schedule => self.on_schedule(),
            EventSource::Sampler => {
                let timeline = &mut self.shared.timeline;
                self.recorders.sample(&self.users, &self.machines, timeline);
            }
            EventSource::Backbone(trunk) => {
                while let Some(packet) = self.routers.arrive(trunk as usize, &mut self.shared) {
                    self.send_down(packet);
                }
            }
            EventSource::Connection(end) => {
                let node = self.connections.node(end);
                let machine = &mut self.machines[node.machine()];
                if self.connections.on_timer(end, machine, &mut self.shared) {
                    self.pump(node);
                }
            }
        }
    }

    /// Packets of a machine have reached its router.
    fn on_uplink(&mut self, machine: usize) {
        let now = self.shared.now();
        while let Some(packet) = self.machines[machine].up.receive(now) {
            self.recorders
                .on_wire(now, machine, Direction::Forward, packet.size());
            if let Some(packet) = self.routers.enter(machine, packet, &mut self.shared) {
                self.send_down(packet);
            }
        }
        self.machines[machine].up.settle(&mut self.shared);
    }

    /// A packet has reached the router of the machine that it is for.
    #[inline]
    fn send_down(&mut self, packet: Packet) {
        let (now, machine) = (self.shared.now(), packet.to.node.machine());
        self.recorders
            .on_wire(now, machine, Direction::Backward, packet.size());
        self.machines[machine].down.send(packet, &mut self.shared);
    }

    /// Packets have reached their machine.
    fn on_downlink(&mut self, number: usize) {
        let (shared, machine) = (&mut self.shared, &mut self.machines[number]);
        let mut received = false;
        while let Some(packet) = machine.down.receive(shared.now()) {
            received = true;
            let LinkEnd { node, link } = packet.to;
            let to = machine.node_mut(node.position);
            match packet.content() {
                Content::Datagram { start, len } => {
                    let frames = shared.packets.frames_of(start, len);
                    shared.frames.extend_from_slice(frames);
                    to.host
                        .receive(shared.timeline.now(), link, &mut shared.frames);
                }
                Content::Segment(place) => {
                    let segment = shared.packets.segment_at(place);
                    let end = to.links[link.index()].connection;
                    let end = end.expect("segments travel on connections");
                    self.connections.receive(end, &segment, machine, shared);
                }
            }
            shared.packets.free(packet);
        }
        machine.down.settle(shared);
        if !received {
            // A packet has left the queue, and has not arrived.
            return;
        }
        self.pump(NodeAt::new(number, 0));
        self.pump_others(number);
    }

    fn on_node_timer(&mut self, node: NodeAt) {
        let now = self.shared.now();
        if self.machines[node.machine()].take_room(node.position, now) {
            self.serve_uplink(node.machine());
        }
        let (shared, machine) = (&mut self.shared, &mut self.machines[node.machine()]);
        let reading = machine.node_mut(node.position).reading.as_mut();
        if reading.is_some_and(|reading| reading.take_ready(now)) {
            self.connections
                .serve_reading(node.position, machine, shared);
        }
        machine.node_mut(node.position).host.handle_timeout(now);
        self.pump(node);
    }

    /// Handles everything that a node reports and sends everything that it has to send.
    fn pump(&mut self, node: NodeAt) {
        loop {
            while let Some(event) = self.node_mut(node).host.poll_event() {
                self.on_event(node, event);
            }
            if !self.transmit(node) {
                break;
            }
        }
        self.machines[node.machine()].set_timer(node.position, &mut self.shared);
    }

    /// Does the same for all nodes of a machine but the first.
    #[inline]
    fn pump_others(&mut self, machine: usize) {
        for position in 1..=self.machines[machine].others() {
            self.pump(NodeAt::new(machine, position));
        }
    }

    /// Sends what a node has to send while its uplink takes it; true if all was sent and there
    /// was something.
    fn transmit(&mut self, node: NodeAt) -> bool {
        let mut sent = false;
        loop {
            let machine = &mut self.machines[node.machine()];
            if let Some(until) = machine.up.room_at(self.shared.now()) {
                machine.stop_node(node.position, until, &mut self.shared);
                return false;
            }
            if !self.transmit_next(node) {
                return sent;
            }
            sent = true;
        }
    }

    /// Sends the next of what a node has to send; false if there is nothing.
    #[inline]
    fn transmit_next(&mut self, node: NodeAt) -> bool {
        let (shared, machine) = (&mut self.shared, &mut self.machines[node.machine()]);
        let sender = machine.node_mut(node.position);
        let now = shared.now();
        let Some((link, len)) = sender.host.poll_transmit(now, &mut shared.frames) else {
            return false;
        };
        let neighbour = sender.links[link.index()];
        self.recorders
            .on_sent(now, LinkEnd { node, link }, &shared.frames);
        match neighbour.connection {
            Some(end) => self.connections.write(end, machine, shared),
            None => machine.send_datagram(neighbour.to, len, shared),
        }
        true
    }

    /// Lets all that waits for a machine's uplink send in turn, until it is full again.
    fn serve_uplink(&mut self, number: usize) {
        let (shared, machine) = (&mut self.shared, &mut self.machines[number]);
        if machine.others() == 0 {
            return self.connections.serve_uplink(machine, shared);
        }
        let mut idle = 0;
        while idle < self.machines[number].turns() {
            let (shared, machine) = (&mut self.shared, &mut self.machines[number]);
            if let Some(until) = machine.up.room_at(shared.now()) {
                return machine.stop_node(0, until, shared);
            }
            let sent = match machine.next_turn() {
                Turn::Connections => self.connections.serve_next(machine, shared),
                Turn::Node(position) => self.transmit_next(NodeAt::new(number, position)),
            };
            idle = if sent { 0 } else { idle + 1 };
        }
        self.pump_others(number);
    }

    fn on_event(&mut self, node: NodeAt, event: Event<Simulated>) {
        match event {
            Event::Delivered { stream, payload } => self.on_delivered(node, stream, &payload),
            Event::Message {
                link,
                message,
                delay,
            } => {
                let machine = &self.machines[node.machine()];
                let to = machine.node(node.position).links[link.index()].to;
                let at = self.shared.now() + delay;
                let what = Scheduled::Message { to, message };
                self.schedule.add(at, what, &mut self.shared.timeline);
            }
            Event::Begun { .. } | Event::Finished { .. } | Event::Drained { .. } => {}
            Event::StreamClosed { stream } => {
                self.node_mut(node).ends[stream.index()] = None;
            }
            Event::Closed { circuit, .. } => self.on_closed(node, circuit),
        }
    }

    fn on_delivered(&mut self, node: NodeAt, stream: StreamHandle, cell: &Simulated) {
        let ends = &self.machines[node.machine()].node(node.position).ends;
        let Some((user, end)) = ends.get(stream.index()).copied().flatten() else {
            return;
        };
        let (now, user) = (self.shared.now(), &mut self.users[user as usize]);
        let next = user.on_delivered(end, cell, now, &mut self.recorders.journal);
        self.recorders.on_delivered(now, user, end, cell);
        if let Some((at, what)) = next {
            self.schedule.add(at, what, &mut self.shared.timeline);
        }
    }

    fn on_closed(&mut self, node: NodeAt, circuit: CircuitHandle) {
        for user in &mut self.users {
            user.on_closed(node, circuit);
        }
    }

    fn on_schedule(&mut self) {
        while let Some(what) = self.schedule.pop_due(&mut self.shared.timeline) {
            match what {
                Scheduled::Connect(sender) => self.connect(sender),
                Scheduled::Request(user) => {
                    let (now, journal) = (self.shared.now(), &mut self.recorders.journal);
                    let request = self.users[user as usize].request(now, journal);
                    self.write(request);
                }
                Scheduled::Respond(user) => {
                    let response = self.users[user as usize].respond();
                    self.write(response);
                }
                Scheduled::Message { to, message } => {
                    let now = self.shared.now();
                    let host = &mut self.node_mut(to.node).host;
                    host.receive_message(now, to.link, &message);
                    self.pump(to.node);
                }
            }
        }
    }

    /// Opens the connection of a flow outside the overlay.
    fn connect(&mut self, sender: ConnectionEnd) {
        let machine = &mut self.machines[self.connections.node(sender).machine()];
        self.connections
            .open_flow(sender, machine, &mut self.shared);
    }

    /// Passes what a user or server writes to its node.
    fn write(&mut self, write: Option<StreamWrite>) {
        let Some(StreamWrite { node, stream, len }) = write else {
            return;
        };
        let now = self.shared.now();
        let host = &mut self.node_mut(node).host;
        host.write(now, stream, DataOffset::default(), len);
        self.pump(node);
    }
}
