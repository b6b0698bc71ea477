//! What a simulation measured, as rows of a result folder.

use std::collections::BTreeSet;

use hopflow_results::{
    Cause, Circuit, Class, CrossFlow, Direction, Download, FailCause, Failure, Fault, FaultKind,
    HopSample, Latency, LatencyClass, Link, Metric, MetricUnit, NewCircuit, Node, OpenRequest,
    Part, PathNode, Queue, Relay, Sample, Since, Stage, Tables, Trace, Transfer, Vantage, Visit,
};
use hopflow_sim::spec::{self, CircuitSpec, NodeSpec, WorldSpec};
use hopflow_sim::{CircuitOutcome, LatencyHistogram, NodeOutcome, Outcome};
use hopflow_units::{Bytes, Duration, Instant, Rate};
use hopflow_wire::{CELL, CELL_DATA};

use super::fair::{self, Fair};

/// Bytes of a cell by which the use of a relay's rate limit is reckoned (tor-spec, section 3).
const CELL_BYTES: f64 = CELL as f64;
/// Application bytes of a full data cell.
const CELL_DATA_BYTES: f64 = CELL_DATA as f64;

/// The rows of a run.
///
/// Downloads that were requested during the warm-up are left out, and rates are taken from its
/// end on.
pub(super) fn tables(world: &WorldSpec, outcome: &Outcome) -> Tables {
    let evaluated = Evaluated::of(world, outcome);
    let downloads = outcome.downloads.iter();
    Tables {
        downloads: downloads
            .filter(|download| download.requested >= evaluated.from)
            .map(download)
            .collect(),
        breakdown: breakdown(outcome, evaluated.from),
        open_requests: open_requests(world, outcome, evaluated.from),
        circuits: (0..outcome.circuits.len())
            .map(|n| evaluated.circuit(n))
            .collect(),
        samples: outcome.samples.iter().map(sample).collect(),
        hops: outcome.hops.iter().map(hop).collect(),
        metrics: outcome.metrics.iter().map(metric).collect(),
        metric_units: metric_units(outcome),
        relays: nodes(world, outcome)
            .map(|(spec, node)| relay(spec, node, world.end))
            .collect(),
        links: nodes(world, outcome)
            .flat_map(|(spec, node)| links(spec, node, world.end))
            .collect(),
        cross: cross(world, outcome),
        latencies: histograms(outcome).filter_map(latency).collect(),
        latency_classes: histograms(outcome).flat_map(latency_classes).collect(),
        queues: queues(outcome).collect(),
        deployments: Vec::new(),
        traces: outcome.traces.iter().map(trace).collect(),
        visits: outcome.visits.iter().map(visit).collect(),
        failures: outcome
            .failures
            .iter()
            .filter(|failure| failure.requested >= evaluated.from)
            .map(failure)
            .collect(),
        rebuilt: outcome.rebuilt.iter().map(new_circuit).collect(),
        faults: world.faults.iter().map(|it| fault(world, it)).collect(),
        nodes: Vec::new(),
        paths: (0..).zip(&world.circuits).flat_map(path).collect(),
        trace_files: Vec::new(),
    }
}

/// The nodes of a world, which are in these regions.
pub(super) fn nodes_at(world: &WorldSpec, regions: Vec<String>) -> Vec<Node> {
    let nodes = (0..).zip(&world.nodes).zip(regions);
    let node = |((node, spec), region): ((u32, &NodeSpec), String)| Node {
        node,
        name: spec.name.clone(),
        region,
        access_bytes_per_s: spec.access.rate.as_f64(),
        delay_s: spec.access.delay.as_secs_f64(),
        bucket_bytes_per_s: spec.bucket.map(|bucket| bucket.rate.as_f64()),
    };
    nodes.map(node).collect()
}

/// The nodes on a circuit's paths.
fn path((circuit, spec): (u32, &CircuitSpec)) -> impl Iterator<Item = PathNode> {
    (0..).zip(spec.paths()).flat_map(move |(leg, path)| {
        let nodes = (0..).zip(path);
        nodes.map(move |(position, node)| PathNode {
            circuit,
            leg,
            position,
            node: node.index() as u32,
        })
    })
}

/// A distribution of latencies: of which circuit, and since when they are counted.
type Distribution<'a> = (u32, Since, &'a LatencyHistogram);

fn histograms(outcome: &Outcome) -> impl Iterator<Item = Distribution<'_>> {
    (0..).zip(&outcome.latencies).flat_map(|(circuit, of)| {
        [
            (circuit, Since::Packaged, &of.packaged),
            (circuit, Since::Sent, &of.sent),
        ]
    })
}

