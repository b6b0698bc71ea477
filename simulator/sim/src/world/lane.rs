//! A lane: one machine and all that happens there.
//!
//! A lane acts on what it owns and on what the [`Shared`] of its partition lends it. What it does
//! for other lanes it puts into the [`Outbox`](super::outbox::Outbox). So lanes can be run one after
//! the other or side by side, each over a whole window of time.
//!
//! Simultaneous events of a lane happen in the order of [`Due`].

use std::hint::black_box;
use std::ops::Range;

use hopflow_overlay::{BucketConfig, CircuitHandle, Direction, Event, StreamHandle};
use hopflow_trace::Way;
use hopflow_units::{Duration, Instant, LinkId};
use hopflow_wire::Reason;

use super::address::{CircuitEnd, ConnectionEnd, LinkEnd, NodeAt};
use super::connections::Connections;
use super::machine::{Machine, Node, Turn};
use super::marks::Least;
use super::outbox::{Arrival, Envelope, Left, Request};
use super::packets::{Content, Packets};
use super::recorders::{BreakdownRecorder, Capture, FlowIndex, Records, Tracer};
use super::schedule::{Schedule, Scheduled};
use super::shared::Shared;
use super::users::{Client, Endpoint, Server, Sink, StreamWrite};
use crate::outcome::{FailCause, NewCircuit};
use crate::payload::{DataOffset, Simulated};

/// A machine with its links, connections, users, and all that is pending there.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) number: u32,
    pub(crate) machine: Machine,
    pub(crate) connections: Connections,
    pub(crate) clients: Vec<Client>,
    pub(crate) servers: Vec<Server>,
    pub(crate) schedule: Schedule,
    pub(crate) records: Records,
    /// When something is to be sampled next.
    next_sample: Instant,
    /// Events so far.
    pub(crate) events: u64,
}

/// What acts by itself, in the order in which simultaneous events happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// A packet leaves the uplink's queue.
    Uplink,
    /// Packets reach the machine.
    Downlink,
    /// The timers of the node at a position.
    Node(u16),
    /// What is scheduled for later, such as requests of users.
    Schedule,
    /// The regular samples.
    Sample,
    /// The timers of one end of a TCP connection.
    Connection(ConnectionEnd),
}

impl Lane {
    pub(crate) fn new(number: u32, machine: Machine) -> Self {
        Self {
            number,
            machine,
            connections: Connections::default(),
            clients: Vec::new(),
            servers: Vec::new(),
            schedule: Schedule::default(),
            records: Records::default(),
            next_sample: Instant::FAR_FUTURE,
            events: 0,
        }
    }

    /// The machine's ends of links.
    pub(crate) fn link_index(&self) -> FlowIndex {
        let mut index = FlowIndex::default();
        for (position, node) in (0..).zip(self.machine.nodes()) {
            let links = (0..).map(LinkId::new).zip(&node.links);
            let peers = links.map(|(link, neighbour)| (neighbour.to, (position, link)));
            index.peers.extend(peers);
        }
        index
    }

    /// Follows the cells that the index knows.
    pub(crate) fn follow(&mut self, index: FlowIndex) {
        self.connections.follow();
        let breakdown = BreakdownRecorder::new(self.number, index);
        self.records.breakdown = Some(Box::new(breakdown));
    }

    /// Listens to what happens here.
    pub(crate) fn tracer(&mut self) -> &mut Tracer {
        let number = self.number;
        let tracer = &mut self.machine.tracer;
        tracer.get_or_insert_with(|| Box::new(Tracer::new(number)))
    }

    /// Takes all packets of the machine down.
    pub(crate) fn capture(&mut self) {
        let mut ends = Vec::new();
        for (position, node) in (0..).zip(self.machine.nodes()) {
            let at = NodeAt::new(self.number as usize, position);
            let links = (0..).map(LinkId::new).zip(&node.links);
            ends.extend(links.map(|(link, neighbour)| (LinkEnd { node: at, link }, neighbour.to)));
        }
        let capture = Capture::new(ends.into_iter(), self.connections.cross_ends());
        self.tracer().capture(capture);
    }

    /// What a user has at one of its ends when it has the circuit that is so many behind its first.
    pub(crate) fn endpoint_of_turn(&self, end: CircuitEnd, index: u32, turn: u32) -> &Endpoint {
        match (end, turn.checked_sub(1)) {
            (CircuitEnd::Client, Some(later)) => self.clients[index as usize]
                .renewal
                .endpoint(later as usize),
            _ => self.endpoint(end, index),
        }
    }

