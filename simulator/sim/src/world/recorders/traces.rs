//! What somebody who watches a circuit's ends sees, for those who ask.
//!
//! Kept beside the recorder, as latencies are: a run that does not ask pays a branch per packet.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, CircuitId, Duration, Instant, LinkId};
use hopflow_wire::Frame;

use super::users::User;
use super::{End, World};
use crate::outcome::{Tally, TraceBin, Vantage};
use crate::payload::Simulated;

/// Counts what passes the two places of each circuit, in bins of time.
#[derive(Debug)]
pub(super) struct TraceRecorder {
    from: Instant,
    interval: Duration,
    /// Of each node, the circuit whose client is alone on that machine.
    clients: Vec<Option<u32>>,
    /// Circuits by the names that their exits send them under.
    exits: BTreeMap<(u32, LinkId, CircuitId), u32>,
    /// The bin that is being filled, for each circuit and place.
    open: Vec<[Option<TraceBin>; 2]>,
    bins: Vec<TraceBin>,
}

impl TraceRecorder {
    fn new(world: &World, interval: Duration) -> Self {
        let users = &world.users;
        let exits = |(user, number): (&'_ User, u32)| {
            let ways = user.ways.iter();
            let names = ways.map(|way| (way.source(Direction::Backward), number));
            names.collect::<Vec<_>>()
        };
        Self {
            from: Instant::ZERO + world.recorder.from(),
            interval,
            clients: lone_clients(world),
            exits: users.iter().zip(0..).flat_map(exits).collect(),
            open: vec![[None; 2]; users.len()],
            bins: Vec::new(),
        }
    }

    /// Notes a packet between a client's machine and its router.
    fn on_wire(&mut self, now: Instant, home: usize, direction: Direction, size: Bytes) {
        if let Some(circuit) = self.clients[home] {
            self.count((now, circuit), Vantage::Entry, direction, size);
        }
    }

    /// Notes the cells of data among frames that leave a node.
    fn leaving(&mut self, now: Instant, (node, link): (u32, LinkId), frames: &[Frame<Simulated>]) {
        for frame in frames {
            let Frame::Cell(cell) = frame else { continue };
            if cell.payload.is_empty() {
                continue;
            }
            if let Some(&circuit) = self.exits.get(&(node, link, cell.circuit)) {
                self.at_exit(now, circuit, Direction::Backward, &cell.payload);
            }
        }
    }

    fn at_exit(&mut self, now: Instant, circuit: u32, direction: Direction, cell: &Simulated) {
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

/// Of each node, the circuit whose client has the machine for itself.
fn lone_clients(world: &World) -> Vec<Option<u32>> {
    let mut ends = vec![0; world.nodes.len()];
    let mut clients = vec![None; world.nodes.len()];
    for (user, number) in world.users.iter().zip(0..) {
        let mut nodes: Vec<_> = user.ways.iter().flat_map(|way| &way.hops).collect();
        nodes.sort_by_key(|(node, _)| *node);
        nodes.dedup_by_key(|(node, _)| *node);
        for (node, _) in nodes {
            ends[world.home(*node as usize)] += 1;
        }
        let client = user.ways[0].end(End::Client).0;
        clients[world.home(client as usize)] = Some(number);
    }
    let alone = clients.into_iter().zip(ends);
    alone
        .map(|(user, ends)| user.filter(|_| ends == 1))
        .collect()
}

impl World {
    /// Makes the world record what an observer sees of each circuit, in bins of `interval` from the
    /// time on at which recording begins ([`Sampling::from`](crate::spec::Sampling::from)).
    ///
    /// Must be called before the world runs.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn record_traces(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "bins have a width");
        assert!(self.now == Instant::ZERO, "nothing has been sent");
        self.traces = Some(TraceRecorder::new(self, interval));
    }

    /// Notes a packet between a machine and its router.
    #[inline]
    pub(super) fn trace_wire(&mut self, home: usize, direction: Direction, size: Bytes) {
        if let Some(traces) = &mut self.traces {
            traces.on_wire(self.now, home, direction, size);
        }
    }

    /// Notes that the frames at hand leave a node on a link.
    #[inline]
    pub(super) fn trace_leaving(&mut self, node: usize, link: LinkId) {
        if let Some(traces) = &mut self.traces {
            traces.leaving(self.now, (node as u32, link), &self.frames);
        }
    }

    /// Notes a cell of a request that an exit takes off its circuit.
    #[inline]
    pub(super) fn trace_request(&mut self, circuit: usize, cell: &Simulated) {
        if let Some(traces) = &mut self.traces {
            traces.at_exit(self.now, circuit as u32, Direction::Forward, cell);
        }
    }
}
