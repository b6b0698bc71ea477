//! A whole world, as a specification describes it.

use hopflow_tcp::{Algorithm as TcpAlgorithm, Config as TcpConfig, ConfigError as TcpConfigError};
use hopflow_units::{Bytes, Duration, NodeId};
use hopflow_wire::CELL;

use super::backbone::Backbone;
use super::circuit::CircuitSpec;
use super::error::SpecError;
use super::fault::Fault;
use super::node::NodeSpec;

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
    /// What goes wrong at nodes, and when.
    pub faults: Vec<Fault>,
    /// When the simulation ends.
    pub end: Duration,
    /// Seeds every random stream of the run.
    pub seed: u64,
    /// What is recorded over time.
    pub sampling: Sampling,
    /// The TCP of stream carriers and of other applications.
    pub tcp: TcpConfig,
    /// Whether what stream carriers write travels in TLS records, as tor fills them.
    pub tls: bool,
}

/// A TCP connection outside the overlay that transfers data without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossSpec {
    /// The node on whose machine the sender runs.
    pub from: NodeId,
    /// The node on whose machine the receiver runs.
    pub to: NodeId,
    /// When it connects.
    pub start: Duration,
    /// What governs its congestion window; `None`: as all others'.
    pub algorithm: Option<TcpAlgorithm>,
}

/// What is recorded over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampling {
    /// Interval of R(t) and W(t) per circuit; `None`: not recorded.
    pub circuits: Option<Duration>,
    /// Interval of queue, window and metrics per hop; `None`: not recorded.
    pub hops: Option<Duration>,
    /// Nothing is recorded before this time (downloads are).
    pub from: Duration,
}

/// Whether connections of the overlay can have these parameters: a node writes whole cells.
///
/// # Errors
/// Names the first parameter that is out of its range, and the range.
pub fn check_tcp(tcp: &TcpConfig) -> Result<(), TcpConfigError> {
    let valid = tcp.validate();
    // The least sizes of buffers depend on it.
    if valid.as_ref().is_err_and(|error| error.key() == "mss") {
        return valid;
    }
    let cell = Bytes::new(CELL as u64);
    if tcp.send_buffer < tcp.mss.max(cell) {
        let allowed = "`mss`, and a cell (512 B), to 2 GiB";
        return Err(TcpConfigError::new("send_buffer", tcp.send_buffer, allowed));
    }
    // With less, a segment that is not full can wait by Nagle's rule without room for what fills it.
    if tcp.unsent < tcp.mss + cell {
        let allowed = "`mss` and a cell (512 B) together, or more";
        return Err(TcpConfigError::new("unsent", tcp.unsent, allowed));
    }
    valid
}

impl WorldSpec {
    /// Checks what the types do not rule out.
    ///
    /// # Errors
    /// If a circuit leads nowhere, or a number is out of its range.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.nodes.iter().try_for_each(NodeSpec::validate)?;
        for (number, circuit) in self.circuits.iter().enumerate() {
            let paths = circuit
                .all_paths()
                .try_for_each(|path| self.validate_path(path));
            paths
                .and_then(|()| circuit.validate())
                .map_err(|problem| SpecError(format!("circuit {number} {problem}")))?;
        }
        self.cross
            .iter()
            .try_for_each(|flow| self.validate_flow(*flow))?;
        let mut faults = self.faults.iter();
        faults.try_for_each(|fault| fault.validate(&self.nodes))?;
        self.backbone.validate()?;
        let tcp = if self.circuits.is_empty() {
            self.tcp.validate()
        } else {
            check_tcp(&self.tcp)
        };
        tcp.map_err(|error| SpecError(format!("tcp.{error}")))
    }

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

    fn validate_flow(&self, CrossSpec { from, to, .. }: CrossSpec) -> Result<(), SpecError> {
        if from == to
            || [from, to]
                .iter()
                .any(|node| node.index() >= self.nodes.len())
        {
            return Err(SpecError(format!(
                "a connection leads from {from} to {to}; allowed are two different nodes"
            )));
        }
        Ok(())
    }
}