fn latency((circuit, since, histogram): Distribution<'_>) -> Option<Latency> {
    Some(Latency {
        circuit,
        since,
        cells: histogram.count(),
        mean_s: histogram.mean()?.as_secs_f64(),
    })
}

fn latency_classes(
    (circuit, since, histogram): Distribution<'_>,
) -> impl Iterator<Item = LatencyClass> {
    histogram.classes().map(move |(range, cells)| LatencyClass {
        circuit,
        since,
        from_s: range.start.as_secs_f64(),
        below_s: range.end.as_secs_f64(),
        cells,
    })
}

fn cross(world: &WorldSpec, outcome: &Outcome) -> Vec<CrossFlow> {
    let span = world.end.saturating_sub(world.sampling.from).as_secs_f64();
    let flow = |(flow, bytes): (u32, &Bytes)| CrossFlow {
        flow,
        goodput_bytes_per_s: bytes.as_f64() / span,
    };
    (0..).zip(&outcome.cross).map(flow).collect()
}

fn nodes<'a>(
    world: &'a WorldSpec,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a NodeSpec, &'a NodeOutcome)> {
    world.nodes.iter().zip(&outcome.nodes)
}

fn queues(outcome: &Outcome) -> impl Iterator<Item = Queue> {
    let nodes = outcome.nodes.iter().zip(&outcome.queues);
    nodes.flat_map(|(node, queues)| {
        [Direction::Up, Direction::Down]
            .into_iter()
            .zip(queues)
            .map(|(direction, queue)| Queue {
                name: node.name.clone(),
                direction,
                mean_packets: queue.mean_packets,
                mean_bytes: queue.mean_bytes,
                packets: queue.offered,
                drops: queue.dropped,
            })
    })
}

const fn class(class: spec::Class) -> Class {
    match class {
        spec::Class::Bulk => Class::Bulk,
        spec::Class::Web => Class::Web,
    }
}

fn download(download: &hopflow_sim::Download) -> Download {
    Download {
        circuit: download.circuit,
        class: class(download.class),
        request: download.index,
        start_s: download.requested.as_secs_f64(),
        ttfb_s: download.ttfb.as_secs_f64(),
        ttlb_s: download.ttlb.as_secs_f64(),
        bytes: download.size.get(),
    }
}

/// The parts of downloads that were requested since `from`.
fn breakdown(outcome: &Outcome, from: Instant) -> Vec<Part> {
    let downloads = outcome.downloads.iter();
    let wanted: BTreeSet<_> = downloads
        .filter(|download| download.requested >= from)
        .map(|download| (download.circuit, download.index))
        .collect();
    let parts = outcome.breakdown.iter();
    let parts = parts.filter(|part| wanted.contains(&(part.circuit, part.index)));
    parts.map(|it| part(it, &outcome.nodes)).collect()
}

fn part(part: &hopflow_sim::Part, nodes: &[NodeOutcome]) -> Part {
    Part {
        circuit: part.circuit,
        request: part.index,
        transfer: part.transfer,
        way: match part.direction {
            hopflow_overlay::Direction::Forward => Transfer::Request,
            hopflow_overlay::Direction::Backward => Transfer::Response,
        },
        stage: stage(part.stage),
        hop: part.hop,
        name: nodes[part.node.index()].name.clone(),
        cause: cause(part.cause),
        time_ns: part.time.as_nanos(),
        others_cells: part.cells.get(),
        node_cells: part.node_cells.get(),
    }
}

const fn stage(stage: hopflow_sim::Stage) -> Stage {
    use hopflow_sim::Stage as Of;
    match stage {
        Of::Package => Stage::Package,
        Of::Queue => Stage::Queue,
        Of::Hop => Stage::Hop,
        Of::Sink => Stage::Sink,
        Of::Server => Stage::Server,
        Of::User => Stage::User,
    }
}

const fn cause(cause: hopflow_sim::Cause) -> Cause {
    use hopflow_sim::Cause as Of;
    match cause {
        Of::Window => Cause::EndWindow,
        Of::Pace => Cause::EndRate,
        Of::StreamWindow => Cause::StreamWindow,
        Of::Stream => Cause::Stream,
        Of::HopWindow => Cause::HopWindow,
        Of::HopPace => Cause::HopRate,
        Of::Room => Cause::Room,
        Of::Run => Cause::Run,
        Of::Bucket => Cause::Bucket,
        Of::Turn => Cause::Turn,
        Of::Uplink => Cause::Uplink,
        Of::Buffer => Cause::Buffer,
        Of::Retransmission => Cause::Retransmission,
        Of::LinkQueue => Cause::LinkQueue,
        Of::Serialisation => Cause::Serialisation,
        Of::Propagation => Cause::Propagation,
        Of::Backbone => Cause::Backbone,
        Of::TcpOrder => Cause::TcpOrder,
        Of::Reading => Cause::Reading,
        Of::Order => Cause::Order,
        Of::Server => Cause::Server,
        Of::Pause => Cause::User,
    }
}

