//! Several transports in one world: on each machine a node for every transport that runs there.
//!
//! The nodes of one machine share its access link, in both directions, with all its queues. When
//! the uplink is full and has room again, they take turns: each node sends a datagram, and all
//! connections of the machine together a segment.

use hopflow_overlay::Factory;
use hopflow_units::Instant;

use super::{Node, Source, World};
use crate::payload::Simulated;
use crate::spec::{SpecError, WorldSpec};

/// Which transport each circuit has.
#[derive(Clone, Debug)]
pub struct Deployment<'a> {
    transports: Vec<&'a dyn Factory<Simulated>>,
    /// The transport of each circuit, by its position.
    of_circuit: Vec<u32>,
}

impl<'a> Deployment<'a> {
    /// All circuits have one transport.
    pub fn uniform(transport: &'a dyn Factory<Simulated>, spec: &WorldSpec) -> Self {
        Self {
            transports: vec![transport],
            of_circuit: vec![0; spec.circuits.len()],
        }
    }

    /// Circuits whose number `upgraded` holds for have the second transport, all others the first.
    ///
    /// A transport that no circuit has runs nowhere: with all circuits alike the world is that of
    /// the one transport.
    pub fn mixed(
        [old, new]: [&'a dyn Factory<Simulated>; 2],
        spec: &WorldSpec,
        upgraded: impl Fn(usize) -> bool,
    ) -> Self {
        let of_circuit: Vec<_> = (0..spec.circuits.len())
            .map(|circuit| u32::from(upgraded(circuit)))
            .collect();
        let alike = of_circuit.windows(2).all(|pair| pair[0] == pair[1]);
        match of_circuit.first() {
            Some(1) if alike => Self::uniform(new, spec),
            _ if alike => Self::uniform(old, spec),
            _ => Self {
                transports: vec![old, new],
                of_circuit,
            },
        }
    }

    pub(super) fn transports(&self) -> &[&'a dyn Factory<Simulated>] {
        &self.transports
    }

    /// The transport of a circuit.
    pub(super) fn of(&self, circuit: usize) -> usize {
        self.of_circuit[circuit] as usize
    }

    pub(super) fn check(&self, spec: &WorldSpec) -> Result<(), SpecError> {
        if self.of_circuit.len() == spec.circuits.len() {
            return Ok(());
        }
        let (known, circuits) = (self.of_circuit.len(), spec.circuits.len());
        Err(SpecError(format!(
            "the transports of {known} circuits are known; there are {circuits}"
        )))
    }

    /// How many circuits of each transport lead over each node.
    pub(super) fn circuits_at(&self, spec: &WorldSpec) -> Vec<Vec<u64>> {
        let mut counts = vec![vec![0; self.transports.len()]; spec.nodes.len()];
        for (number, circuit) in spec.circuits.iter().enumerate() {
            for node in circuit.paths().flatten() {
                counts[node.index()][self.of(number)] += 1;
            }
        }
        counts
    }
}

impl World {
    /// The node whose access link a node uses.
    #[inline]
    pub(super) fn home(&self, node: usize) -> usize {
        self.nodes[node].home as usize
    }

    /// The first node of each machine.
    pub(super) fn machines(&self) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(number, node)| node.home as usize == *number)
            .map(|(_, node)| node)
    }

    /// Lets the other nodes of a machine say and send what they have.
    #[inline]
    pub(super) fn pump_guests(&mut self, home: usize) {
        for guest in 0..self.nodes[home].guests.len() {
            self.pump(self.nodes[home].guests[guest] as usize);
        }
    }

    /// Notes that a node found its machine's uplink full until then.
    pub(super) fn stop_at_uplink(&mut self, node: usize, until: Instant) {
        let home = self.home(node);
        self.nodes[home].room_at = Some(until);
        if home != node {
            self.wake_by(home, until);
        }
    }

    /// Makes sure that a node's timer expires by then.
    pub(super) fn wake_by(&mut self, node: usize, at: Instant) {
        let slot = self.slot(Source::Node(node));
        let next = self
            .agenda
            .time_of(slot)
            .map_or(at, |timeout| timeout.min(at));
        self.agenda.set(slot, Some(next));
    }

    /// Lets all that waits for a machine's uplink send in turn, until it is full again.
    pub(super) fn serve_uplink(&mut self, home: usize) {
        let guests = self.nodes[home].guests.len();
        if guests == 0 {
            return self.serve_waiting(home);
        }
        // The machine's connections, its first node, and each guest have a turn.
        let turns = guests + 2;
        let mut idle = 0;
        while idle < turns {
            if let Some(at) = self.nodes[home].up.room_at(self.now) {
                return self.stop_at_uplink(home, at);
            }
            let turn = self.nodes[home].turn;
            self.nodes[home].turn = (turn + 1) % turns;
            let sent = match turn.checked_sub(2) {
                Some(guest) => self.transmit_next(self.nodes[home].guests[guest] as usize),
                None if turn == 1 => self.transmit_next(home),
                None => self.serve_next_waiting(home),
            };
            idle = if sent { 0 } else { idle + 1 };
        }
        self.pump_guests(home);
    }
}
