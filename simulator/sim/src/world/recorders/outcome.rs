//! The results of all machines as one.

use hopflow_overlay::NodeCounters;
use hopflow_units::{Bytes, Cells, Instant};

use super::breakdown::Lives;
use super::samples::{Sampler, packaged};
use super::{tracer, traces};
use crate::outcome::{
    CircuitOutcome, Counters, Download, Failure, HopSample, Latencies, LegTraffic, MetricSample,
    NewCircuit, NodeOutcome, OpenRequest, Outcome, QueueOutcome, Sample, TraceBin,
};
use crate::trace::{NodeCapture, NodeTrace};
use crate::world::lane::Lane;
use crate::world::machine::{Machine, Node};
use crate::world::users::{Endpoint, Sink};

/// Everything that was recorded at machines, in their order. `circuits` says what was known of each
/// circuit before, `events` how many happened elsewhere.
pub(crate) fn collect(lanes: Vec<Lane>, circuits: Vec<CircuitOutcome>, mut events: u64) -> Outcome {
    let mut all = Collected {
        turns: vec![0; circuits.len()],
        circuits,
        ..Collected::default()
    };
    for lane in lanes {
        events += lane.events;
        all.add(lane);
    }
    all.finish(events)
}

/// What was collected so far.
#[derive(Default)]
struct Collected {
    downloads: Vec<Download>,
    failures: Vec<Failure>,
    rebuilt: Vec<NewCircuit>,
    open: Vec<OpenRequest>,
    visits: Vec<crate::outcome::Visit>,
    circuits: Vec<CircuitOutcome>,
    latencies: Vec<(u32, Latencies)>,
    packaged: Vec<(Instant, u32, u32, Bytes)>,
    delivered: Vec<(Instant, u32, u32, [Bytes; 2])>,
    /// What was packaged at the end of the run: of which user, and on the how manieth of its circuits.
    sources: Vec<(u32, u32, Bytes)>,
    /// How many circuits each user had before its last.
    turns: Vec<u32>,
    hops: Vec<HopSample>,
    metrics: Vec<MetricSample>,
    legs: Vec<LegTraffic>,
    traces: Vec<TraceBin>,
    lives: Lives,
    node_traces: Vec<NodeTrace>,
    captures: Vec<NodeCapture>,
    machines: Vec<OfMachine>,
    cross: Vec<(u32, Bytes)>,
}

/// What is known of one machine.
struct OfMachine {
    node: NodeOutcome,
    queues: Option<[QueueOutcome; 2]>,
    cell_hops: u64,
}

impl Collected {
    fn add(&mut self, lane: Lane) {
        let Lane {
            mut machine,
            mut connections,
            mut clients,
            mut servers,
            mut records,
            ..
        } = lane;
        for client in &mut clients {
            self.add_end(&machine, &client.endpoint, client.sink.as_mut());
        }
        for server in &mut servers {
            server.end(&mut records.journal);
            self.add_end(&machine, &server.endpoint, server.sink.as_mut());
        }
        for user in records.closed {
            self.circuits[user as usize].closed = true;
        }
        self.downloads.extend(records.journal.downloads);
        self.rebuilt.extend(records.rebuilt);
        self.failures.extend(records.journal.failures);
        self.visits.extend(records.journal.visits);
        self.add_samples(records.sampler);
        self.legs
            .extend(records.legs.into_iter().flat_map(|legs| legs.finish()));
        let bins = records
            .traces
            .into_iter()
            .flat_map(|traces| traces.finish());
        self.traces.extend(bins);
        if let Some(breakdown) = records.breakdown {
            self.lives.add(breakdown.finish(&mut connections));
        }
        if let Some(tracer) = machine.tracer.take() {
            let (traces, capture) = tracer.finish(connections.arriving());
            self.node_traces.extend(traces);
            self.captures.extend(capture);
        }
        let flows = connections.flows().map(|flow| (flow.number, flow.measured));
        self.cross.extend(flows);
        let queues = machine.queues.as_ref();
        let links = [machine.up.link(), machine.down.link()];
        self.machines.push(OfMachine {
            queues: queues.map(|queues| queues.finish(links)),
            cell_hops: machine.nodes().map(cells_sent).sum(),
            node: node_outcome(machine),
        });
    }

    /// Notes what is known of a user at one of its ends.
    fn add_end(&mut self, machine: &Machine, endpoint: &Endpoint, sink: Option<&mut Sink>) {
        let Endpoint { user, turn, .. } = *endpoint;
        let circuit = &mut self.circuits[user as usize];
        let Some(sink) = sink else {
            let packaged = packaged(endpoint, machine);
            self.sources.push((user, turn, packaged));
            return;
        };
        self.turns[user as usize] = sink.turn;
        circuit.packaged += sink.before;
        circuit.delivered = sink.bytes;
        circuit.delivered_cells = sink.cells;
        circuit.latency = std::mem::take(&mut sink.latency);
        self.open.extend(sink.open());
        let latencies = sink.latencies().map(|latencies| (user, latencies));
        self.latencies.extend(latencies);
    }

