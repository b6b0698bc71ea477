//! The paths of a network's users, and what relays are to them.

use std::collections::{BTreeMap, BTreeSet};

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

/// The share of its [`rate`] that each node used under a transport, by name: of its token bucket
/// where that is slower than its access link, else of the link.
pub(super) fn used(detail: &Detail, transports: &[Transport]) -> Vec<BTreeMap<String, f64>> {
    let nodes = detail.nodes.iter();
    let by_bucket: BTreeSet<&str> = nodes
        .filter(|node| rate(node) < node.access_bytes_per_s)
        .map(|node| &*node.name)
        .collect();
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
            if let Some(share) = relay.utilisation
                && by_bucket.contains(&*relay.name)
            {
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

#[cfg(test)]
mod tests {
    use hopflow_results::{Direction, Link, Relay};

    use super::super::detail::OfTransport;
    use super::*;

    #[test]
    fn the_share_that_was_used_is_that_of_the_lower_rate() {
        let names = ["slow-bucket", "slow-link", "no-bucket"];
        let buckets = [Some(1e6), Some(5e6), None];
        let node = |(number, bucket): (usize, Option<f64>)| Node {
            node: number as u32,
            name: names[number].to_owned(),
            region: String::new(),
            access_bytes_per_s: 2e6,
            delay_s: 0.02,
            bucket_bytes_per_s: bucket,
        };
        let link = |name: &str| Link {
            name: name.to_owned(),
            direction: Direction::Up,
            drops: 0,
            bytes: None,
            utilisation: Some(0.5),
        };
        let relay = |number: usize| Relay {
            name: names[number].to_owned(),
            cells_sent: 0,
            cells_retransmitted: 0,
            cells_dropped: 0,
            largest_queue_cells: 0,
            utilisation: buckets[number].map(|bucket| 0.9e6 / bucket),
        };
        let detail = Detail {
            nodes: buckets.into_iter().enumerate().map(node).collect(),
            by_transport: vec![OfTransport {
                links: names.map(link).to_vec(),
                ..OfTransport::default()
            }],
            ..Detail::default()
        };
        let transport = Transport {
            label: "backtap".to_owned(),
            colour: 0,
            runs: vec![Run {
                relays: (0..names.len()).map(relay).collect(),
                ..Run::default()
            }],
        };
        let [used] = &used(&detail, &[transport])[..] else {
            panic!("one transport")
        };
        assert_eq!(names.map(|name| used[name]), [0.9, 0.5, 0.5]);
    }
}