fn failure(failure: &hopflow_sim::Failure) -> Failure {
    Failure {
        circuit: failure.circuit,
        class: class(failure.class),
        request: failure.index,
        start_s: failure.requested.as_secs_f64(),
        end_s: failure.failed.as_secs_f64(),
        ttfb_s: failure.ttfb.map(Duration::as_secs_f64),
        bytes: failure.received.get(),
        endless: failure.endless,
        cause: match failure.cause {
            hopflow_sim::FailCause::Left => FailCause::Left,
            hopflow_sim::FailCause::Closed => FailCause::Closed,
        },
    }
}

fn new_circuit(rebuilt: &hopflow_sim::NewCircuit) -> NewCircuit {
    NewCircuit {
        circuit: rebuilt.circuit,
        closed_s: rebuilt.closed.as_secs_f64(),
        ready_s: rebuilt.ready.as_secs_f64(),
    }
}

/// Requests since `from` that were not answered completely.
fn open_requests(world: &WorldSpec, outcome: &Outcome, from: Instant) -> Vec<OpenRequest> {
    let end = Instant::ZERO + world.end;
    let open = outcome.open.iter().filter(|open| open.requested >= from);
    open.map(|open| OpenRequest {
        circuit: open.circuit,
        class: class(open.class),
        request: open.index,
        start_s: open.requested.as_secs_f64(),
        waited_s: end.saturating_since(open.requested).as_secs_f64(),
        ttfb_s: open.ttfb.map(Duration::as_secs_f64),
        bytes: open.received.get(),
    })
    .collect()
}

fn sample(sample: &hopflow_sim::Sample) -> Sample {
    Sample {
        circuit: sample.circuit,
        t_s: sample.at.as_secs_f64(),
        packaged_bytes: sample.packaged.get(),
        delivered_bytes: sample.delivered.get(),
    }
}

fn hop(sample: &hopflow_sim::HopSample) -> HopSample {
    HopSample {
        circuit: sample.circuit,
        hop: sample.hop,
        t_s: sample.at.as_secs_f64(),
        queue_cells: sample.queue.get(),
        outstanding_cells: sample.outstanding.get(),
        window_cells: sample.window.map(hopflow_units::Cells::get),
    }
}

fn metric(sample: &hopflow_sim::MetricSample) -> Metric {
    Metric {
        circuit: sample.circuit,
        hop: sample.hop,
        t_s: sample.at.as_secs_f64(),
        metric: sample.measured.metric.name.into(),
        value: sample.measured.value,
    }
}

/// What the metrics are that were measured, each once.
fn metric_units(outcome: &Outcome) -> Vec<MetricUnit> {
    let mut units: Vec<MetricUnit> = Vec::new();
    for sample in &outcome.metrics {
        let metric = sample.measured.metric;
        if units.iter().all(|known| known.metric != metric.name) {
            units.push(MetricUnit {
                metric: metric.name.into(),
                unit: metric.unit.into(),
                about: metric.about.into(),
            });
        }
    }
    units
}

fn trace(bin: &hopflow_sim::TraceBin) -> Trace {
    Trace {
        circuit: bin.circuit,
        place: match bin.place {
            hopflow_sim::Vantage::Entry => Vantage::Entry,
            hopflow_sim::Vantage::Exit => Vantage::Exit,
        },
        t_s: bin.at.as_secs_f64(),
        up_packets: bin.up.packets,
        up_bytes: bin.up.bytes.get(),
        down_packets: bin.down.packets,
        down_bytes: bin.down.bytes.get(),
    }
}

fn visit(visit: &hopflow_sim::Visit) -> Visit {
    Visit {
        circuit: visit.circuit,
        page: visit.page,
        instance: visit.instance,
        start_s: visit.begin.as_secs_f64(),
        end_s: visit.end.as_secs_f64(),
    }
}

fn fault(world: &WorldSpec, fault: &spec::Fault) -> Fault {
    let (what, rate, delay) = match fault.kind {
        spec::FaultKind::Stop { .. } => (FaultKind::Stop, None, None),
        spec::FaultKind::Outage => (FaultKind::Outage, None, None),
        spec::FaultKind::Rate(rate) => (FaultKind::Rate, Some(rate), None),
        spec::FaultKind::Delay(delay) => (FaultKind::Delay, None, Some(delay)),
        spec::FaultKind::Bucket(rate) => (FaultKind::Bucket, Some(rate), None),
    };
    Fault {
        name: world.nodes[fault.node.index()].name.clone(),
        what,
        from_s: fault.from.as_secs_f64(),
        until_s: fault.until.map(Duration::as_secs_f64),
        rate_bytes_per_s: rate.map(Rate::as_f64),
        delay_s: delay.map(Duration::as_secs_f64),
    }
}

