//! The max-min fair goodput of circuits, as a measure for what they got.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_sim::spec::{CircuitSpec, NodeSpec, WorldSpec};
use hopflow_stats::{FairFlow, FairShare, max_min};
use hopflow_units::NodeId;
use hopflow_wire::{CELL, CELL_DATA};

/// What a node can do, as one of the links that are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    /// Sending: the token bucket or the access link, whichever is slower.
    Send(NodeId),
    /// Receiving, over the access link.
    Receive(NodeId),
}

impl Resource {
    pub(super) const fn node(self) -> NodeId {
        match self {
            Self::Send(node) | Self::Receive(node) => node,
        }
    }

    /// Bytes of data per second, in full cells.
    pub(crate) fn capacity(self, nodes: &[NodeSpec]) -> f64 {
        let node = &nodes[self.node().index()];
        let access = node.access.rate.as_f64();
        let rate = match (self, node.bucket) {
            (Self::Send(_), Some(bucket)) => access.min(bucket.rate.as_f64()),
            _ => access,
        };
        rate * CELL_DATA as f64 / CELL as f64
    }
}

/// The max-min fair goodput of a greedy circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fair {
    /// In bytes of data per second.
    pub(super) rate: f64,
    /// The node whose capacity bounds it.
    pub(super) bottleneck: Option<NodeId>,
}

/// The max-min fair goodput of each circuit whose user is greedy, `None` for the others.
///
/// `goodputs` is what each circuit got, in bytes of data per second. What circuits of other users
/// got is taken off the capacities, and greedy circuits share what is left by progressive filling
/// (`PredicTor`, section 5, compares with such rates). Feedback, retransmissions and the headers
/// below cells are not reckoned, nor are connections beside the overlay, and a greedy user that starts
/// later counts as if it was there all the time. Where a user has several paths, what it takes of each is its
/// transport's choice, and nothing is said about any circuit of the world; nor is it where
/// capacities change with time, by faults, or users leave.
pub(super) fn rates(world: &WorldSpec, goodputs: &[f64]) -> Vec<Option<Fair>> {
    let changes = |circuit: &CircuitSpec| !circuit.legs.is_empty() || circuit.leave.is_some();
    if !world.faults.is_empty() || world.circuits.iter().any(changes) {
        return vec![None; world.circuits.len()];
    }
    let mut left: BTreeMap<Resource, f64> = BTreeMap::new();
    for (circuit, goodput) in world.circuits.iter().zip(goodputs) {
        let taken = if circuit.workload.is_greedy() {
            0.0
        } else {
            *goodput
        };
        for resource in resources(circuit) {
            let capacity = || resource.capacity(&world.nodes);
            *left.entry(resource).or_insert_with(capacity) -= taken;
        }
    }
    let capacities: Vec<f64> = left.values().map(|left| left.max(0.0)).collect();
    let numbers: BTreeMap<Resource, usize> = left.keys().copied().zip(0..).collect();
    let greedy = || {
        let circuits = world.circuits.iter();
        circuits.filter(|circuit| circuit.workload.is_greedy())
    };
    let flows: Vec<FairFlow> = greedy()
        .map(|circuit| FairFlow {
            links: resources(circuit).map(|r| numbers[&r]).collect(),
            demand: None,
        })
        .collect();
    let shares = max_min(&capacities, &flows).expect("a circuit has links with finite rates");
    let nodes: Vec<NodeId> = left.keys().map(|resource| resource.node()).collect();
    let mut fair = shares.into_iter().map(|share: FairShare| Fair {
        rate: share.rate,
        bottleneck: share.bottleneck.map(|number| nodes[number]),
    });
    let of_circuit = |circuit: &CircuitSpec| {
        let greedy = circuit.workload.is_greedy();
        greedy.then(|| fair.next()).flatten()
    };
    world.circuits.iter().map(of_circuit).collect()
}

/// What a circuit's data pass on its path.
pub(super) fn resources(circuit: &CircuitSpec) -> impl Iterator<Item = Resource> {
    on_path(&circuit.path, circuit.workload.measured())
}

/// What data pass on their way from the exit to the client, or of uploads the other way.
pub(crate) fn on_path(path: &[NodeId], measured: Direction) -> impl Iterator<Item = Resource> {
    path.windows(2).flat_map(move |hop| {
        let (receiver, sender) = match measured {
            Direction::Backward => (hop[0], hop[1]),
            Direction::Forward => (hop[1], hop[0]),
        };
        [Resource::Send(sender), Resource::Receive(receiver)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// Two downloaders and a reader of pages over the same relays; another downloader elsewhere.
    const TEXT: &str = r#"
name = "shared"
duration = "10 s"
seeds = 1
[transports.vanilla]
[network]
access = { rate = "1 Gbit/s", delay = "10 ms" }
[[network.relays]]
name = "exit"
[[network.relays]]
name = "slow"
bucket = { rate = "1024 kB/s" }
[[network.relays]]
name = "link"
access = { rate = "16384 kbit/s" }
[[circuits]]
count = 2
path = ["slow", "exit"]
workload = "bulk"
[[circuits]]
path = ["slow", "exit"]
workload = "web"
[[circuits]]
path = ["link", "exit"]
workload = { class = "web", response = "endless" }
"#;

    fn world() -> WorldSpec {
        let scenario = Scenario::parse(TEXT, "shared.toml").unwrap();
        scenario.sample(1)
    }

    #[test]
    fn greedy_circuits_share_what_others_leave() {
        let shared = rates(&world(), &[1.0, 2.0, 96_000.0, 3.0]);
        let rates: Vec<_> = shared
            .iter()
            .map(|fair| fair.map(|fair| (fair.rate.round(), fair.bottleneck.unwrap().index())))
            .collect();
        // 1024 kB/s in cells carry 996 kB/s of data; 16 384 kbit/s are 2048 kB/s.
        let half = Some((450_000.0, 1));
        assert_eq!(rates, [half, half, None, Some((1_992_000.0, 2))]);
    }

    #[test]
    fn others_that_take_everything_leave_nothing() {
        let shared = rates(&world(), &[0.0, 0.0, 5e6, 0.0]);
        assert_eq!(shared[0].unwrap().rate, 0.0);
        assert_eq!(shared[2], None);
    }

    #[test]
    fn a_world_of_readers_has_no_fair_rates() {
        let mut world = world();
        world
            .circuits
            .retain(|circuit| !circuit.workload.is_greedy());
        assert_eq!(rates(&world, &[7.0]), [None]);
    }
}
