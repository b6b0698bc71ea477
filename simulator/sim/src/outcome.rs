//! What a simulation measured.

use hopflow_overlay::{Direction, Measured};
use hopflow_units::{Bytes, Cells, Duration, Instant, NodeId};

use crate::histogram::LatencyHistogram;
use crate::spec::{Class, Page};
use crate::trace::{NodeCapture, NodeTrace};

/// Everything that one run recorded.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Downloads in order of their completion.
    pub downloads: Vec<Download>,
    /// Downloads that were broken off, in order of their end.
    pub failures: Vec<Failure>,
    /// Circuits that users had anew, in order of time.
    pub rebuilt: Vec<NewCircuit>,
    /// Requests that were not answered completely at the end, by circuit.
    pub open: Vec<OpenRequest>,
    /// One summary per circuit.
    pub circuits: Vec<CircuitOutcome>,
    /// R(t) and W(t), ordered by time, then circuit.
    pub samples: Vec<Sample>,
    /// Queues and windows, ordered by time, then circuit, then hop.
    pub hops: Vec<HopSample>,
    /// What the transport's layers measured, ordered by time, then circuit, then hop.
    pub metrics: Vec<MetricSample>,
    /// Use of the paths of users that have several, ordered by circuit, then path, then hop.
    pub legs: Vec<LegTraffic>,
    /// Latencies of each circuit, if they were asked for ([`World::record_latency`](crate::World)).
    pub latencies: Vec<Latencies>,
    /// What observers saw, ordered by circuit, then place, then time, if it was asked for
    /// ([`World::record_traces`](crate::World)). Bins in which nothing passed are left out.
    pub traces: Vec<TraceBin>,
    /// Where the time of each download went, in the order of the downloads, if it was asked for
    /// ([`World::record_breakdown`](crate::World)).
    pub breakdown: Vec<Part>,
    /// What happened to circuits, by circuit, then node from the client on, of those that were asked
    /// for ([`World::trace_circuits`](crate::World)).
    pub node_traces: Vec<NodeTrace>,
    /// The packets of nodes, by node, of those that were asked for
    /// ([`World::capture_packets`](crate::World)).
    pub captures: Vec<NodeCapture>,
    /// Visits of pages in order of their beginning, of users that visit such.
    pub visits: Vec<Visit>,
    /// One summary per node.
    pub nodes: Vec<NodeOutcome>,
    /// What waited at each node's access link, up and down, if it was asked for
    /// ([`World::record_queues`](crate::World)).
    pub queues: Vec<[QueueOutcome; 2]>,
    /// Bytes that each connection outside the overlay delivered since recording began.
    pub cross: Vec<Bytes>,
    /// How much work the run was.
    pub counters: Counters,
}

/// A completed download, or upload where the user's uploads are measured: one fetch, or several
/// that belong together ([`Fetch::continued`](crate::spec::Fetch::continued)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Download {
    /// The circuit's number.
    pub circuit: u32,
    /// The class of its user.
    pub class: Class,
    /// Number of this download on its circuit, from zero.
    pub index: u32,
    /// When the client sent the request.
    pub requested: Instant,
    /// Time to first byte, from the request: at the client, or of an upload at the exit.
    pub ttfb: Duration,
    /// Time to last byte, from the request, in the same place.
    pub ttlb: Duration,
    /// Bytes of the responses, or of the uploads.
    pub size: Bytes,
}

/// A download, or an upload where these are measured, that was not complete at the end of the run.
/// What has no end is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// The circuit's number.
    pub circuit: u32,
    /// The class of its user.
    pub class: Class,
    /// Number that the download would have had on its circuit.
    pub index: u32,
    /// When the client sent the request.
    pub requested: Instant,
    /// Time to first byte, from the request, if one has arrived.
    pub ttfb: Option<Duration>,
    /// Bytes that have arrived.
    pub received: Bytes,
}

/// A download, or upload where the user's uploads are measured, that was broken off because a circuit
/// of its user was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The circuit's number.
    pub circuit: u32,
    /// The class of its user.
    pub class: Class,
    /// Number of the download on its circuit: how many were completed before.
    pub index: u32,
    /// When the client sent the request.
    pub requested: Instant,
    /// When the end at which it arrives learned that the circuit is closed.
    pub failed: Instant,
    /// Time to first byte, from the request, if one had arrived.
    pub ttfb: Option<Duration>,
    /// Bytes that had arrived.
    pub received: Bytes,
    /// Whether it had no end.
    pub endless: bool,
    /// Why the circuit was closed.
    pub cause: FailCause,
}

