//! The tables of a run.

use std::borrow::Cow;

use crate::field::text_enum;
use crate::table::row;

text_enum! {
    /// The classes of users.
    pub enum Class {
        /// Downloads files back to back.
        Bulk = "bulk",
        /// Fetches pages with pauses.
        Web = "web",
    }
}

text_enum! {
    /// From when on the latency of a cell of data is counted; it ends with the delivery at the other
    /// end of the circuit.
    pub enum Since {
        /// From its packaging at the exit, or at the client of an upload: since the data entered the
        /// overlay.
        Packaged = "packaged",
        /// From the first time that it left the queue of its circuit there for the hop's connection, which is what the PredicTor authors' code measures.
        Sent = "sent",
    }
}

text_enum! {
    /// Where somebody observes a circuit.
    pub enum Vantage {
        /// Between the client and its router, as its access provider does: all packets, feedback
        /// and headers included, but nothing of what is in them.
        Entry = "entry",
        /// At the exit relay, which knows its circuits: cells of data that it sends on towards the
        /// client, and cells of requests that it takes off the circuit.
        Exit = "exit",
    }
}

text_enum! {
    /// The direction of an access link.
    pub enum Direction {
        /// From the node into the network.
        Up = "up",
        /// From the network to the node.
        Down = "down",
    }
}

text_enum! {
    /// What goes wrong at a relay, or changes there.
    pub enum FaultKind {
        /// Its process stops, and all circuits over it are closed.
        Stop = "stop",
        /// Its access link loses every packet.
        Outage = "outage",
        /// Its access link has another rate.
        Rate = "rate",
        /// Its access link has another propagation delay.
        Delay = "delay",
        /// Its token bucket has another rate.
        Bucket = "bucket",
    }
}

text_enum! {
    /// Why a download was broken off.
    pub enum FailCause {
        /// Its user left.
        Left = "left",
        /// A node closed the circuit.
        Closed = "closed",
    }
}

text_enum! {
    /// What a transfer of data is to its user.
    pub enum Transfer {
        /// Towards the exit: a request, or what is uploaded.
        Request = "request",
        /// Towards the client.
        Response = "response",
    }
}

text_enum! {
    /// The stages of a byte's way from one end of a circuit to the other, and between such ways.
    pub enum Stage {
        /// Data at the source, before it is packaged into a cell.
        Package = "package",
        /// A cell in the circuit's queue at a node.
        Queue = "queue",
        /// From a node to the next one; of two access links, the nodes that they belong to.
        Hop = "hop",
        /// At the end of the circuit.
        Sink = "sink",
        /// At the server, between a request and the response.
        Server = "server",
        /// At the user, between the requests of a download.
        User = "user",
    }
}

text_enum! {
    /// What a byte waits for.
    pub enum Cause {
        /// The window from end to end is full.
        EndWindow = "end_window",
        /// The rate from end to end.
        EndRate = "end_rate",
        /// The window of its stream is full.
        StreamWindow = "stream_window",
        /// Its stream: a rate of its own, a pause that the sink asked for, or another leg's turn.
        Stream = "stream",
        /// The window of the hop is full, or its credit used.
        HopWindow = "hop_window",
        /// The rate of the hop.
        HopRate = "hop_rate",
        /// The buffer of the hop's TCP connection takes no more.
        Room = "room",
        /// The next run of the scheduler (KIST).
        Run = "run",
        /// The node's token bucket is empty.
        Bucket = "bucket",
        /// What it waits for went to the cells of other circuits.
        Turn = "turn",
        /// The queue of the node's access link is full.
        Uplink = "uplink",
        /// It is in TCP's buffer at the sender: the congestion window, or cells written before it.
        Buffer = "buffer",
        /// It was sent, did not arrive, and is sent again.
        Retransmission = "retransmission",
        /// Other packets in the queue of an access link, or the link's jitter.
        LinkQueue = "link_queue",
        /// The bits of its own packet leave one after the other.
        Serialisation = "serialisation",
        /// It is on the wire.
        Propagation = "propagation",
        /// It is on its way between two routers.
        Backbone = "backbone",
        /// TCP misses bytes that come before it.
        TcpOrder = "tcp_order",
        /// The node has no tokens to read it from its connection.
        Reading = "reading",
        /// Cells that come before it are missing.
        Order = "order",
        /// The server takes its time.
        Server = "server",
        /// The user takes its time.
        User = "user",
    }
}

