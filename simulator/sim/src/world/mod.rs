//! The simulated world: nodes on a network, what travels between them, and their users.

mod backbone;
mod build;
mod cross;
mod deployment;
mod latency;
mod legs;
mod packets;
mod queues;
mod reading;
mod record;
mod streams;
mod traces;
mod users;

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use hopflow_overlay::{CircuitHandle, Direction, Event, Factory, Host};
use hopflow_units::{Bytes, Duration, Instant, LinkId};
use hopflow_wire::{Frame, Message};

use crate::engine::{Agenda, Slot};
use crate::payload::Simulated;
use crate::spec::{SpecError, WorldSpec};
use crate::{Counters, Outcome};
use backbone::Backbone;
use cross::CrossFlow;
pub use deployment::Deployment;
use hopflow_netem::{Link, Verdict};
use hopflow_random::Stream;
use latency::LatencyRecorder;
use legs::LegRecorder;
use packets::{Content, Packet, Packets};
use queues::QueueRecorder;
use reading::Reading;
use record::Recorder;
use streams::{ConnectionEnd, Connections};
use traces::TraceRecorder;
use users::User;

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Duration,
    /// When the simulation ends.
    pub end: Duration,
}

/// Simulates a world whose nodes all have the transport of `factory`.
///
/// `observer` is called from time to time and may stop the run, which then yields `None`. The
/// outcome is a function of the specification and the factory alone.
///
/// # Errors
/// If the specification makes no sense.
pub fn run(
    spec: &WorldSpec,
    factory: &dyn Factory<Simulated>,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Option<Outcome>, SpecError> {
    let mut world = World::new(spec, factory)?;
    Ok(world.run(observer).then(|| world.into_outcome()))
}

/// Bytes of UDP and IPv4 headers.
const UDP_IP: Bytes = Bytes::new(28);
/// Bytes of framing on a link, as in the BackTap authors' simulator (PPP).
const FRAMING: Bytes = Bytes::new(2);
/// Events between two calls of the observer.
const OBSERVE_EVERY: u64 = 1 << 16;

/// A running simulation.
#[derive(Debug)]
pub struct World {
    agenda: Agenda,
    now: Instant,
    end: Instant,
    nodes: Vec<Node>,
    backbone: Backbone,
    packets: Packets,
    /// What a node sends or receives at the moment.
    frames: Vec<Frame<Simulated>>,
    connections: Connections,
    users: Vec<User>,
    cross: Vec<CrossFlow>,
    /// Rare events of users and messages, by time and order of entry.
    rare: BTreeMap<(Instant, u64), Rare>,
    rare_count: u64,
    recorder: Recorder,
    /// Latencies, if they are asked for.
    latency: Option<LatencyRecorder>,
    /// What waits at access links, if it is asked for.
    queues: Option<QueueRecorder>,
    /// Use of paths, if any user has several.
    legs: Option<LegRecorder>,
    /// What observers see, if it is asked for.
    traces: Option<TraceRecorder>,
    counters: Counters,
}

/// An overlay node in the network.
///
/// The nodes of the specification come first. Where several transports run on one machine, each
/// has a node; the further ones follow, and use the access link of the first.
#[derive(Debug)]
struct Node {
    name: String,
    /// The node whose access link this one uses: itself, or the first on its machine.
    home: u32,
    /// Nodes that use this one's access link besides itself.
    guests: Vec<u32>,
    /// Whose turn it is to send, once a full uplink has room: by position among the guests.
    turn: usize,
    host: Box<dyn Host<Simulated>>,
    /// To the node's router and from it.
    up: Link<Packet>,
    down: Link<Packet>,
    up_rng: Stream,
    down_rng: Stream,
    links: Vec<Neighbour>,
    /// Ends of circuits at this node: the user and whether it is the client's end, by stream.
    ends: Vec<Option<(u32, End)>>,
    /// Connections with segments that found the uplink's queue full.
    waiting: VecDeque<ConnectionEnd>,
    /// When the uplink's queue will have room, if something waits for it.
    room_at: Option<Instant>,
    /// What the node pays for reading, if it does.
    reading: Option<Reading>,
}

/// Where a node's link leads.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    node: u32,
    link: LinkId,
    connection: Option<ConnectionEnd>,
}

/// The two ends of a circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Client,
    Exit,
}

/// Something that happens rarely.
#[derive(Debug)]
enum Rare {
    /// A connection beside the overlay opens.
    Connect(ConnectionEnd),
    /// A user sends a request.
    Request(u32),
    /// A server answers.
    Respond(u32),
    /// A message arrives out of band.
    Message {
        node: u32,
        link: LinkId,
        message: Message,
    },
}

/// Event sources, in the order in which simultaneous events happen.
#[derive(Clone, Copy, Debug)]
enum Source {
    Up(usize),
    Down(usize),
    Node(usize),
    Rare,
    Sampler,
    Backbone(usize),
    Connection(usize),
}