/// A user has a circuit in place of one that was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCircuit {
    /// The number of its circuit, which stays the same.
    pub circuit: u32,
    /// When the client learned that the one before was closed.
    pub closed: Instant,
    /// When the client could use the new one.
    pub ready: Instant,
}

/// Why a download was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailCause {
    /// Its user left.
    Left,
    /// A node closed the circuit.
    Closed,
}

/// What one user's circuits carried: downloads to its client, or uploads to the exit.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitOutcome {
    /// The class of its user.
    pub class: Class,
    /// Overlay hops of the first path.
    pub hops: u32,
    /// Application bytes packaged at the source: R at the end.
    pub packaged: Bytes,
    /// Application bytes delivered at the other end: W at the end.
    pub delivered: Bytes,
    /// Data cells delivered there.
    pub delivered_cells: Cells,
    /// Latency of delivered cells, from packaging to delivery.
    pub latency: LatencyHistogram,
    /// Whether the circuit was closed before the end.
    pub closed: bool,
}

/// Latencies of a circuit's cells of data from two moments on, up to their delivery to the client's
/// end; only cells that were delivered after recording began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// From when the data entered the overlay: its packaging at the source.
    pub packaged: LatencyHistogram,
    /// From when the cell first left the source's queue of its circuit for the hop's connection.
    pub sent: LatencyHistogram,
}

/// When a path of a user that has several carried data, as its source and the first relay behind
/// it saw. Cells that are sent again count, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegTraffic {
    /// The circuit's number.
    pub circuit: u32,
    /// The path's number, from zero.
    pub leg: u32,
    /// Where: 0 is the source, 1 the next node.
    pub hop: u32,
    /// When the first cell of data left there.
    pub first: Instant,
    /// When the last one left.
    pub last: Instant,
    /// How many left.
    pub cells: Cells,
}

/// Where an observer of a circuit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vantage {
    /// Between the client and its router, as its access provider does: all packets in both
    /// directions, feedback and headers included, but nothing of what is in them. Packets towards
    /// the client are seen before the queue of its access link.
    Entry,
    /// At the exit relay, which knows its circuits: cells of data that it sends on towards the
    /// client, and those of requests that it takes off the circuit, with the data's bytes.
    Exit,
}

/// What passed in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets at the entry, cells at the exit.
    pub packets: u64,
    /// Their bytes: with all headers at the entry, of data at the exit.
    pub bytes: Bytes,
}

/// What an observer of a circuit saw in a bin of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceBin {
    /// The circuit's number.
    pub circuit: u32,
    /// Where the observer is.
    pub place: Vantage,
    /// When the bin begins.
    pub at: Instant,
    /// From the client on.
    pub up: Tally,
    /// Towards the client.
    pub down: Tally,
}

/// A page that a user visited: one fetch or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The circuit's number.
    pub circuit: u32,
    /// Which page it was.
    pub page: u32,
    /// Which of the times that the page was loaded was played.
    pub instance: u32,
    /// When the first request was sent.
    pub begin: Instant,
    /// When the last byte so far arrived; the beginning if none did.
    pub end: Instant,
}

impl Visit {
    /// A visit that begins.
    pub(crate) const fn new(circuit: u32, begin: Instant, page: &Page) -> Self {
        Self {
            circuit,
            page: page.page,
            instance: page.instance,
            begin,
            end: begin,
        }
    }
}

/// R(t) and W(t) of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// The circuit's number.
    pub circuit: u32,
    /// Application bytes packaged at the source so far.
    pub packaged: Bytes,
    /// Application bytes delivered at the other end so far.
    pub delivered: Bytes,
}

/// State of one hop of a circuit's data direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopSample {
    /// When.
    pub at: Instant,
    /// The circuit's number.
    pub circuit: u32,
    /// The hop, counted from the source: 0 is the source's sending side. Hops of further paths
    /// follow, path after path.
    pub hop: u32,
    /// Cells that wait at the hop's sender.
    pub queue: Cells,
    /// Cells sent over the hop and not yet released by its feedback.
    pub outstanding: Cells,
    /// The hop's window; `None` where the transport sets none.
    pub window: Option<Cells>,
}