    /// Whether what is recorded here depends on how far other lanes, or the lane's own links, have
    /// gone: what holds cells back, and uploads, of which the exit is told when they begin.
    pub(crate) fn asks_others(&self) -> bool {
        self.records.breakdown.is_some() || self.servers.iter().any(|server| server.sink.is_some())
    }

    /// Takes a user's request: its server will receive it.
    pub(crate) fn expect_request(&mut self, server: u32, request: Request) {
        self.servers[server as usize].begin(request);
    }

    /// Takes the time when a cell left its source for a user here.
    pub(crate) fn note_left(&mut self, (end, index): (CircuitEnd, u32), left: Left) {
        if let Some(sink) = self.sink_mut(end, index) {
            sink.on_left(left);
        }
    }

    /// What a user has at one of its ends.
    pub(crate) fn endpoint(&self, end: CircuitEnd, index: u32) -> &Endpoint {
        match end {
            CircuitEnd::Client => &self.clients[index as usize].endpoint,
            CircuitEnd::Exit => &self.servers[index as usize].endpoint,
        }
    }

    /// What is measured of a user at one of its ends, if that is where it is measured.
    pub(crate) fn sink(&self, end: CircuitEnd, index: u32) -> Option<&Sink> {
        match end {
            CircuitEnd::Client => self.clients[index as usize].sink.as_ref(),
            CircuitEnd::Exit => self.servers[index as usize].sink.as_ref(),
        }
    }

    fn sink_mut(&mut self, end: CircuitEnd, index: u32) -> Option<&mut Sink> {
        match end {
            CircuitEnd::Client => self.clients[index as usize].sink.as_mut(),
            CircuitEnd::Exit => self.servers[index as usize].sink.as_mut(),
        }
    }

    /// All that is measured of users here.
    pub(crate) fn sinks_mut(&mut self) -> impl Iterator<Item = &mut Sink> {
        let clients = self.clients.iter_mut().map(|client| &mut client.sink);
        let servers = self.servers.iter_mut().map(|server| &mut server.sink);
        clients.chain(servers).flatten()
    }

    /// Opens connections, and lets the nodes send what they have to send at the beginning.
    pub(crate) fn begin(&mut self, shared: &mut Shared) {
        shared.now = Instant::ZERO;
        self.connections.open_all(&mut self.machine, shared);
        self.pump(0, shared);
        self.pump_others(shared);
        self.after_event(shared);
        self.on_departed(shared);
    }

    /// Handles what happens at the machine before `limit`, when all is known that reaches its router
    /// before `at_router`: `arrivals` are what it does not know yet. Returns when the lane must be run
    /// next, as [`wake_at`](Self::wake_at).
    pub(crate) fn run(
        &mut self,
        (limit, at_router): (Instant, Instant),
        arrivals: &mut [Arrival],
        shared: &mut Shared,
    ) -> Instant {
        self.events += self.offer(at_router, arrivals, shared);
        let next = loop {
            let (time, due) = self.next();
            if time >= limit || time > shared.end {
                break time;
            }
            shared.now = time;
            self.events += 1;
            self.handle(due, shared);
            self.after_event(shared);
        };
        self.on_departed(shared);
        self.wake_before(next)
    }

    /// Notes the packets that have left, which are still at hand.
    fn on_departed(&mut self, shared: &Shared) {
        self.records.on_departed(shared);
        if let Some(breakdown) = &mut self.records.breakdown {
            breakdown.on_departed(&self.machine, &mut self.connections, shared);
        }
    }

    /// Asks what holds cells back that are followed, and how circuits are that are traced, until the
    /// next event.
    #[inline]
    fn after_event(&mut self, shared: &Shared) {
        if self.machine.tracer.is_some() {
            self.trace_event(shared.now);
        }
        if let Some(breakdown) = &mut self.records.breakdown {
            breakdown.ask(shared.now, &self.machine);
        }
    }

    /// Moves the contents of all packets that wait at the machine or are on its links.
    pub(crate) fn move_packets(&mut self, from: &mut Packets, to: &mut Packets) {
        self.machine.up.move_packets(from, to);
        self.machine.down.move_packets(from, to);
    }

    /// When the lane must be run next, apart from packets that are on their way: something is due at
    /// the machine, or may be because of a packet that leaves the downlink's queue.
    pub(crate) fn wake_at(&mut self) -> Instant {
        let (time, _) = self.next();
        self.wake_before(time)
    }