    fn add_samples(&mut self, sampler: Option<Box<Sampler>>) {
        let Some(sampler) = sampler else { return };
        self.packaged.extend(sampler.packaged);
        self.delivered.extend(sampler.delivered);
        self.hops.extend(sampler.hop_samples);
        self.metrics.extend(sampler.metrics);
    }

    fn finish(mut self, events: u64) -> Outcome {
        // Of what is simultaneous, that of the first machine comes first: the sort is stable.
        self.downloads
            .sort_by_key(|download| download.requested + download.ttlb);
        let breakdown = self.lives.breakdown(&self.downloads);
        self.failures
            .sort_by_key(|failure| (failure.failed, failure.circuit));
        self.rebuilt
            .sort_by_key(|rebuilt| (rebuilt.ready, rebuilt.circuit));
        self.open.sort_by_key(|open| open.circuit);
        self.visits
            .sort_by_key(|visit| (visit.begin, visit.circuit));
        self.latencies.sort_by_key(|(user, _)| *user);
        self.hops
            .sort_by_key(|sample| (sample.at, sample.circuit, sample.hop));
        self.metrics
            .sort_by_key(|sample| (sample.at, sample.circuit, sample.hop));
        self.legs
            .sort_by_key(|used| (used.circuit, used.leg, used.hop));
        self.cross.sort_unstable();
        self.add_sources();
        let samples = self.samples();
        let cell_hops = self.machines.iter().map(|machine| machine.cell_hops).sum();
        let (nodes, queues): (Vec<_>, Vec<_>) = self
            .machines
            .into_iter()
            .map(|machine| (machine.node, machine.queues))
            .unzip();
        Outcome {
            downloads: self.downloads,
            failures: self.failures,
            rebuilt: self.rebuilt,
            open: self.open,
            circuits: self.circuits,
            samples,
            hops: self.hops,
            metrics: self.metrics,
            legs: self.legs,
            latencies: self.latencies.into_iter().map(|(_, of)| of).collect(),
            traces: traces::merge(self.traces),
            breakdown,
            node_traces: tracer::merge(self.node_traces),
            captures: self.captures,
            visits: self.visits,
            nodes,
            queues: queues.into_iter().flatten().collect(),
            cross: self.cross.into_iter().map(|(_, bytes)| bytes).collect(),
            counters: Counters { events, cell_hops },
        }
    }

    /// Adds what was packaged over the last circuit of each user.
    fn add_sources(&mut self) {
        for (user, turn, packaged) in std::mem::take(&mut self.sources) {
            // An exit may not have heard yet that the user has another circuit.
            if turn >= self.turns[user as usize] {
                self.circuits[user as usize].packaged += packaged;
            }
        }
    }

    /// What was packaged at one end and delivered at the other.
    fn samples(&mut self) -> Vec<Sample> {
        self.packaged
            .sort_unstable_by_key(|(at, user, turn, _)| (*at, *user, *turn));
        self.delivered
            .sort_unstable_by_key(|(at, user, ..)| (*at, *user));
        let mut sources = self.packaged.iter().peekable();
        let samples = self.delivered.iter().map(|&(at, user, present, bytes)| {
            let [delivered, mut packaged] = bytes;
            // A user whose circuit is rebuilt has several sources. Those of circuits before may not have heard of
            // it yet, and those of later ones have packaged nothing.
            while let Some((_, _, turn, bytes)) = sources.next_if(|it| (it.0, it.1) == (at, user)) {
                if *turn >= present {
                    packaged += *bytes;
                }
            }
            Sample {
                at,
                circuit: user,
                packaged,
                delivered,
            }
        });
        let samples = samples.collect();
        assert!(
            sources.next().is_none(),
            "both ends are sampled at the same times"
        );
        samples
    }
}

fn cells_sent(node: &Node) -> u64 {
    node.host.counters().cells_sent
}

/// What the nodes on one machine did together.
fn node_outcome(machine: Machine) -> NodeOutcome {
    let counters: Vec<_> = machine.nodes().map(|node| node.host.counters()).collect();
    let sum = |of: fn(&NodeCounters) -> u64| Cells::new(counters.iter().map(of).sum());
    let largest_queue = counters.iter().map(|counters| counters.largest_queue).max();
    let (up, down) = (machine.up.link().counters(), machine.down.link().counters());
    NodeOutcome {
        cells_sent: sum(|counters| counters.cells_sent),
        cells_retransmitted: sum(|counters| counters.cells_resent),
        cells_dropped: sum(|counters| counters.cells_dropped),
        drops_up: up.dropped(),
        drops_down: down.dropped(),
        bytes_up: up.bytes,
        largest_queue: Cells::new(largest_queue.unwrap_or(0)),
        name: machine.name,
    }
}
