//! Recording what happens.

use hopflow_units::{Bytes, Cells, Duration, Instant};

use super::cross::CrossFlow;
use super::latency::LatencyRecorder;
use super::legs::LegRecorder;
use super::traces::TraceRecorder;
use super::{Node, World};
use crate::spec::Sampling;
use crate::{CircuitOutcome, Download, HopSample, NodeOutcome, Outcome, Sample, Visit};

/// What is recorded while the simulation runs.
#[derive(Debug)]
pub(super) struct Recorder {
    circuits: Option<Series>,
    hops: Option<Series>,
    from: Duration,
    pub(super) downloads: Vec<Download>,
    pub(super) visits: Vec<Visit>,
    samples: Vec<Sample>,
    hop_samples: Vec<HopSample>,
}

/// When a regular sample is due.
#[derive(Clone, Copy, Debug)]
struct Series {
    interval: Duration,
    next: Instant,
}

impl Series {
    fn new(interval: Option<Duration>, from: Duration) -> Option<Self> {
        let interval = interval.filter(|interval| !interval.is_zero())?;
        Some(Self {
            interval,
            next: Instant::ZERO + from,
        })
    }

    fn take(series: &mut Option<Self>, now: Instant) -> bool {
        let Some(series) = series else { return false };
        let due = series.next <= now;
        if due {
            series.next += series.interval;
        }
        due
    }
}

impl Recorder {
    pub(super) fn new(sampling: &Sampling) -> Self {
        Self {
            circuits: Series::new(sampling.circuits, sampling.from),
            hops: Series::new(sampling.hops, sampling.from),
            from: sampling.from,
            downloads: Vec::new(),
            visits: Vec::new(),
            samples: Vec::new(),
            hop_samples: Vec::new(),
        }
    }

    /// When recording begins.
    pub(super) const fn from(&self) -> Duration {
        self.from
    }

    /// When the next sample is due.
    pub(super) fn next(&self) -> Option<Instant> {
        [self.circuits, self.hops]
            .into_iter()
            .flatten()
            .map(|series| series.next)
            .min()
    }
}

impl World {
    pub(super) fn sample(&mut self) {
        if Series::take(&mut self.recorder.circuits, self.now) {
            self.sample_circuits();
        }
        if Series::take(&mut self.recorder.hops, self.now) {
            self.sample_hops();
        }
        self.sample_queues();
        self.rearm_sampler();
    }

    fn packaged(&self, user: usize) -> Bytes {
        let (node, stream) = self.users[user].source();
        let view = self.nodes[node].host.stream_view(stream);
        view.map_or(Bytes::ZERO, |view| view.packaged)
    }

    fn sample_circuits(&mut self) {
        for index in 0..self.users.len() {
            let (packaged, delivered) = (self.packaged(index), self.users[index].delivered);
            let sample = Sample {
                at: self.now,
                circuit: index as u32,
                packaged,
                delivered,
            };
            self.recorder.samples.push(sample);
        }
    }

    fn sample_hops(&mut self) {
        for (index, user) in self.users.iter().enumerate() {
            let direction = user.measured;
            let senders = user.ways.iter().flat_map(|way| way.senders(direction));
            for (hop, (node, circuit)) in senders.enumerate() {
                let host = &self.nodes[node as usize].host;
                let Some(view) = host.flow_view(circuit, direction) else {
                    continue;
                };
                self.recorder.hop_samples.push(HopSample {
                    at: self.now,
                    circuit: index as u32,
                    hop: hop as u32,
                    queue: view.queued,
                    outstanding: view.outstanding,
                    window: view.window,
                });
            }
        }
    }

    /// Everything that was recorded.
    pub fn into_outcome(self) -> Outcome {
        let circuits = (0..self.users.len())
            .map(|index| self.circuit_outcome(index))
            .collect();
        let nodes = self
            .machines()
            .map(|node| self.node_outcome(node))
            .collect();
        let mut counters = self.counters;
        counters.cell_hops = self
            .nodes
            .iter()
            .map(|node| node.host.counters().cells_sent)
            .sum();
        let queues = self.queue_outcomes();
        Outcome {
            queues,
            downloads: self.recorder.downloads,
            circuits,
            samples: self.recorder.samples,
            hops: self.recorder.hop_samples,
            legs: self.legs.map_or(Vec::new(), LegRecorder::finish),
            latencies: self.latency.map_or(Vec::new(), LatencyRecorder::finish),
            traces: self.traces.map_or(Vec::new(), TraceRecorder::finish),
            visits: self.recorder.visits,
            nodes,
            cross: self.cross.iter().map(CrossFlow::measured).collect(),
            counters,
        }
    }

    fn circuit_outcome(&self, index: usize) -> CircuitOutcome {
        let user = &self.users[index];
        CircuitOutcome {
            class: user.class,
            hops: user.ways[0].hops.len() as u32 - 1,
            packaged: self.packaged(index),
            delivered: user.delivered,
            delivered_cells: user.delivered_cells,
            latency: user.latency.clone(),
            closed: user.closed,
        }
    }

    /// What the nodes on one machine did together.
    fn node_outcome(&self, home: &Node) -> NodeOutcome {
        let guests = home.guests.iter().map(|guest| &self.nodes[*guest as usize]);
        let counters = || {
            std::iter::once(home)
                .chain(guests.clone())
                .map(|node| node.host.counters())
        };
        NodeOutcome {
            name: home.name.clone(),
            cells_sent: Cells::new(counters().map(|counters| counters.cells_sent).sum()),
            cells_retransmitted: Cells::new(counters().map(|counters| counters.cells_resent).sum()),
            cells_dropped: Cells::new(counters().map(|counters| counters.cells_dropped).sum()),
            drops_up: home.up.counters().dropped(),
            drops_down: home.down.counters().dropped(),
            bytes_up: home.up.counters().bytes,
            largest_queue: Cells::new(
                counters()
                    .map(|counters| counters.largest_queue)
                    .max()
                    .unwrap_or(0),
            ),
        }
    }
}