    /// The time at which something is due at the machine, or an earlier one at which a packet may be
    /// delivered that leaves the downlink's queue.
    #[inline]
    fn wake_before(&self, due: Instant) -> Instant {
        let service = self.machine.down.next_service();
        service.map_or(due, |at| due.min(at + self.down_delay()))
    }

    /// How long packets take from the router to the machine, at least.
    #[inline]
    pub(crate) const fn down_delay(&self) -> Duration {
        self.machine.down.least_delay()
    }

    /// Offers to the downlink what reaches the router, all of it before `limit`; returns how many
    /// packets there were.
    fn offer(&mut self, limit: Instant, arrivals: &mut [Arrival], shared: &mut Shared) -> u64 {
        arrivals.sort_unstable();
        self.touch(arrivals, &shared.packets);
        let (mut offered, end) = (0, shared.end);
        for arrival in arrivals.iter().filter(|arrival| arrival.at <= end) {
            let (at, packet) = (arrival.at, arrival.packet);
            self.machine.sample_down((at, arrival.via > 0), shared);
            self.records.on_wire(at, Direction::Backward, packet.size());
            if let Some(breakdown) = &mut self.records.breakdown {
                let (machine, connections) = (&self.machine, &mut self.connections);
                breakdown.on_router(at, &packet, machine, connections, &shared.packets);
            }
            self.machine.down.send(at, packet, &mut shared.packets);
            offered += 1;
        }
        self.machine.sample_down((limit, false), shared);
        if self
            .machine
            .down
            .next_service()
            .is_some_and(|at| at < limit)
        {
            let last = Instant::from_nanos(limit.as_nanos() - 1).min(shared.end);
            self.machine.down.serve(last, &mut shared.packets);
        }
        offered
    }

    /// Reads what packets will need when they are delivered. One read after the other would wait for
    /// memory each time; these overlap.
    fn touch(&self, arrivals: &[Arrival], packets: &Packets) {
        for Arrival { packet, .. } in arrivals {
            let LinkEnd { node, link } = packet.to;
            let node = self.machine.node(node.position);
            black_box(match packet.content() {
                Content::Datagram { start, len } => {
                    node.host.touch(link, packets.frames_of(start, len))
                }
                Content::Segment(place) => {
                    let end = node.links[link.index()].connection;
                    let end = end.map_or(0, |end| self.connections.touch(end));
                    end ^ packets.touch_segment(place)
                }
            });
        }
    }

    /// What is due first at the machine.
    #[inline]
    fn next(&mut self) -> (Instant, Due) {
        let machine = &self.machine;
        let mut first = (Instant::FAR_FUTURE, Due::Uplink);
        // In the order of simultaneous events: of those the first stays.
        let mut consider = |at: Instant, due| {
            if at < first.0 {
                first = (at, due);
            }
        };
        if let Some(at) = machine.up.next_service() {
            consider(at, Due::Uplink);
        }
        if let Some(at) = machine.down.next_arrival() {
            consider(at, Due::Downlink);
        }
        for position in 0..=machine.others() {
            consider(machine.node(position).due, Due::Node(position));
        }
        consider(self.schedule.next(), Due::Schedule);
        consider(self.next_sample, Due::Sample);
        if self.connections.no_alarm_before() < first.0
            && let Some((at, end)) = self.connections.next_alarm()
            && at < first.0
        {
            first = (at, Due::Connection(end));
        }
        first
    }

    fn handle(&mut self, due: Due, shared: &mut Shared) {
        match due {
            Due::Uplink => self.machine.serve_up(shared),
            Due::Downlink => self.on_downlink(shared),
            Due::Node(position) => self.on_node_timer(position, shared),
            Due::Schedule => self.on_schedule(shared),
            Due::Sample => self.sample(shared.now),
            Due::Connection(end) => {
                let heard = self.connections.on_timer(end, &mut self.machine, shared);
                if let Some(position) = heard {
                    self.pump(position, shared);
                }
            }
        }
    }

    /// Takes the samples that are due.
    fn sample(&mut self, now: Instant) {
        if let Some(sampler) = &mut self.records.sampler {
            sampler.sample(now, &self.machine, &self.clients, &self.servers);
        }
        self.plan_sample();
    }

