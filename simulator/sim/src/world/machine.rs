//! Machines: an access link and the nodes that share it.
//!
//! A machine runs a node for every transport in use there. They share its access link, in both
//! directions, with all its queues. When the uplink is full and has room again, they take turns:
//! each node sends a datagram, and all connections of the machine together a segment.

use std::collections::VecDeque;

use hopflow_overlay::Host;
use hopflow_units::{Bytes, Instant};

use super::address::{CircuitEnd, ConnectionEnd, LinkEnd};
use super::pipe::Pipe;
use super::reading::Reading;
use super::shared::Shared;
use crate::engine::Slot;
use crate::payload::Simulated;

/// An access link to a router, and the overlay nodes behind it.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) up: Pipe,
    pub(crate) down: Pipe,
    /// The node at position 0; apart from the others because most machines have no other.
    first: Node,
    others: Vec<Node>,
    queue: UplinkQueue,
}

/// An overlay node and what it has to do with the rest of the world.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) host: Box<dyn Host<Simulated>>,
    /// What its links lead to, by link.
    pub(crate) links: Vec<Neighbour>,
    /// Ends of circuits at this node, by stream: the user and which end it is.
    pub(crate) ends: Vec<Option<(u32, CircuitEnd)>>,
    /// What the node pays for reading, if it does.
    pub(crate) reading: Option<Reading>,
    pub(crate) timer: Slot,
}

/// Where a node's link leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(crate) to: LinkEnd,
    pub(crate) connection: Option<ConnectionEnd>,
}

/// What found the uplink full.
#[derive(Debug, Default)]
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
    pub(crate) fn new(
        host: Box<dyn Host<Simulated>>,
        reading: Option<Reading>,
        timer: Slot,
    ) -> Self {
        Self {
            host,
            links: Vec::new(),
            ends: Vec::new(),
            reading,
            timer,
        }
    }
}

impl Machine {
    pub(crate) fn new(name: String, up: Pipe, down: Pipe, first: Node) -> Self {
        Self {
            name,
            up,
            down,
            first,
            others: Vec::new(),
            queue: UplinkQueue::default(),
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
        let packet = shared.packets.datagram(to, len, &shared.frames);
        shared.frames.clear();
        self.up.send(packet, shared);
    }

    /// When the uplink has room again, if it is full or others wait for it already.
    pub(crate) fn full_until(&self, now: Instant) -> Option<Instant> {
        self.queue.room_at.or_else(|| self.up.room_at(now))
    }

    /// Notes that a node found the uplink full.
    ///
    /// The timer of the first node serves the uplink. The first node itself sets it after sending.
    pub(crate) fn stop_node(&mut self, position: u16, until: Instant, shared: &mut Shared) {
        self.queue.room_at = Some(until);
        if position > 0 {
            shared.timeline.wake_by(self.first.timer, until);
        }
    }

    /// Notes that a connection found the uplink full.
    #[cold]
    pub(crate) fn stop_connection(
        &mut self,
        end: ConnectionEnd,
        until: Instant,
        shared: &mut Shared,
    ) {
        self.queue.room_at = Some(until);
        if !self.queue.connections.contains(&end) {
            self.queue.connections.push_back(end);
        }
        shared.timeline.wake_by(self.first.timer, until);
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
    pub(crate) fn set_timer(&mut self, position: u16, shared: &mut Shared) {
        let room_at = self.queue.room_at.filter(|_| position == 0);
        let node = self.node(position);
        let tokens_at = node.reading.as_ref().and_then(Reading::ready_at);
        let timeout = node.host.poll_timeout();
        let next = [room_at, tokens_at]
            .into_iter()
            .flatten()
            .fold(timeout, Instant::min)
            .max(shared.now());
        shared.timeline.set(node.timer, Some(next));
    }
}

#[cfg(test)]
mod tests {
    use hopflow_netem::LinkConfig;
    use hopflow_overlay::NodeEnv;
    use hopflow_random::Streams;
    use hopflow_units::{Duration, NodeId};

    use super::*;
    use crate::world::slots::Slots;
    use crate::world::timeline::{EventSource, Timeline};

    /// A machine with two nodes.
    fn machine() -> (Machine, Shared) {
        let mut timeline = Timeline::new();
        let slots = Slots::new(&mut timeline, &[2], 0);
        let factory = hopflow_transports::build::<Simulated>("vanilla", &toml::Table::new());
        let factory = factory.expect("presets can be built");
        let env = NodeEnv {
            node: NodeId::new(0),
            bucket: None,
            access: None,
            phase: 0.0,
        };
        let [first, second] = [0, 1]
            .map(|position: usize| Node::new(factory.node(&env), None, slots.nodes[0][position]));
        let pipe = |slot| {
            let config = LinkConfig::pure_delay(Duration::ZERO);
            Pipe::new(config, Streams::new(1).stream("test", 0), slot)
        };
        let (up, down) = (pipe(slots.up[0]), pipe(slots.down[0]));
        let mut machine = Machine::new("machine".to_owned(), up, down, first);
        machine.add_node(second);
        (machine, Shared::new(timeline))
    }

    #[test]
    fn connections_and_nodes_take_turns() {
        let (mut machine, _) = machine();
        let round = [Turn::Connections, Turn::Node(0), Turn::Node(1)];
        for turn in round.into_iter().chain(round) {
            assert_eq!(machine.next_turn(), turn);
        }
    }

    #[test]
    fn the_first_node_wakes_when_the_uplink_of_any_has_room() {
        let (mut machine, mut shared) = machine();
        let until = Instant::from_nanos(5);
        machine.stop_node(1, until, &mut shared);
        assert_eq!(machine.full_until(shared.now()), Some(until));
        let event = shared.timeline.advance(Instant::FAR_FUTURE);
        let EventSource::Node(node) = event.expect("a timer is set") else {
            panic!("{event:?}");
        };
        assert_eq!((node.position, shared.now()), (0, until));
        assert!(!machine.take_room(1, until), "the first node serves it");
        assert!(machine.take_room(0, until));
        assert_eq!(machine.full_until(until), None);
    }

    #[test]
    fn a_connection_that_finds_the_uplink_full_keeps_its_place() {
        let (mut machine, mut shared) = machine();
        let [first, second] = [0, 2].map(ConnectionEnd::new);
        let until = Instant::from_nanos(5);
        for end in [first, second, first] {
            machine.stop_connection(end, until, &mut shared);
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
