//! What an observer of a circuit's ends sees.

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, Duration, Instant};

use super::index::Sender;
use crate::outcome::{Tally, TraceBin, Vantage};
use crate::payload::Simulated;
use crate::world::address::CircuitEnd;
use crate::world::users::{Leg, User};

/// Counts what passes the two places of each circuit, in bins of time.
#[derive(Debug)]
pub(super) struct TraceRecorder {
    from: Instant,
    interval: Duration,
    /// For each machine, the circuit whose client is alone there.
    clients: Vec<Option<u32>>,
    /// The bin that is being filled, for each circuit and place.
    open: Vec<[Option<TraceBin>; 2]>,
    bins: Vec<TraceBin>,
}

impl TraceRecorder {
    pub(super) fn new(users: &[User], machines: usize, from: Instant, interval: Duration) -> Self {
        Self {
            from,
            interval,
            clients: lone_clients(users, machines),
            open: vec![[None; 2]; users.len()],
            bins: Vec::new(),
        }
    }

    /// Notes a packet between a machine and its router.
    pub(super) fn on_wire(
        &mut self,
        now: Instant,
        machine: usize,
        direction: Direction,
        size: Bytes,
    ) {
        if let Some(circuit) = self.clients[machine] {
            self.count((now, circuit), Vantage::Entry, direction, size);
        }
    }

    /// Notes that a node sends a cell.
    pub(super) fn on_sent(&mut self, now: Instant, sender: &Sender, cell: &Simulated) {
        if sender.direction == Direction::Backward && sender.hop == 0 {
            self.at_exit(now, sender.user, Direction::Backward, cell);
        }
    }

    /// Notes a cell that an exit sends, or takes off its circuit.
    pub(super) fn at_exit(
        &mut self,
        now: Instant,
        circuit: u32,
        direction: Direction,
        cell: &Simulated,
    ) {
        let bytes = Bytes::new(u64::from(cell.len()));
        self.count((now, circuit), Vantage::Exit, direction, bytes);
    }

    fn count(
        &mut self,
        (now, circuit): (Instant, u32),
        place: Vantage,
        direction: Direction,
        size: Bytes,
    ) {
        if now < self.from {
            return;
        }
        let elapsed = now.saturating_since(self.from).as_nanos();
        let begun = elapsed - elapsed % self.interval.as_nanos();
        let at = self.from + Duration::from_nanos(begun);
        let open = &mut self.open[circuit as usize][place as usize];
        if open.is_some_and(|bin| bin.at != at) {
            self.bins.extend(open.take());
        }
        let bin = open.get_or_insert(TraceBin {
            circuit,
            place,
            at,
            up: Tally::default(),
            down: Tally::default(),
        });
        let tally = match direction {
            Direction::Forward => &mut bin.up,
            Direction::Backward => &mut bin.down,
        };
        tally.packets += 1;
        tally.bytes += size;
    }

    /// All bins, ordered by circuit, then place, then time.
    pub(super) fn finish(self) -> Vec<TraceBin> {
        let mut bins = self.bins;
        bins.extend(self.open.into_iter().flatten().flatten());
        bins.sort_by_key(|bin| (bin.circuit, bin.place, bin.at));
        bins
    }
}

/// For each machine, the circuit whose client has the machine for itself.
fn lone_clients(users: &[User], machines: usize) -> Vec<Option<u32>> {
    let mut circuits = vec![0; machines];
    let mut clients = vec![None; machines];
    for user in users {
        let hops = user.legs().iter().flat_map(Leg::hops);
        let mut nodes: Vec<_> = hops.map(|(node, _)| *node).collect();
        nodes.sort();
        nodes.dedup();
        for node in nodes {
            circuits[node.machine()] += 1;
        }
        let (client, _) = user.end(CircuitEnd::Client);
        clients[client.machine()] = Some(user.number());
    }
    let alone = clients.into_iter().zip(circuits);
    alone
        .map(|(user, circuits)| user.filter(|_| circuits == 1))
        .collect()
}