    /// Notes when something is to be sampled next.
    pub(crate) fn plan_sample(&mut self) {
        let sampler = self.records.sampler.as_ref();
        let next = sampler.and_then(|sampler| sampler.next());
        self.next_sample = next.unwrap_or(Instant::FAR_FUTURE);
    }

    /// Lets the tracer ask what is no longer as it was.
    #[cold]
    fn trace_event(&mut self, now: Instant) {
        if let Some(mut tracer) = self.machine.tracer.take() {
            let machine = &self.machine;
            tracer.after_event(now, |position| &*machine.node(position).host);
            self.machine.tracer = Some(tracer);
        }
    }

    /// Packets have reached the machine.
    fn on_downlink(&mut self, shared: &mut Shared) {
        let machine = &mut self.machine;
        while let Some(packet) = machine.down.take_arrived(shared.now()) {
            let LinkEnd { node, link } = packet.to;
            if let Some(tracer) = &mut machine.tracer {
                tracer.on_packet(shared.now, packet, &shared.packets, Way::Received);
            }
            match packet.content() {
                Content::Datagram { start, len } => {
                    shared.packets.take_frames((start, len), &mut shared.frames);
                    let frames = &shared.frames;
                    if let Some(tracer) = &mut machine.tracer {
                        tracer.on_frames(shared.now, (node.position, link), frames, Way::Received);
                    }
                    if let Some(breakdown) = &mut self.records.breakdown {
                        let least = Least::of(machine.down.link().config(), packet.size());
                        breakdown.on_datagram(shared.now, packet.to, frames, least);
                    }
                    let to = machine.node_mut(node.position);
                    to.host.receive(shared.now, link, &mut shared.frames);
                }
                Content::Segment(place) => {
                    let segment = shared.packets.segment_at(place);
                    let end = machine.node(node.position).links[link.index()].connection;
                    let end = end.expect("segments travel on connections");
                    self.connections.receive(end, &segment, machine, shared);
                }
            }
            shared.packets.free(packet);
        }
        self.pump(0, shared);
        self.pump_others(shared);
    }

    fn on_node_timer(&mut self, position: u16, shared: &mut Shared) {
        let now = shared.now();
        if self.machine.take_room(position, now) {
            self.serve_uplink(shared);
        }
        let machine = &mut self.machine;
        let reading = machine.node_mut(position).reading.as_mut();
        if reading.is_some_and(|reading| reading.take_ready(now)) {
            self.connections.serve_reading(position, machine, shared);
        }
        machine.node_mut(position).host.handle_timeout(now);
        self.pump(position, shared);
    }

    /// Handles everything that a node reports and sends everything that it has to send.
    fn pump(&mut self, position: u16, shared: &mut Shared) {
        if let Some(breakdown) = &mut self.records.breakdown {
            breakdown.on_read(shared.now, &mut shared.read);
        }
        self.take_events(position, shared);
        if self.transmit(position, shared) {
            self.take_events(position, shared);
        }
        self.machine.set_timer(position, shared.now());
    }

    /// Handles everything that a node reports, which gives it nothing to send.
    #[inline]
    fn take_events(&mut self, position: u16, shared: &mut Shared) {
        while let Some(event) = self.machine.node_mut(position).host.poll_event() {
            self.on_event(position, event, shared);
        }
    }

    /// Does the same for all nodes of the machine but the first.
    #[inline]
    fn pump_others(&mut self, shared: &mut Shared) {
        for position in 1..=self.machine.others() {
            self.pump(position, shared);
        }
    }

    /// Handles what they report, and notes their timers, where they may have sent and can send no more.
    fn note_others(&mut self, shared: &mut Shared) {
        for position in 1..=self.machine.others() {
            self.take_events(position, shared);
            self.machine.set_timer(position, shared.now());
        }
    }

    /// Sends what a node has to send while the uplink takes it; true if all was sent and there was
    /// something.
    fn transmit(&mut self, position: u16, shared: &mut Shared) -> bool {
        let mut sent = false;
        loop {
            if let Some(until) = self.machine.up.room_at(shared.now()) {
                self.machine.stop_node(position, until);
                return false;
            }
            if !self.transmit_next(position, shared) {
                return sent;
            }
            sent = true;
        }
    }

