//! The paths of a network's users, and what relays are to them.

use std::collections::BTreeMap;

use hopflow_results::{Circuit, Class, Node};

use super::detail::Detail;
use super::load::{Run, Transport};

/// What the names of nodes begin with that are a user's own.
const CLIENT: &str = "client-";

/// A path of a user.
pub(super) struct UserPath {
    pub(super) circuit: u32,
    pub(super) class: Class,
    /// The user's own node, if the user is no relay.
    pub(super) client: Option<u32>,
    /// The relays from the user on, by their numbers.
    pub(super) relays: Vec<u32>,
}

/// All paths of the network that is shown in detail, by circuit.
pub(super) fn of(detail: &Detail, transports: &[Transport]) -> Vec<UserPath> {
    let Some((_, run)) = detail.runs(transports).next() else {
        return Vec::new();
    };
    let classes: BTreeMap<u32, Class> = run
        .circuits
        .iter()
        .map(|row| (row.circuit, row.class))
        .collect();
    let mut nodes_of: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
    for at in &detail.paths {
        let nodes = nodes_of.entry((at.circuit, at.leg)).or_default();
        nodes.push((at.position, at.node));
    }
    let mut paths = Vec::new();
    for ((circuit, _), mut nodes) in nodes_of {
        nodes.sort_unstable();
        let mut relays: Vec<u32> = nodes.into_iter().map(|(_, node)| node).collect();
        let own = |node: &u32| {
            let node = detail.nodes.get(*node as usize);
            node.is_some_and(|node| node.name.starts_with(CLIENT))
        };
        let client = relays.first().copied().filter(own);
        if client.is_some() {
            relays.remove(0);
        }
        let known = relays
            .iter()
            .all(|node| (*node as usize) < detail.nodes.len());
        if let Some(class) = classes
            .get(&circuit)
            .filter(|_| known && !relays.is_empty())
        {
            paths.push(UserPath {
                circuit,
                class: *class,
                client,
                relays,
            });
        }
    }
    paths
}

/// What bounds the circuits of a network.
pub(super) struct Bounds {
    /// The bottleneck of each circuit that has one, by max-min fair rates.
    pub(super) bottleneck: BTreeMap<u32, u32>,
}

impl Bounds {
    /// The bottlenecks, as far as a run knows them.
    pub(super) fn of(run: &Run, detail: &Detail) -> Self {
        let known = |circuit: &Circuit| {
            let node = circuit.bottleneck?;
            ((node as usize) < detail.nodes.len()).then_some((circuit.circuit, node))
        };
        Self {
            bottleneck: run.circuits.iter().filter_map(known).collect(),
        }
    }
}

/// What a node sends per second at most, in bytes.
pub(super) fn rate(node: &Node) -> f64 {
    let bucket = node.bucket_bytes_per_s.unwrap_or(f64::INFINITY);
    node.access_bytes_per_s.min(bucket)
}

/// The share of its rate that each node used under a transport, by name: of its token bucket, or
/// else of its access link.
pub(super) fn used(detail: &Detail, transports: &[Transport]) -> Vec<BTreeMap<String, f64>> {
    let of = |(transport, of): (&Transport, &super::detail::OfTransport)| {
        let links = of.links.iter();
        let mut used: BTreeMap<String, f64> = links
            .filter_map(|link| Some((link.name.clone(), link.utilisation?)))
            .collect();
        let run = transport
            .runs
            .iter()
            .find(|run| run.network == detail.network);
        for relay in run.iter().flat_map(|run| &run.relays) {
            if let Some(share) = relay.utilisation {
                used.insert(relay.name.clone(), share);
            }
        }
        used
    };
    transports
        .iter()
        .zip(&detail.by_transport)
        .map(of)
        .collect()
}
