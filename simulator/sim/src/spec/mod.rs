//! What to simulate.

mod backbone;
mod traffic;

use std::sync::Arc;

use hopflow_netem::{CoDelConfig, LinkConfig, QueueConfig};
pub use hopflow_tcp::{Algorithm as TcpAlgorithm, Config as TcpConfig};
use hopflow_units::{Bytes, Duration, NodeId, Rate};

pub use backbone::{Backbone, BackboneLink};
pub use traffic::{Exchange, Fetch, Page, Session, TrafficModel, Workload};

/// A world: nodes on a network, circuits over them, and what is recorded.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// The overlay nodes, numbered by their position.
    pub nodes: Vec<NodeSpec>,
    /// What joins the nodes' access links.
    pub backbone: Backbone,
    /// The circuits, numbered by their position.
    pub circuits: Vec<CircuitSpec>,
    /// TCP connections of other applications on the nodes' machines.
    pub cross: Vec<CrossSpec>,
    /// When the simulation ends.
    pub end: Duration,
    /// Seeds every random stream of the run.
    pub seed: u64,
    /// What is recorded over time.
    pub sampling: Sampling,
    /// The TCP of stream carriers and of other applications.
    pub tcp: TcpConfig,
}

/// An overlay node and its access link to its router.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The name in results.
    pub name: String,
    /// The access link, alike in both directions.
    pub access: AccessSpec,
    /// The token bucket; a node without one sends as fast as its access link.
    pub bucket: Option<BucketSpec>,
}

/// A full-duplex access link between a node and its router.
#[derive(Clone, Debug)]
pub struct AccessSpec {
    /// Serialisation rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Duration,
    /// The queue in front of each direction.
    pub queue: QueueSpec,
    /// Probability that a packet is lost, in each direction.
    pub loss: f64,
    /// Probability that a packet arrives twice, in each direction.
    pub duplicate: f64,
    /// Extra delay of a packet, drawn uniformly from zero to this.
    pub jitter: Duration,
    /// Whether jitter may reorder packets.
    pub reorder: bool,
}

impl From<&AccessSpec> for LinkConfig {
    /// One direction of an access link.
    fn from(spec: &AccessSpec) -> Self {
        Self {
            rate: Some(spec.rate),
            delay: spec.delay,
            queue: spec.queue.into(),
            loss: spec.loss,
            duplicate: spec.duplicate,
            jitter: spec.jitter,
            reorder: spec.reorder,
        }
    }
}

/// A queue in front of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSpec {
    /// Takes at most this many packets and drops what comes on top.
    DropTail {
        /// Packets that wait at most.
        packets: u32,
    },
    /// Controlled delay (RFC 8289) with a drop-tail limit behind it.
    CoDel {
        /// Sojourn time that is acceptable for long.
        target: Duration,
        /// Time in which the sojourn time must fall below the target once.
        interval: Duration,
        /// Packets that wait at most.
        packets: u32,
    },
}

impl From<QueueSpec> for QueueConfig {
    fn from(spec: QueueSpec) -> Self {
        match spec {
            QueueSpec::DropTail { packets } => Self::drop_tail(packets),
            QueueSpec::CoDel {
                target,
                interval,
                packets,
            } => Self {
                codel: Some(CoDelConfig { target, interval }),
                ..Self::drop_tail(packets)
            },
        }
    }
}

/// A token bucket as a node's operator sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSpec {
    /// Tokens per second.
    pub rate: Rate,
    /// Tokens that the bucket holds, and starts with; `None`: one second of the rate.
    pub depth: Option<Bytes>,
    /// Time between refills; `None`: the transport's own.
    pub interval: Option<Duration>,
    /// Whether the node pays when it reads rather than when it sends, so that data waits in its
    /// sockets. Over datagrams, which cannot be left unread, nodes pay when they send.
    pub reading: bool,
}