    /// Sends the next of what a node has to send; false if there is nothing.
    #[inline]
    fn transmit_next(&mut self, position: u16, shared: &mut Shared) -> bool {
        let machine = &mut self.machine;
        let sender = machine.node_mut(position);
        let next = sender.host.poll_transmit(shared.now, &mut shared.frames);
        let Some((link, len)) = next else {
            return false;
        };
        let neighbour = sender.links[link.index()];
        self.records.on_sent(position, link, shared);
        if let Some(breakdown) = &mut self.records.breakdown {
            breakdown.on_sent((position, link), machine.node(position), shared);
        }
        if let Some(tracer) = &mut machine.tracer {
            let (now, at) = (shared.now, (position, link));
            match neighbour.connection {
                Some(_) => tracer.on_stream(now, at, &shared.frames, Way::Sent),
                None => tracer.on_frames(now, at, &shared.frames, Way::Sent),
            }
        }
        match neighbour.connection {
            Some(end) => self.connections.write(end, machine, shared),
            None => machine.send_datagram(neighbour.to, len, shared),
        }
        true
    }

    /// Lets all that waits for the uplink send in turn, until it is full again.
    fn serve_uplink(&mut self, shared: &mut Shared) {
        let machine = &mut self.machine;
        if machine.others() == 0 {
            return self.connections.serve_uplink(machine, shared);
        }
        let mut idle = 0;
        while idle < self.machine.turns() {
            let machine = &mut self.machine;
            if let Some(until) = machine.up.room_at(shared.now()) {
                machine.stop_node(0, until);
                return self.note_others(shared);
            }
            let sent = match machine.next_turn() {
                Turn::Connections => self.connections.serve_next(machine, shared),
                Turn::Node(position) => self.transmit_next(position, shared),
            };
            idle = if sent { 0 } else { idle + 1 };
        }
        self.pump_others(shared);
    }

    #[inline]
    fn node_mut(&mut self, position: u16) -> &mut Node {
        self.machine.node_mut(position)
    }

    fn on_event(&mut self, position: u16, event: Event<Simulated>, shared: &mut Shared) {
        match event {
            Event::Delivered { stream, payload } => {
                self.on_delivered(position, stream, &payload, shared.now);
            }
            Event::Message {
                link,
                message,
                delay,
            } => {
                let to = self.machine.node(position).links[link.index()].to;
                let order = self.schedule.next_order();
                shared.out.messages.push(Envelope {
                    at: shared.now + delay,
                    from: self.number,
                    order,
                    to,
                    message,
                });
            }
            Event::Begun { .. }
            | Event::Link { .. }
            | Event::Finished { .. }
            | Event::Drained { .. } => {}
            Event::StreamClosed { stream } => {
                self.node_mut(position).ends[stream.index()] = None;
            }
            Event::Closed {
                circuit, reason, ..
            } => {
                self.on_closed((position, circuit), reason, shared.now);
            }
        }
    }

    fn on_delivered(
        &mut self,
        position: u16,
        stream: StreamHandle,
        cell: &Simulated,
        now: Instant,
    ) {
        if let Some(breakdown) = &mut self.records.breakdown {
            breakdown.on_delivered(now, (position, stream), cell);
        }
        let ends = &self.machine.node(position).ends;
        let Some((end, index)) = ends.get(stream.index()).copied().flatten() else {
            return;
        };
        let journal = &mut self.records.journal;
        match end {
            CircuitEnd::Client => {
                let client = &mut self.clients[index as usize];
                if let Some(at) = client.on_delivered(cell, now, journal) {
                    self.schedule.add(at, Scheduled::Request(index));
                }
            }
            CircuitEnd::Exit => {
                let server = &mut self.servers[index as usize];
                let user = server.endpoint.user;
                if let Some(at) = server.on_delivered(cell, now, journal) {
                    self.schedule.add(at, Scheduled::Respond(index));
                }
                self.records.at_server(now, user, cell);
            }
        }
    }

    fn on_closed(
        &mut self,
        (position, circuit): (u16, CircuitHandle),
        reason: Reason,
        now: Instant,
    ) {
        let user = self.machine.node(position).users[circuit.index()];
        self.records.closed.push(user);
        let cause = match reason {
            Reason::Requested => FailCause::Left,
            _ => FailCause::Closed,
        };
        let journal = &mut self.records.journal;
        for index in of_user(&self.clients, user, |client| client.endpoint.user) {
            let client = &mut self.clients[index];
            client.renewal.on_closed(position, circuit);
            if client.endpoint.on_closed(position, circuit) {
                if let Some(sink) = &mut client.sink {
                    sink.fail(now, cause, journal);
                }
                if let Some(at) = client.renewal.begin(now) {
                    self.schedule.add(at, Scheduled::Renew(index as u32));
                }
            }
        }
        for index in of_user(&self.servers, user, |server| server.endpoint.user) {
            let server = &mut self.servers[index];
            if server.endpoint.on_closed(position, circuit) {
                server.on_closed(now, cause);
            }
        }
    }