impl World {
    fn slot(&self, source: Source) -> Slot {
        let nodes = self.nodes.len();
        Slot::new(match source {
            Source::Up(node) => node,
            Source::Down(node) => nodes + node,
            Source::Node(node) => 2 * nodes + node,
            Source::Rare => 3 * nodes,
            Source::Sampler => 3 * nodes + 1,
            Source::Backbone(way) => 3 * nodes + 2 + way,
            Source::Connection(end) => 3 * nodes + 2 + self.backbone.len() + end,
        } as u32)
    }

    fn source(&self, slot: Slot) -> Source {
        let (nodes, slot) = (self.nodes.len(), slot.index());
        match slot.checked_sub(3 * nodes) {
            None if slot < nodes => Source::Up(slot),
            None if slot < 2 * nodes => Source::Down(slot - nodes),
            None => Source::Node(slot - 2 * nodes),
            Some(0) => Source::Rare,
            Some(1) => Source::Sampler,
            Some(behind) => match (behind - 2).checked_sub(self.backbone.len()) {
                None => Source::Backbone(behind - 2),
                Some(end) => Source::Connection(end),
            },
        }
    }

    /// Runs to the end; false if the observer stopped the run.
    pub fn run(&mut self, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> bool {
        for node in 0..self.nodes.len() {
            self.pump(node);
        }
        while let Some((time, slot)) = self.agenda.next() {
            if time > self.end {
                break;
            }
            debug_assert!(time >= self.now, "time runs forward");
            self.now = time;
            self.counters.events += 1;
            if self.counters.events.is_multiple_of(OBSERVE_EVERY)
                && self.observe(observer).is_break()
            {
                return false;
            }
            match self.source(slot) {
                Source::Up(node) => self.after_uplink(node),
                Source::Down(node) => self.at_node(node),
                Source::Node(node) => self.on_node_timer(node),
                Source::Rare => self.on_rare(),
                Source::Sampler => self.sample(),
                Source::Backbone(way) => self.at_router(way),
                Source::Connection(end) => self.on_connection_timer(end),
            }
        }
        self.now = self.end;
        true
    }

    fn observe(&self, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> ControlFlow<()> {
        let since_start = |time: Instant| time.saturating_since(Instant::ZERO);
        observer(Progress {
            now: since_start(self.now),
            end: since_start(self.end),
        })
    }

    /// Hands a packet to a node's uplink.
    #[inline]
    fn send_up(&mut self, node: usize, packet: Packet) {
        let home = self.home(node);
        let Node { up, up_rng, .. } = &mut self.nodes[home];
        offer(up, up_rng, self.now, packet, &mut self.packets);
        let next = up.next_event();
        self.agenda.set(self.slot(Source::Up(home)), next);
    }

    /// Packets of a node have reached its router.
    fn after_uplink(&mut self, node: usize) {
        while let Some(packet) = self.nodes[node].up.receive(self.now) {
            self.trace_wire(node, Direction::Forward, packet.size());
            self.leave(node, packet);
        }
        let up = &mut self.nodes[node].up;
        while let Some(packet) = up.take_dropped() {
            self.packets.free(packet.content());
        }
        let next = up.next_event();
        self.agenda.set(self.slot(Source::Up(node)), next);
    }

    /// Hands a packet to the downlink of the node that it is for.
    #[inline]
    fn send_down(&mut self, packet: Packet) {
        let to = self.home(packet.node as usize);
        self.trace_wire(to, Direction::Backward, packet.size());
        let Node { down, down_rng, .. } = &mut self.nodes[to];
        offer(down, down_rng, self.now, packet, &mut self.packets);
        let next = down.next_event();
        self.agenda.set(self.slot(Source::Down(to)), next);
    }

    /// Packets have reached their node.
    fn at_node(&mut self, node: usize) {
        while let Some(packet) = self.nodes[node].down.receive(self.now) {
            let to = &mut self.nodes[packet.node as usize];
            match packet.content() {
                Content::Datagram(run) => {
                    self.frames.extend_from_slice(self.packets.frames(run));
                    to.host.receive(self.now, packet.link, &mut self.frames);
                }
                Content::Segment(place) => {
                    let segment = self.packets.segment(place);
                    let end = to.links[packet.link.index()].connection;
                    self.receive_segment(end.expect("segments travel on connections"), &segment);
                }
            }
            self.packets.free(packet.content());
        }
        let down = &mut self.nodes[node].down;
        while let Some(packet) = down.take_dropped() {
            self.packets.free(packet.content());
        }
        let next = down.next_event();
        self.agenda.set(self.slot(Source::Down(node)), next);
        self.pump(node);
        self.pump_guests(node);
    }

    fn on_node_timer(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        if state.room_at.is_some_and(|at| at <= self.now) {
            state.room_at = None;
            self.serve_uplink(node);
        }
        let reading = self.nodes[node].reading.as_mut();
        if let Some(reading) = reading
            && reading.ready_at.take_if(|at| *at <= self.now).is_some()
        {
            self.serve_reading(node);
        }
        self.nodes[node].host.handle_timeout(self.now);
        self.pump(node);
    }

    /// Takes everything that a node has to say and to send.
    fn pump(&mut self, node: usize) {
        loop {
            while let Some(event) = self.nodes[node].host.poll_event() {
                self.on_event(node, event);
            }
            if !self.transmit(node) {
                break;
            }
        }
        let state = &self.nodes[node];
        let waits = [
            state.room_at,
            state.reading.as_ref().and_then(|reading| reading.ready_at),
        ];
        let timeout = state.host.poll_timeout();
        let next = waits.into_iter().flatten().fold(timeout, Instant::min);
        let next = next.max(self.now);
        self.agenda.set(self.slot(Source::Node(node)), Some(next));
    }

    /// Sends what a node has to send while its uplink takes it; true if all was sent and there
    /// was something.
    fn transmit(&mut self, node: usize) -> bool {
        let mut sent = false;
        loop {
            if let Some(at) = self.nodes[self.home(node)].up.room_at(self.now) {
                self.stop_at_uplink(node, at);
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
    fn transmit_next(&mut self, node: usize) -> bool {
        let host = &mut self.nodes[node].host;
        let Some((link, len)) = host.poll_transmit(self.now, &mut self.frames) else {
            return false;
        };
        self.note_leaving(node, link);
        let neighbour = self.nodes[node].links[link.index()];
        if let Some(end) = neighbour.connection {
            self.write_frames(end);
        } else {
            let size = len + UDP_IP + FRAMING;
            let content = self.packets.add_datagram(&self.frames);
            self.frames.clear();
            let packet = Packet::new(neighbour.node, neighbour.link, size, content);
            self.send_up(node, packet);
        }
        true
    }

    fn on_event(&mut self, node: usize, event: Event<Simulated>) {
        match event {
            Event::Delivered { stream, payload } => {
                match self.nodes[node].ends.get(stream.index()).copied().flatten() {
                    Some((user, End::Client)) => self.on_response(user as usize, &payload),
                    Some((user, End::Exit)) => self.on_request(user as usize, &payload),
                    None => {}
                }
            }
            Event::Message {
                link,
                message,
                delay,
            } => {
                let Neighbour { node, link, .. } = self.nodes[node].links[link.index()];
                self.add_rare(
                    self.now + delay,
                    Rare::Message {
                        node,
                        link,
                        message,
                    },
                );
            }
            Event::Begun { .. } | Event::Finished { .. } | Event::Drained { .. } => {}
            Event::StreamClosed { stream } => self.nodes[node].ends[stream.index()] = None,
            Event::Closed { circuit, .. } => self.on_closed(node, circuit),
        }
    }

    fn on_closed(&mut self, node: usize, circuit: CircuitHandle) {
        let gone = |hop: &(u32, CircuitHandle)| hop.0 as usize == node && hop.1 == circuit;
        for user in self
            .users
            .iter_mut()
            .filter(|user| user.ways.iter().any(|way| way.hops.iter().any(gone)))
        {
            user.closed = true;
        }
    }

    fn add_rare(&mut self, at: Instant, what: Rare) {
        self.rare.insert((at, self.rare_count), what);
        self.rare_count += 1;
        self.rearm_rare();
    }

    fn rearm_rare(&mut self) {
        let next = self.rare.first_key_value().map(|((at, _), _)| *at);
        self.agenda.set(self.slot(Source::Rare), next);
    }

    fn on_rare(&mut self) {
        while let Some(entry) = self.rare.first_entry()
            && entry.key().0 <= self.now
        {
            match entry.remove() {
                Rare::Connect(end) => self.connect(end),
                Rare::Request(user) => self.request(user as usize),
                Rare::Respond(user) => self.respond(user as usize),
                Rare::Message {
                    node,
                    link,
                    message,
                } => {
                    let node = node as usize;
                    self.nodes[node]
                        .host
                        .receive_message(self.now, link, &message);
                    self.pump(node);
                }
            }
        }
        self.rearm_rare();
    }
}

/// Hands a packet, and a copy of it if chance wants one, to a link.
#[inline]
fn offer(
    link: &mut Link<Packet>,
    rng: &mut Stream,
    now: Instant,
    packet: Packet,
    packets: &mut Packets,
) {
    match link.send(now, packet, packet.size(), rng) {
        Verdict::Queued => {}
        Verdict::Dropped(_) => packets.free(packet.content()),
        Verdict::Duplicate => {
            let copy = packets.duplicate(packet);
            if let Verdict::Dropped(_) = link.send_copy(now, copy, copy.size(), rng) {
                packets.free(copy.content());
            }
        }
    }
}
