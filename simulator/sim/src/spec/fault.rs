//! What goes wrong at nodes, and when.

use hopflow_units::{Duration, NodeId, Rate};

use super::error::SpecError;
use super::node::NodeSpec;

/// Something that goes wrong at a node, or changes there, for some time.
///
/// All of it is known before the simulation: it depends on no transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The node.
    pub node: NodeId,
    /// When it begins.
    pub from: Duration,
    /// When it is over; `None`: it lasts to the end.
    pub until: Option<Duration>,
    /// What happens.
    pub kind: FaultKind,
}

/// What happens at a node.
///
/// Of several rates, delays or buckets that hold at the same time, the one that began last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The node's process stops: all circuits over it are closed, and until it is back its machine
    /// neither sends nor receives. Its neighbours notice after `detected`, or when it is back, if that
    /// comes first: they close what they have of these circuits, and tell the others on the path.
    Stop {
        /// How long its neighbours take to notice.
        detected: Duration,
    },
    /// The access link loses every packet that it is handed, in both directions. What was handed to it
    /// before still arrives.
    Outage,
    /// The access link has another rate, in both directions. Packets that wait in a drop-tail queue
    /// when this begins or ends still leave at the rate before.
    Rate(Rate),
    /// The access link has another propagation delay, in both directions, for packets that are sent
    /// from then on.
    Delay(Duration),
    /// The operator sets the token bucket to another rate. A bucket without a depth of its own holds
    /// one second of it. Transports that plan with the rate of the bucket do not learn of it.
    Bucket(Rate),
}

impl Fault {
    pub(super) fn validate(&self, nodes: &[NodeSpec]) -> Result<(), SpecError> {
        let Self {
            node, from, until, ..
        } = *self;
        if node.index() >= nodes.len() {
            return Err(SpecError(format!("{node} has a fault and does not exist")));
        }
        if until.is_some_and(|until| until <= from) {
            let name = &nodes[node.index()].name;
            return Err(SpecError(format!(
                "a fault of {name} that begins at {from} is over before"
            )));
        }
        Ok(())
    }
}
