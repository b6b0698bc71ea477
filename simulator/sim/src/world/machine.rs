//! Machines: an access link and the nodes that share it.
//!
//! A machine runs a node for every transport in use there. They share its access link, in both
//! directions, with all its queues. When the uplink is full and has room again, the nodes of a
//! machine with several take turns: each node sends a datagram, and all connections of the machine
//! together a segment. On a machine with one node, all segments of connections that wait come before
//! its datagrams.

use std::collections::VecDeque;

use hopflow_overlay::{CircuitHandle, CircuitSpec, Host};
use hopflow_trace::Way;
use hopflow_units::{Bytes, Instant};

use super::address::{CircuitEnd, ConnectionEnd, LinkEnd};
use super::outbox::Arrival;
use super::packets::Packet;
use super::pipe::Pipe;
use super::reading::Reading;
use super::recorders::{QueueRecorder, Tracer};
use super::routes::Path;
use super::shared::Shared;
use crate::payload::Simulated;

/// An access link to a router, and the overlay nodes behind it.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    number: u32,
    pub(crate) up: Pipe,
    pub(crate) down: Pipe,
    /// Packets that have left the uplink's queue.
    departed: u64,
    /// The node at position 0; apart from the others because most machines have no other.
    first: Node,
    others: Vec<Node>,
    queue: UplinkQueue,
    /// Samples of what waits at both links, if they are taken.
    pub(crate) queues: Option<Box<QueueRecorder>>,
    /// Listens to what happens here, if it is asked to.
    pub(crate) tracer: Option<Box<Tracer>>,
}

/// An overlay node and what it has to do with the rest of the world.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) host: Box<dyn Host<Simulated>>,
    /// What its links lead to, by link.
    pub(crate) links: Vec<Neighbour>,
    /// Ends of circuits at this node, by stream: which of the machine's clients or servers it is.
    pub(crate) ends: Vec<Option<(CircuitEnd, u32)>>,
    /// The users of the circuits at this node, by circuit.
    pub(crate) users: Vec<u32>,
    /// What the node pays for reading, if it does.
    pub(crate) reading: Option<Reading>,
    /// When the node or what it waits for has something to do.
    pub(crate) due: Instant,
}

/// Where a node's link leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(crate) to: LinkEnd,
    pub(crate) connection: Option<ConnectionEnd>,
}

/// What found the uplink full.
#[derive(Clone, Debug, Default)]
struct UplinkQueue {
    /// When the uplink will have room, if something waits for it.
    room_at: Option<Instant>,
    /// Connections with segments to send.
    connections: VecDeque<ConnectionEnd>,
    /// Whose turn it is: 0 for the connections, then the nodes by position.
    turn: u16,
}

/// Whose turn it is to use the uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Connections,
    /// The node at a position.
    Node(u16),
}

impl Node {
    pub(crate) fn new(host: Box<dyn Host<Simulated>>, reading: Option<Reading>) -> Self {
        Self {
            host,
            links: Vec::new(),
            ends: Vec::new(),
            users: Vec::new(),
            reading,
            due: Instant::FAR_FUTURE,
        }
    }
}

impl Node {
    /// Opens a user's circuit.
    pub(crate) fn open_circuit(&mut self, user: u32, circuit: &CircuitSpec) -> CircuitHandle {
        let handle = self.host.open_circuit(circuit);
        if self.users.len() <= handle.index() {
            self.users.resize(handle.index() + 1, u32::MAX);
        }
        self.users[handle.index()] = user;
        handle
    }

    /// Makes sure that the node's timer expires at `time` or before.
    pub(crate) fn wake_by(&mut self, time: Instant) {
        self.due = self.due.min(time);
    }
}

impl Machine {
    pub(crate) fn new(name: String, number: u32, [up, down]: [Pipe; 2], first: Node) -> Self {
        Self {
            name,
            number,
            up,
            down,
            departed: 0,
            first,
            others: Vec::new(),
            queue: UplinkQueue::default(),
            queues: None,
            tracer: None,
        }
    }

    /// Adds a node behind the others.
    pub(crate) fn add_node(&mut self, node: Node) {
        self.others.push(node);
    }