/// What a layer of the transport measured of one hop of a circuit's data direction, or at the
/// source of the circuit from end to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricSample {
    /// When.
    pub at: Instant,
    /// The circuit's number.
    pub circuit: u32,
    /// The hop, as in [`HopSample`].
    pub hop: u32,
    /// The value and what it is.
    pub measured: Measured,
}

/// What one node did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutcome {
    /// The node's name.
    pub name: String,
    /// Cells sent, each counted the first time.
    pub cells_sent: Cells,
    /// Cells sent again by this hop, or passed on when an end repeated them.
    pub cells_retransmitted: Cells,
    /// Cells dropped because a circuit's queue was full.
    pub cells_dropped: Cells,
    /// Packets that the access link towards the hub dropped or lost.
    pub drops_up: u64,
    /// Packets that the access link from the hub dropped or lost.
    pub drops_down: u64,
    /// Bytes that left on the access link, headers included.
    pub bytes_up: Bytes,
    /// The most cells that waited in one circuit's queue.
    pub largest_queue: Cells,
}

/// What waited at one direction of an access link since recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueOutcome {
    /// Mean over time of the packets that wait for their serialisation.
    pub mean_packets: f64,
    /// Mean over time of their bytes.
    pub mean_bytes: f64,
    /// Packets that were handed to the link.
    pub offered: u64,
    /// Packets of those that were dropped or lost.
    pub dropped: u64,
}

/// Work that a run was, for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events taken from the agenda.
    pub events: u64,
    /// Cells that crossed one overlay hop, first transmissions only.
    pub cell_hops: u64,
}

/// A part of the time to the last byte of a download: how long its last byte was kept in one place
/// for one reason.
///
/// The parts of a download follow each other without gaps, apart from those of one stay, which are
/// sums; so they add up to [`Download::ttlb`] (`docs/explain.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The circuit's number.
    pub circuit: u32,
    /// Number of the download on its circuit.
    pub index: u32,
    /// Number of the transfer within the download, requests included.
    pub transfer: u32,
    /// Where the data of the transfer flows.
    pub direction: Direction,
    /// In which stage of its way the byte is.
    pub stage: Stage,
    /// Nodes from the source of the transfer: 0 is the source.
    pub hop: u32,
    /// The node.
    pub node: NodeId,
    /// What it waits for.
    pub cause: Cause,
    /// How long.
    pub time: Duration,
    /// Cells of other circuits that the node sent meanwhile, where they are the cause.
    pub cells: Cells,
    /// On the first part at a node that the transfer before passed, too: cells that the node sent
    /// since that left it.
    pub node_cells: Cells,
}

/// The stages of a byte's way from one end of a circuit to the other, and between two such ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Application data at the source, before it is packaged into a cell.
    Package,
    /// A cell in the circuit's queue at a node.
    Queue,
    /// On its way from a node to the next one; of two access links the nodes that they belong to.
    Hop,
    /// At the end of the circuit.
    Sink,
    /// At the server, between a request and the response.
    Server,
    /// At the user, between the fetches of a download.
    User,
}

/// What a byte waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The window from end to end.
    Window,
    /// The rate from end to end.
    Pace,
    /// The window of its stream.
    StreamWindow,
    /// Its stream: a rate of its own, a pause that the sink asked for, another leg.
    Stream,
    /// The window of the hop, or its credit.
    HopWindow,
    /// The rate of the hop.
    HopPace,
    /// Room in the buffer of the hop's connection.
    Room,
    /// The next run of the scheduler.
    Run,
    /// Tokens.
    Bucket,
    /// The turns of other circuits, which used what it waited for.
    Turn,
    /// Room in the queue of the node's access link.
    Uplink,
    /// TCP at the sender: cells written before it, the congestion window, the uplink.
    Buffer,
    /// The transmission that arrived, after others that did not.
    Retransmission,
    /// Other packets in the queue of a link, or its jitter.
    LinkQueue,
    /// Its own packet's bits.
    Serialisation,
    /// The speed of light.
    Propagation,
    /// The way between two routers.
    Backbone,
    /// Bytes of the connection that come before it.
    TcpOrder,
    /// Tokens for reading.
    Reading,
    /// Cells that come before it.
    Order,
    /// The server.
    Server,
    /// The user.
    Pause,
}
