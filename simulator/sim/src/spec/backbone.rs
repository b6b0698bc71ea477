//! The network between the nodes' access links.

use hopflow_units::{Duration, Rate};

use super::error::SpecError;
use super::node::QueueSpec;

/// The most routers: routes between all pairs are kept in memory.
pub const MOST_ROUTERS: usize = 4096;

/// Routers, the links between them, and which router each node's access link leads to.
///
/// Packets take the path of the least propagation delay. The default is a single hub.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backbone {
    /// The router of each node, by the node's number; nodes that are not listed are at router 0.
    pub router_of: Vec<u32>,
    /// The links between routers.
    pub links: Vec<BackboneLink>,
}

/// A full-duplex link between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackboneLink {
    /// The routers that it joins.
    pub between: [u32; 2],
    /// Serialisation rate of each direction; `None`: packets take no time and never queue.
    pub rate: Option<Rate>,
    /// Propagation delay of each direction.
    pub delay: Duration,
    /// The queue in front of each direction.
    pub queue: QueueSpec,
}

impl Backbone {
    /// The router of a node.
    pub fn router(&self, node: usize) -> u32 {
        self.router_of.get(node).copied().unwrap_or(0)
    }

    /// Number of routers: one more than the largest number in use.
    pub fn routers(&self) -> usize {
        let ends = self.links.iter().flat_map(|link| link.between);
        let last = ends.chain(self.router_of.iter().copied()).max();
        last.unwrap_or(0) as usize + 1
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let routers = self.routers();
        if routers > MOST_ROUTERS {
            return Err(SpecError(format!(
                "the network has {routers} routers; allowed are {MOST_ROUTERS}"
            )));
        }
        let mut reached = vec![false; routers];
        reached[0] = true;
        let mut left = vec![0];
        while let Some(from) = left.pop() {
            for link in &self.links {
                let [a, b] = link.between.map(|router| router as usize);
                for (near, far) in [(a, b), (b, a)] {
                    if near == from && !reached[far] {
                        reached[far] = true;
                        left.push(far);
                    }
                }
            }
        }
        match reached.iter().position(|reached| !reached) {
            Some(router) => Err(SpecError(format!(
                "no link leads from router 0 to router {router}"
            ))),
            None => Ok(()),
        }
    }
}