row! {
    /// A part of the time to the last byte of a download: how long its last byte was kept in one
    /// place for one reason. The parts of a download are in order of time, and add up to its time to
    /// the last byte, exactly.
    pub struct Part in "breakdown" {
        /// The circuit's number.
        pub circuit: u32,
        /// Number of the download on its circuit, as in `downloads`.
        pub request: u32,
        /// Number of the transfer within the download, from zero: most have a request and a response.
        pub transfer: u32,
        /// What the transfer is.
        pub way: Transfer,
        /// In which stage of its way the byte is.
        pub stage: Stage,
        /// Nodes from the source of the transfer to where the stage begins.
        pub hop: u32,
        /// The node's name.
        pub name: String,
        /// What the byte waits for.
        pub cause: Cause,
        /// How long, in nanoseconds.
        pub time_ns: u64,
        /// Where the cause is other circuits: how many cells of theirs went first.
        pub others_cells: u64,
        /// On the first part at a node that the transfer before passed, too: how many cells the node
        /// sent since that left it; 0 elsewhere.
        pub node_cells: u64,
    }
}

row! {
    /// A completed download; an upload, here and in the other tables, where `direction = "upload"`.
    pub struct Download in "downloads" {
        /// The circuit's number.
        pub circuit: u32,
        /// The class of its user.
        pub class: Class,
        /// Number of this request on its circuit, from zero.
        pub request: u32,
        /// When the client sent the request, in seconds of simulated time.
        pub start_s: f64,
        /// Time to first byte, from the request, in seconds: at the client, or of an upload at the exit.
        pub ttfb_s: f64,
        /// Time to last byte, likewise.
        pub ttlb_s: f64,
        /// Bytes of the response, or of the upload.
        pub bytes: u64,
    }
}

row! {
    /// A download that was requested after the warm-up and not complete at the end of the run.
    /// Endless ones are none.
    pub struct OpenRequest in "open_requests" {
        /// The circuit's number.
        pub circuit: u32,
        /// The class of its user.
        pub class: Class,
        /// Number of this request on its circuit, from zero.
        pub request: u32,
        /// When the client sent the request, in seconds of simulated time.
        pub start_s: f64,
        /// How long it had waited at the end of the run, in seconds.
        pub waited_s: f64,
        /// Time to first byte, from the request, in seconds; empty if none had arrived.
        pub ttfb_s: Option<f64>,
        /// Bytes of the response, or of the upload, that had arrived.
        pub bytes: u64,
    }
}

row! {
    /// A download that was broken off because a circuit of its user was closed.
    pub struct Failure in "failures" {
        /// The circuit's number.
        pub circuit: u32,
        /// The class of its user.
        pub class: Class,
        /// Number of this request on its circuit: how many were completed before.
        pub request: u32,
        /// When the client sent the request, in seconds of simulated time.
        pub start_s: f64,
        /// When the end at which it arrives learned that the circuit is closed, or `start_s` if that is later.
        pub end_s: f64,
        /// Time to first byte, from the request, in seconds; empty if none had arrived.
        pub ttfb_s: Option<f64>,
        /// Bytes of the response, or of the upload, that had arrived.
        pub bytes: u64,
        /// Whether it would never have been complete, because it has no end.
        pub endless: bool,
        /// Why the circuit was closed.
        pub cause: FailCause,
    }
}

row! {
    /// A user has a circuit in place of one that was closed.
    pub struct NewCircuit in "rebuilt" {
        /// The number of its circuit, which stays the same.
        pub circuit: u32,
        /// When the client learned that the one before was closed, in seconds of simulated time.
        pub closed_s: f64,
        /// When the client could use the new one.
        pub ready_s: f64,
    }
}

row! {
    /// What one circuit carried: from the exit to its client, or of uploads from the client to the exit.
    pub struct Circuit in "circuits" {
        /// The circuit's number.
        pub circuit: u32,
        /// Overlay hops.
        pub hops: u32,
        /// The class of its user.
        pub class: Class,
        /// R at the end: application bytes packaged at the exit, or of uploads at the client.
        pub packaged_bytes: u64,
        /// W at the end: application bytes delivered at the other end.
        pub delivered_bytes: u64,
        /// What the delivered bytes fill as full cells: 512 bytes for every 498 of goodput.
        pub rate_bytes_per_s: f64,
        /// Bytes delivered per second over the time that was measured.
        pub goodput_bytes_per_s: f64,
        /// Max-min fair goodput of the circuit, if its user takes all that it gets; empty for
        /// others. It is reckoned as if all such users were there from the end of the warm-up on, and
        /// without connections beside the overlay.
        pub fair_bytes_per_s: Option<f64>,
        /// Number of the node whose capacity bounds the fair goodput; empty where there is none.
        pub bottleneck: Option<u32>,
        /// Mean of R(t) - W(t) over time, where it was sampled.
        pub backlog_mean_bytes: Option<f64>,
        /// Mean latency from packaging to delivery, over all cells that the run delivered, in the warm-up,
        /// too, and before variants part; in seconds.
        pub latency_mean_s: Option<f64>,
        /// Median of the same latency, in seconds.
        pub latency_p50_s: Option<f64>,
        /// 95th percentile of the same latency, in seconds.
        pub latency_p95_s: Option<f64>,
        /// Whether the circuit was closed before the end.
        pub closed: bool,
    }
}