/// The evaluated part of a run.
struct Evaluated<'a> {
    from: Instant,
    circuits: &'a [CircuitOutcome],
    /// What the samples say, per circuit.
    sampled: Vec<Sampled>,
    /// Bytes of data per second, per circuit.
    goodputs: Vec<f64>,
    /// What would be fair, per circuit.
    fair: Vec<Option<Fair>>,
}

#[derive(Clone, Copy, Default)]
struct Sampled {
    samples: u64,
    first_delivered: f64,
    backlog: f64,
}

impl<'a> Evaluated<'a> {
    fn of(world: &WorldSpec, outcome: &'a Outcome) -> Self {
        let mut sampled = vec![Sampled::default(); outcome.circuits.len()];
        for sample in &outcome.samples {
            let of_circuit = &mut sampled[sample.circuit as usize];
            if of_circuit.samples == 0 {
                of_circuit.first_delivered = sample.delivered.as_f64();
            }
            of_circuit.samples += 1;
            of_circuit.backlog += sample.packaged.saturating_sub(sample.delivered).as_f64();
        }
        let warm_up = world.sampling.from;
        let span = world.end.saturating_sub(warm_up).as_secs_f64();
        let goodput = |(circuit, sampled): (&CircuitOutcome, &Sampled)| {
            (circuit.delivered.as_f64() - sampled.first_delivered) / span
        };
        let goodputs: Vec<f64> = outcome.circuits.iter().zip(&sampled).map(goodput).collect();
        Self {
            from: Instant::ZERO + warm_up,
            circuits: &outcome.circuits,
            fair: fair::rates(world, &goodputs),
            sampled,
            goodputs,
        }
    }

    fn circuit(&self, number: usize) -> Circuit {
        let (outcome, sampled) = (&self.circuits[number], self.sampled[number]);
        let (goodput, fair) = (self.goodputs[number], self.fair[number]);
        let latency = |q| outcome.latency.quantile(q).map(Duration::as_secs_f64);
        Circuit {
            circuit: number as u32,
            hops: outcome.hops,
            class: class(outcome.class),
            packaged_bytes: outcome.packaged.get(),
            delivered_bytes: outcome.delivered.get(),
            rate_bytes_per_s: goodput * CELL_BYTES / CELL_DATA_BYTES,
            goodput_bytes_per_s: goodput,
            fair_bytes_per_s: fair.map(|fair| fair.rate),
            bottleneck: fair
                .and_then(|fair| fair.bottleneck)
                .map(|node| node.index() as u32),
            backlog_mean_bytes: (sampled.samples > 0)
                .then(|| sampled.backlog / sampled.samples as f64),
            latency_mean_s: outcome.latency.mean().map(Duration::as_secs_f64),
            latency_p50_s: latency(0.5),
            latency_p95_s: latency(0.95),
            closed: outcome.closed,
        }
    }
}

/// The share of what `rate` allows until `end`, at most all: a full bucket allows a little more.
fn utilisation(bytes: f64, rate: Rate, end: Duration) -> f64 {
    (bytes / (rate.as_f64() * end.as_secs_f64())).min(1.0)
}

fn relay(spec: &NodeSpec, node: &NodeOutcome, end: Duration) -> Relay {
    let bytes = node.cells_sent.as_f64() * CELL_BYTES;
    Relay {
        name: node.name.clone(),
        cells_sent: node.cells_sent.get(),
        cells_retransmitted: node.cells_retransmitted.get(),
        cells_dropped: node.cells_dropped.get(),
        largest_queue_cells: node.largest_queue.get(),
        utilisation: spec
            .bucket
            .map(|bucket| utilisation(bytes, bucket.rate, end)),
    }
}

fn links(spec: &NodeSpec, node: &NodeOutcome, end: Duration) -> [Link; 2] {
    let up = Link {
        name: node.name.clone(),
        direction: Direction::Up,
        drops: node.drops_up,
        bytes: Some(node.bytes_up.get()),
        utilisation: Some(utilisation(node.bytes_up.as_f64(), spec.access.rate, end)),
    };
    let down = Link {
        direction: Direction::Down,
        drops: node.drops_down,
        bytes: None,
        utilisation: None,
        ..up.clone()
    };
    [up, down]
}