    #[inline]
    pub(crate) fn node(&self, position: u16) -> &Node {
        match position {
            0 => &self.first,
            _ => &self.others[usize::from(position) - 1],
        }
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, position: u16) -> &mut Node {
        match position {
            0 => &mut self.first,
            _ => &mut self.others[usize::from(position) - 1],
        }
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// How many nodes there are besides the first.
    #[inline]
    pub(crate) const fn others(&self) -> u16 {
        self.others.len() as u16
    }

    /// Sends a datagram of the frames at hand, which take `len` bytes.
    #[inline]
    pub(crate) fn send_datagram(&mut self, to: LinkEnd, len: Bytes, shared: &mut Shared) {
        let packet = shared.packets.datagram(to, len, &mut shared.frames);
        self.send(packet, shared);
    }

    /// Sends a packet.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet, shared: &mut Shared) {
        self.sample_up(shared.now);
        if let Some(tracer) = &mut self.tracer {
            tracer.on_packet(shared.now, packet, &shared.packets, Way::Sent);
        }
        self.up.send(shared.now, packet, &mut shared.packets);
        self.depart(shared);
    }

    /// Lets packets leave the uplink's queue whose time has come.
    pub(crate) fn serve_up(&mut self, shared: &mut Shared) {
        self.sample_up(shared.now);
        self.up.serve(shared.now, &mut shared.packets);
        self.depart(shared);
    }

    /// Samples the uplink's queue at all times before `limit`, with all that happened there until then.
    #[inline]
    pub(crate) fn sample_up(&mut self, limit: Instant) {
        let Some(queues) = &mut self.queues else {
            return;
        };
        while queues.up.next < limit {
            queues.up.sample(self.up.link());
        }
    }

    /// Samples the downlink's queue at all times before `limit`, or up to it.
    pub(crate) fn sample_down(&mut self, (limit, inclusive): (Instant, bool), shared: &mut Shared) {
        let Some(queues) = &mut self.queues else {
            return;
        };
        let (series, down) = (&mut queues.down, &mut self.down);
        while (series.next < limit || inclusive && series.next == limit)
            && series.next <= shared.end
        {
            down.serve(series.next, &mut shared.packets);
            series.sample(down.link());
        }
    }

    /// Passes on what has left the uplink's queue: when it will arrive is known.
    #[inline]
    fn depart(&mut self, shared: &mut Shared) {
        while let Some((at, packet)) = self.up.take_departed(shared.end) {
            let order = self.departed;
            self.departed += 1;
            let router = shared.routes.router_of(self.number as usize);
            let mut arrival = Arrival {
                at,
                via: 0,
                from: self.number,
                order,
                packet,
            };
            match shared.routes.path(router, packet.to.node.machine()) {
                Path::Here => {}
                Path::Delay(delay, last) => {
                    arrival.at += delay;
                    arrival.via = last + 1;
                }
                Path::Trunk(_) => {
                    shared.out.entries.push(arrival);
                    continue;
                }
            }
            shared.out.arrivals.push(arrival);
        }
    }

    /// When the uplink has room again, if it is full or others wait for it already.
    pub(crate) fn full_until(&self, now: Instant) -> Option<Instant> {
        self.queue.room_at.or_else(|| self.up.room_at(now))
    }

    /// Notes that a node found the uplink full.
    ///
    /// The timer of the first node serves the uplink. The first node itself sets it after sending.
    pub(crate) fn stop_node(&mut self, position: u16, until: Instant) {
        self.queue.room_at = Some(until);
        if position > 0 {
            self.first.wake_by(until);
        }
    }

    /// Notes that a connection found the uplink full.
    #[cold]
    pub(crate) fn stop_connection(&mut self, end: ConnectionEnd, until: Instant) {
        self.queue.room_at = Some(until);
        if !self.queue.connections.contains(&end) {
            self.queue.connections.push_back(end);
        }
        self.first.wake_by(until);
    }

    /// Takes the first of the connections that wait for the uplink.
    pub(crate) fn next_connection(&mut self) -> Option<ConnectionEnd> {
        self.queue.connections.pop_front()
    }