impl Circuit {
    /// A circuit that carried nothing, with so many overlay hops.
    pub const fn idle(circuit: u32, hops: u32, class: Class) -> Self {
        Self {
            circuit,
            hops,
            class,
            packaged_bytes: 0,
            delivered_bytes: 0,
            rate_bytes_per_s: 0.0,
            goodput_bytes_per_s: 0.0,
            fair_bytes_per_s: None,
            bottleneck: None,
            backlog_mean_bytes: None,
            latency_mean_s: None,
            latency_p50_s: None,
            latency_p95_s: None,
            closed: false,
        }
    }
}

row! {
    /// R(t) and W(t) of a circuit.
    pub struct Sample in "samples" {
        /// The circuit's number.
        pub circuit: u32,
        /// When, in seconds of simulated time.
        pub t_s: f64,
        /// R(t): application bytes packaged at the exit so far, or of uploads at the client.
        pub packaged_bytes: u64,
        /// W(t): application bytes delivered at the other end so far.
        pub delivered_bytes: u64,
    }
}

row! {
    /// The state of one hop of a circuit's data direction.
    pub struct HopSample in "hops" {
        /// The circuit's number.
        pub circuit: u32,
        /// The hop, counted from where data is packaged: 0 is the sending side of the exit, or of uploads
        /// that of the client. Those of further paths and circuits of the user follow.
        pub hop: u32,
        /// When, in seconds of simulated time.
        pub t_s: f64,
        /// Cells that wait at the hop's sender.
        pub queue_cells: u64,
        /// Cells sent over the hop and not yet released by its feedback.
        pub outstanding_cells: u64,
        /// The hop's window in cells; empty where the transport sets none.
        pub window_cells: Option<u64>,
    }
}

row! {
    /// What a layer of the transport measured on one hop of a circuit's data direction.
    pub struct Metric in "metrics" {
        /// The circuit's number.
        pub circuit: u32,
        /// The hop at whose sender it was measured, counted as in `hops`. What the control from end
        /// to end measures of the whole circuit stands at the sender of the first hop.
        pub hop: u32,
        /// When, in seconds of simulated time.
        pub t_s: f64,
        /// The metric's name; the table `metric_units` says in what unit it is, and what it means.
        pub metric: Cow<'static, str>,
        /// The value.
        pub value: f64,
    }
}

row! {
    /// What a metric of the table `metrics` is.
    pub struct MetricUnit in "metric_units" {
        /// The metric's name.
        pub metric: Cow<'static, str>,
        /// The unit of its values: `seconds`, `cells`, `bytes_per_second`.
        pub unit: Cow<'static, str>,
        /// What it is, in a line.
        pub about: Cow<'static, str>,
    }
}

row! {
    /// What one node did in the whole run: a relay, a client, or a server beside the overlay, which has no
    /// cells.
    pub struct Relay in "relays" {
        /// The node's name.
        pub name: String,
        /// Cells sent, each counted the first time.
        pub cells_sent: u64,
        /// Cells sent again by this hop, or passed on when an end repeated them.
        pub cells_retransmitted: u64,
        /// Cells dropped because a circuit's queue was full.
        pub cells_dropped: u64,
        /// The most cells that waited in one circuit's queue, of cells that arrived from a neighbour: a
        /// source's own queue is not in it.
        pub largest_queue_cells: u64,
        /// Share of its token bucket that cells sent for the first time took, 512 bytes each, at the rate
        /// before faults: the mean over the whole run, the warm-up included, 1 at most. What the bucket
        /// pays besides, cells sent again and feedback, is not in it.
        pub utilisation: Option<f64>,
    }
}

row! {
    /// What one direction of a node's access link did.
    pub struct Link in "links" {
        /// The node's name.
        pub name: String,
        /// The direction.
        pub direction: Direction,
        /// Packets dropped at the queue or lost, in the whole run, the warm-up included.
        pub drops: u64,
        /// Bytes carried in the whole run, the warm-up included, with headers; empty for `down`.
        pub bytes: Option<u64>,
        /// Share of the link's rate before faults that was used by what was delivered; packets that were lost on the
        /// link are not in it. The mean over the whole run, the warm-up included, 1 at most; empty for `down`.
        pub utilisation: Option<f64>,
    }
}