    /// A user has its next circuit, unless that is closed, too: then it waits for the one after it.
    fn renew(&mut self, index: u32, shared: &mut Shared) {
        let now = shared.now;
        let client = &mut self.clients[index as usize];
        let closed = client.renewal.closed;
        let journal = &mut self.records.journal;
        let request = client.renew(now, journal, &mut shared.out.requests);
        if client.endpoint.closed {
            if let Some(at) = client.renewal.begin(now) {
                self.schedule.add(at, Scheduled::Renew(index));
            }
            return;
        }
        self.records.rebuilt.push(NewCircuit {
            circuit: client.endpoint.user,
            closed,
            ready: now,
        });
        self.write(request, shared);
    }

    /// A user leaves, and with it its circuits.
    fn leave(&mut self, client: u32, shared: &mut Shared) {
        let client = &mut self.clients[client as usize];
        client.renewal.end();
        let position = client.endpoint.position;
        for circuit in client.endpoint.circuits.clone() {
            let host = &mut self.node_mut(position).host;
            host.close_circuit(shared.now, circuit, Reason::Requested);
        }
        self.pump(position, shared);
    }

    fn on_schedule(&mut self, shared: &mut Shared) {
        let now = shared.now();
        while let Some(what) = self.schedule.pop_due(now) {
            match what {
                Scheduled::Connect(sender) => {
                    self.connections
                        .open_cross(sender, &mut self.machine, shared);
                }
                Scheduled::Request(client) => {
                    let journal = &mut self.records.journal;
                    let client = &mut self.clients[client as usize];
                    let request = client.request(now, journal, &mut shared.out.requests);
                    self.write(request, shared);
                }
                Scheduled::Respond(server) => {
                    let response = self.servers[server as usize].respond();
                    self.write(response, shared);
                }
                Scheduled::Renew(client) => self.renew(client, shared),
                Scheduled::Open(end) => {
                    self.connections.open(end, &mut self.machine, shared);
                }
                Scheduled::Leave(client) => self.leave(client, shared),
                Scheduled::Break(end) => self.connections.break_off(end),
                Scheduled::Close { position, circuit } => {
                    let host = &mut self.node_mut(position).host;
                    host.close_circuit(now, circuit, Reason::Unreachable);
                    self.pump(position, shared);
                }
                Scheduled::Bucket { position, bucket } => {
                    self.set_bucket(position, bucket, shared);
                }
                Scheduled::Message {
                    position,
                    link,
                    message,
                } => {
                    let host = &mut self.node_mut(position).host;
                    host.receive_message(now, link, &message);
                    self.pump(position, shared);
                }
            }
        }
    }

    /// Changes the token bucket of a node.
    fn set_bucket(&mut self, position: u16, bucket: Option<BucketConfig>, shared: &mut Shared) {
        let (now, machine) = (shared.now, &mut self.machine);
        let node = machine.node_mut(position);
        if let (Some(reading), Some(bucket)) = (&mut node.reading, bucket) {
            reading.set_bucket(now, bucket);
            self.connections.serve_reading(position, machine, shared);
        } else {
            node.host.set_bucket(now, bucket);
        }
        self.pump(position, shared);
    }

    /// Passes what a user or server writes to its node.
    fn write(&mut self, write: Option<StreamWrite>, shared: &mut Shared) {
        let Some(StreamWrite {
            position,
            stream,
            len,
        }) = write
        else {
            return;
        };
        let mut data = DataOffset::default();
        if let Some(breakdown) = &mut self.records.breakdown {
            data = breakdown.on_written(shared.now, (position, stream), len);
        }
        let host = &mut self.node_mut(position).host;
        host.write(shared.now, stream, data, len);
        self.pump(position, shared);
    }
}

/// Where the ends of a user's circuits are among those on a machine, which stand in the order of users.
fn of_user<T>(ends: &[T], user: u32, user_of: impl Fn(&T) -> u32) -> Range<usize> {
    let first = ends.partition_point(|end| user_of(end) < user);
    let behind = ends.partition_point(|end| user_of(end) <= user);
    first..behind
}