/// A circuit and what its user does.
#[derive(Clone, Debug)]
pub struct CircuitSpec {
    /// The nodes that data requests pass, from the client to the exit; at least two.
    pub path: Vec<NodeId>,
    /// Further paths between the same client and exit, each a circuit of its own. The user has one
    /// stream over all of them, and its results are about all of them together.
    pub legs: Vec<Vec<NodeId>>,
    /// The class of the user, for grouping results.
    pub class: Class,
    /// What the user fetches.
    pub workload: Arc<dyn TrafficModel>,
    /// When the user starts.
    pub start: Duration,
}

/// The classes of users that the papers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Downloads files back to back.
    Bulk,
    /// Fetches pages with pauses.
    Web,
}

/// A TCP connection beside the overlay that transfers data without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossSpec {
    /// The node on whose machine the sender runs.
    pub from: NodeId,
    /// The node on whose machine the receiver runs.
    pub to: NodeId,
    /// When it connects.
    pub start: Duration,
}

/// A world that cannot be simulated: what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

impl WorldSpec {
    /// Checks what the types do not rule out.
    ///
    /// # Errors
    /// If a circuit leads nowhere, or a number is out of its range.
    pub fn validate(&self) -> Result<(), SpecError> {
        let fail = |text: String| Err(SpecError(text));
        for node in &self.nodes {
            for (what, share) in [
                ("loss", node.access.loss),
                ("duplicate", node.access.duplicate),
            ] {
                if !(0.0..1.0).contains(&share) {
                    let name = &node.name;
                    return fail(format!(
                        "{what} of {name} is {share}; allowed is 0 to below 1"
                    ));
                }
            }
        }
        for (number, circuit) in self.circuits.iter().enumerate() {
            let paths = circuit
                .paths()
                .try_for_each(|path| self.validate_path(path));
            let checked = paths.and_then(|()| circuit.validate());
            if let Err(problem) = checked {
                return fail(format!("circuit {number} {problem}"));
            }
        }
        for flow in &self.cross {
            let ends = [flow.from, flow.to];
            if ends[0] == ends[1] || ends.iter().any(|node| node.index() >= self.nodes.len()) {
                return fail(format!(
                    "a connection leads from {} to {}; allowed are two different nodes",
                    flow.from, flow.to
                ));
            }
        }
        self.backbone.validate()?;
        self.tcp
            .validate()
            .map_err(|error| SpecError(error.to_string()))
    }
}

impl WorldSpec {
    fn validate_path(&self, path: &[NodeId]) -> Result<(), String> {
        if path.len() < 2 {
            return Err(format!("has {} nodes; it needs two", path.len()));
        }
        if let Some(node) = path.iter().find(|node| node.index() >= self.nodes.len()) {
            return Err(format!("leads over {node}, which does not exist"));
        }
        if path.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("leads from a node to itself".to_owned());
        }
        Ok(())
    }
}

impl CircuitSpec {
    /// The most paths that one user has.
    pub const MOST_PATHS: usize = 16;

    /// All paths, the first one first.
    pub fn paths(&self) -> impl Iterator<Item = &[NodeId]> {
        std::iter::once(&self.path)
            .chain(&self.legs)
            .map(Vec::as_slice)
    }

    fn validate(&self) -> Result<(), String> {
        let ends = |path: &[NodeId]| (path.first().copied(), path.last().copied());
        if self.paths().any(|path| ends(path) != ends(&self.path)) {
            return Err("has paths between different ends".to_owned());
        }
        if self.paths().count() > Self::MOST_PATHS {
            return Err(format!("has more than {} paths", Self::MOST_PATHS));
        }
        self.workload.validate()
    }
}

/// What is recorded over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampling {
    /// Interval of R(t) and W(t) per circuit; `None`: not recorded.
    pub circuits: Option<Duration>,
    /// Interval of queue and window per hop; `None`: not recorded.
    pub hops: Option<Duration>,
    /// Nothing is recorded before this time (downloads are).
    pub from: Duration,
}