    /// Lets a connection wait for its next turn.
    pub(crate) fn requeue(&mut self, end: ConnectionEnd) {
        self.queue.connections.push_back(end);
    }

    /// Lets a connection keep its turn until the uplink has room.
    pub(crate) fn keep_turn(&mut self, end: ConnectionEnd, until: Instant) {
        self.queue.connections.push_front(end);
        self.queue.room_at = Some(until);
    }

    /// Whether the wait for the uplink is over when a node's timer expires; if so, forgets it.
    pub(crate) fn take_room(&mut self, position: u16, now: Instant) -> bool {
        position == 0 && self.queue.room_at.take_if(|at| *at <= now).is_some()
    }

    /// Passes the turn on and returns who has it.
    pub(crate) fn next_turn(&mut self) -> Turn {
        let turn = self.queue.turn;
        self.queue.turn = (turn + 1) % self.turns();
        turn.checked_sub(1).map_or(Turn::Connections, Turn::Node)
    }

    /// How many turns there are until all have had theirs.
    pub(crate) const fn turns(&self) -> u16 {
        self.others() + 2
    }

    /// Sets when a node's timer expires.
    #[inline]
    pub(crate) fn set_timer(&mut self, position: u16, now: Instant) {
        let room_at = self.queue.room_at.filter(|_| position == 0);
        let node = self.node_mut(position);
        let tokens_at = node.reading.as_ref().and_then(Reading::ready_at);
        let timeout = node.host.poll_timeout();
        let next = [room_at, tokens_at]
            .into_iter()
            .flatten()
            .fold(timeout, Instant::min);
        node.due = next.max(now);
    }
}

#[cfg(test)]
mod tests {
    use hopflow_netem::LinkConfig;
    use hopflow_overlay::NodeEnv;
    use hopflow_random::Streams;
    use hopflow_units::{Duration, NodeId};

    use super::*;

    /// A machine with two nodes.
    fn machine() -> Machine {
        let factory = hopflow_transports::build::<Simulated>("vanilla", &toml::Table::new());
        let factory = factory.expect("presets can be built");
        let env = NodeEnv {
            node: NodeId::new(0),
            bucket: None,
            access: None,
            phase: 0.0,
        };
        let [first, second] = [0, 1].map(|_| Node::new(factory.node(&env), None));
        let pipes = [0, 1].map(|_| {
            let config = LinkConfig::pure_delay(Duration::ZERO);
            Pipe::new(config, Streams::new(1).stream("test", 0))
        });
        let mut machine = Machine::new("machine".to_owned(), 0, pipes, first);
        machine.add_node(second);
        machine
    }

    #[test]
    fn connections_and_nodes_take_turns() {
        let mut machine = machine();
        let round = [Turn::Connections, Turn::Node(0), Turn::Node(1)];
        for turn in round.into_iter().chain(round) {
            assert_eq!(machine.next_turn(), turn);
        }
    }

    #[test]
    fn the_first_node_wakes_when_the_uplink_of_any_has_room() {
        let mut machine = machine();
        let until = Instant::from_nanos(5);
        machine.stop_node(1, until);
        assert_eq!(machine.full_until(Instant::ZERO), Some(until));
        assert_eq!(machine.node(0).due, until);
        assert_eq!(machine.node(1).due, Instant::FAR_FUTURE);
        assert!(!machine.take_room(1, until), "the first node serves it");
        assert!(machine.take_room(0, until));
        assert_eq!(machine.full_until(until), None);
    }

    #[test]
    fn a_connection_that_finds_the_uplink_full_keeps_its_place() {
        let mut machine = machine();
        let [first, second] = [0, 2].map(ConnectionEnd::new);
        let until = Instant::from_nanos(5);
        for end in [first, second, first] {
            machine.stop_connection(end, until);
        }
        assert_eq!(machine.next_connection(), Some(first));
        machine.keep_turn(first, until);
        assert_eq!(machine.next_connection(), Some(first));
        machine.requeue(first);
        assert_eq!(machine.next_connection(), Some(second));
        assert_eq!(machine.next_connection(), Some(first));
        assert_eq!(machine.next_connection(), None);
    }
}