row! {
    /// A node of the network, whether it is a relay, a client or a server beside the overlay.
    pub struct Node in "nodes" {
        /// The node's number, as in `paths` and in the column `bottleneck` of `circuits`.
        pub node: u32,
        /// Its name.
        pub name: String,
        /// Where it is: the code of a continent, or the name of its router; empty where nothing says
        /// so.
        pub region: String,
        /// Rate of its access link in each direction, before faults.
        pub access_bytes_per_s: f64,
        /// Propagation delay of its access link in each direction, in seconds, before faults.
        pub delay_s: f64,
        /// Rate of its token bucket; empty where it has none.
        pub bucket_bytes_per_s: Option<f64>,
    }
}

row! {
    /// A node on the path that a user has at first.
    pub struct PathNode in "paths" {
        /// The circuit's number.
        pub circuit: u32,
        /// Which of the user's paths between the same ends; most users have path 0 alone.
        pub leg: u32,
        /// Number of the node on the path, from 0 at the client.
        pub position: u32,
        /// The node's number, as in `nodes`.
        pub node: u32,
    }
}

row! {
    /// What waited at one direction of a node's access link after the warm-up.
    pub struct Queue in "queues" {
        /// The node's name.
        pub name: String,
        /// The direction.
        pub direction: Direction,
        /// Mean over time of the packets that waited, without the one being sent.
        pub mean_packets: f64,
        /// Mean over time of their bytes, headers included.
        pub mean_bytes: f64,
        /// Packets that were handed to the link.
        pub packets: u64,
        /// Packets of those that were dropped at the queue or lost.
        pub drops: u64,
    }
}

row! {
    /// Which transport a circuit had, where one was being rolled out.
    pub struct Deployment in "deployments" {
        /// The circuit's number.
        pub circuit: u32,
        /// Whether it had the transport that was rolled out.
        pub upgraded: bool,
        /// The preset of its transport.
        pub preset: String,
    }
}

row! {
    /// The latency of a circuit's cells of data that were delivered after the warm-up.
    pub struct Latency in "latencies" {
        /// The circuit's number.
        pub circuit: u32,
        /// From when on it is counted.
        pub since: Since,
        /// Cells that were delivered.
        pub cells: u64,
        /// Their mean latency, in seconds.
        pub mean_s: f64,
    }
}

row! {
    /// How many of a circuit's cells had a latency within a range of about 3 %.
    pub struct LatencyClass in "latency_classes" {
        /// The circuit's number.
        pub circuit: u32,
        /// From when on it is counted.
        pub since: Since,
        /// The least latency of the range, in seconds.
        pub from_s: f64,
        /// The end of the range, in seconds.
        pub below_s: f64,
        /// Cells within it.
        pub cells: u64,
    }
}

row! {
    /// What somebody who observes a circuit saw in a bin of time; bins in which nothing passed have
    /// no row.
    pub struct Trace in "traces" {
        /// The circuit's number.
        pub circuit: u32,
        /// Where the observer is.
        pub place: Vantage,
        /// When the bin begins, in seconds of simulated time.
        pub t_s: f64,
        /// From the client on: packets at the entry, cells of data at the exit.
        pub up_packets: u64,
        /// Their bytes: with all headers at the entry, of data at the exit.
        pub up_bytes: u64,
        /// Towards the client: packets at the entry, cells of data at the exit.
        pub down_packets: u64,
        /// Their bytes, as above.
        pub down_bytes: u64,
    }
}

row! {
    /// A page that a user visited: what an observer would like to know.
    pub struct Visit in "visits" {
        /// The circuit's number.
        pub circuit: u32,
        /// Which page it was.
        pub page: u32,
        /// Which of the times that the page was loaded was played.
        pub instance: u32,
        /// When the client sent the first request, in seconds of simulated time.
        pub start_s: f64,
        /// When the last byte so far arrived.
        pub end_s: f64,
    }
}

row! {
    /// What went wrong at a relay, or changed there.
    pub struct Fault in "faults" {
        /// The relay's name.
        pub name: String,
        /// What it was.
        pub what: FaultKind,
        /// When it began, in seconds of simulated time.
        pub from_s: f64,
        /// When it was over; empty if it lasted to the end.
        pub until_s: Option<f64>,
        /// The rate that the access link or the token bucket had meanwhile.
        pub rate_bytes_per_s: Option<f64>,
        /// The propagation delay that the access link had meanwhile.
        pub delay_s: Option<f64>,
    }
}

row! {
    /// What a TCP connection beside the overlay delivered.
    pub struct CrossFlow in "cross" {
        /// The connection's number.
        pub flow: u32,
        /// Bytes delivered per second over the time that was measured.
        pub goodput_bytes_per_s: f64,
    }
}
