//! Recording what happens.

mod index;
mod latency;
mod legs;
mod queues;
mod samples;
mod traces;

use hopflow_overlay::{Direction, NodeCounters};
use hopflow_units::{Bytes, Cells, Duration, Instant};
use hopflow_wire::Frame;

use self::index::SenderIndex;
use self::latency::LatencyRecorder;
use self::legs::LegRecorder;
use self::queues::QueueRecorder;
use self::samples::{Sampler, packaged};
use self::traces::TraceRecorder;
use super::address::{CircuitEnd, LinkEnd};
use super::connections::Connections;
use super::cross::CrossFlow;
use super::machine::Machine;
use super::timeline::Timeline;
use super::users::{Journal, User};
use crate::engine::Slot;
use crate::outcome::{Counters, NodeOutcome, Outcome};
use crate::payload::Simulated;
use crate::spec::Sampling;

/// All that is recorded while the simulation runs.
///
/// Some of it is recorded only on request: a run without costs one branch for each packet that a
/// node sends.
#[derive(Debug)]
pub(crate) struct Recorders {
    /// The sampler's place in the agenda.
    slot: Slot,
    /// When recording begins.
    from: Instant,
    pub(crate) journal: Journal,
    sampler: Sampler,
    /// Whose cells nodes send, if a recorder wants to know.
    index: Option<SenderIndex>,
    latency: Option<LatencyRecorder>,
    legs: Option<LegRecorder>,
    traces: Option<TraceRecorder>,
    queues: Option<QueueRecorder>,
}

impl Recorders {
    /// The recorders that a specification asks for. The use of legs is recorded if a user has
    /// several.
    pub(crate) fn new(
        sampling: &Sampling,
        users: &[User],
        slot: Slot,
        timeline: &mut Timeline,
    ) -> Self {
        let several = users.iter().any(|user| user.legs().len() > 1);
        let recorders = Self {
            slot,
            from: Instant::ZERO + sampling.from,
            journal: Journal::default(),
            sampler: Sampler::new(sampling),
            index: several.then(|| SenderIndex::new(users)),
            latency: None,
            legs: several.then(LegRecorder::default),
            traces: None,
            queues: None,
        };
        recorders.set_sampler(timeline);
        recorders
    }

    /// Records latencies of cells, too.
    pub(crate) fn add_latency(&mut self, users: &[User]) {
        self.index.get_or_insert_with(|| SenderIndex::new(users));
        self.latency = Some(LatencyRecorder::new(users.len(), self.from));
    }

    /// Records what observers see, too.
    pub(crate) fn add_traces(&mut self, users: &[User], machines: usize, interval: Duration) {
        self.index.get_or_insert_with(|| SenderIndex::new(users));
        self.traces = Some(TraceRecorder::new(users, machines, self.from, interval));
    }

    /// Samples queues, too.
    pub(crate) fn add_queues(
        &mut self,
        machines: usize,
        interval: Duration,
        timeline: &mut Timeline,
    ) {
        self.queues = Some(QueueRecorder::new(interval, self.from, machines));
        self.set_sampler(timeline);
    }

    /// Takes the samples that are due.
    pub(crate) fn sample(&mut self, users: &[User], machines: &[Machine], timeline: &mut Timeline) {
        self.sampler.sample(timeline.now(), users, machines);
        if let Some(queues) = &mut self.queues {
            queues.sample(timeline.now(), machines);
        }
        self.set_sampler(timeline);
    }

    /// Sets when something is to be sampled next.
    fn set_sampler(&self, timeline: &mut Timeline) {
        let queues = self.queues.as_ref().map(QueueRecorder::next);
        let next = self.sampler.next().into_iter().chain(queues).min();
        timeline.set(self.slot, next);
    }

    /// Notes that a node sends `frames` on a link.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, from: LinkEnd, frames: &[Frame<Simulated>]) {
        if self.index.is_some() {
            self.on_sent_cells(now, from, frames);
        }
    }

    fn on_sent_cells(&mut self, now: Instant, from: LinkEnd, frames: &[Frame<Simulated>]) {
        let Some(index) = &self.index else { return };
        for frame in frames {
            let Frame::Cell(cell) = frame else { continue };
            if cell.payload.is_empty() {
                continue;
            }
            let Some(sender) = index.get(from, cell.circuit) else {
                continue;
            };
            if let Some(latency) = &mut self.latency {
                latency.on_sent(now, sender, &cell.payload);
            }
            if let Some(legs) = &mut self.legs {
                legs.on_sent(now, sender);
            }
            if let Some(traces) = &mut self.traces {
                traces.on_sent(now, sender, &cell.payload);
            }
        }
    }

    /// Notes that a user's cell was delivered at an end.
    #[inline]
    pub(crate) fn on_delivered(
        &mut self,
        now: Instant,
        user: &User,
        end: CircuitEnd,
        cell: &Simulated,
    ) {
        if let Some(latency) = &mut self.latency
            && end.incoming() == user.measured()
        {
            latency.on_delivered(now, user.number(), cell);
        }
        if let Some(traces) = &mut self.traces
            && end == CircuitEnd::Exit
        {
            traces.at_exit(now, user.number(), Direction::Forward, cell);
        }
    }

    /// Notes a packet between a machine and its router.
    #[inline]
    pub(crate) fn on_wire(
        &mut self,
        now: Instant,
        machine: usize,
        direction: Direction,
        size: Bytes,
    ) {
        if let Some(traces) = &mut self.traces {
            traces.on_wire(now, machine, direction, size);
        }
    }

    /// Everything that was recorded.
    pub(crate) fn finish(
        self,
        users: &[User],
        machines: &[Machine],
        connections: &Connections,
        events: u64,
    ) -> Outcome {
        let of_user = |user: &User| user.outcome(packaged(user, machines));
        let nodes = machines.iter().flat_map(Machine::nodes);
        let cell_hops = nodes.map(|node| node.host.counters().cells_sent).sum();
        let queues = self.queues.map(|queues| queues.finish(machines));
        Outcome {
            downloads: self.journal.downloads,
            circuits: users.iter().map(of_user).collect(),
            samples: self.sampler.samples,
            hops: self.sampler.hop_samples,
            metrics: self.sampler.metrics,
            legs: self.legs.map_or(Vec::new(), LegRecorder::finish),
            latencies: self.latency.map_or(Vec::new(), LatencyRecorder::finish),
            traces: self.traces.map_or(Vec::new(), TraceRecorder::finish),
            visits: self.journal.visits,
            nodes: machines.iter().map(node_outcome).collect(),
            queues: queues.unwrap_or_default(),
            cross: connections
                .flows()
                .iter()
                .map(CrossFlow::measured)
                .collect(),
            counters: Counters { events, cell_hops },
        }
    }
}

/// What the nodes on one machine did together.
fn node_outcome(machine: &Machine) -> NodeOutcome {
    let counters: Vec<_> = machine.nodes().map(|node| node.host.counters()).collect();
    let sum = |of: fn(&NodeCounters) -> u64| Cells::new(counters.iter().map(of).sum());
    let largest_queue = counters.iter().map(|counters| counters.largest_queue).max();
    let (up, down) = (machine.up.link().counters(), machine.down.link().counters());
    NodeOutcome {
        name: machine.name.clone(),
        cells_sent: sum(|counters| counters.cells_sent),
        cells_retransmitted: sum(|counters| counters.cells_resent),
        cells_dropped: sum(|counters| counters.cells_dropped),
        drops_up: up.dropped(),
        drops_down: down.dropped(),
        bytes_up: up.bytes,
        largest_queue: Cells::new(largest_queue.unwrap_or(0)),
    }
}
