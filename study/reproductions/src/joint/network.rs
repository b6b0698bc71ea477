//! What a sampled network allows: delays without queues, and what is under way on a hop at most.

use hopflow_sim::spec::{NodeSpec, WorldSpec};
use hopflow_wire::CELL;

/// Bytes of a cell.
const CELL_BYTES: f64 = CELL as f64;

/// A sampled network, as far as goals are about it.
#[derive(Debug)]
pub(super) struct Network {
    circuits: Vec<Circuit>,
}

/// The way of a circuit's data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Circuit {
    /// One way of each hop without queues, in seconds, from the exit to the client.
    hops: Vec<f64>,
    /// Bytes per second of its slowest node.
    slowest: f64,
}

impl Network {
    /// The network of a world.
    pub(super) fn new(world: &WorldSpec) -> Self {
        let between = Routes::new(world);
        let circuits = world.circuits.iter().map(|circuit| {
            let nodes = || circuit.path.iter().map(|node| &world.nodes[node.index()]);
            // Only senders pay a bucket, and the client sends nothing.
            let senders = nodes().skip(1).map(sends);
            let receivers = nodes().map(|node| node.access.rate.as_f64());
            let delay = |hop: &[_]| {
                let [a, b]: [usize; 2] = [hop[0], hop[1]];
                let access = [a, b].map(|node| world.nodes[node].access.delay.as_secs_f64());
                access[0] + access[1] + between.seconds(a, b)
            };
            let path: Vec<usize> = circuit.path.iter().map(|node| node.index()).collect();
            Circuit {
                hops: path.windows(2).rev().map(delay).collect(),
                slowest: senders.chain(receivers).fold(f64::INFINITY, f64::min),
            }
        });
        Self {
            circuits: circuits.collect(),
        }
    }

    /// The circuit of a number; `None` if the network has none of it.
    pub(super) fn circuit(&self, number: u32) -> Option<&Circuit> {
        self.circuits.get(number as usize)
    }
}

impl Circuit {
    /// One way from the exit to the client without queues, in seconds.
    pub(super) fn propagation(&self) -> f64 {
        self.hops.iter().sum()
    }

    /// Cells that a round trip of a hop holds without queues, at the rate of the circuit's slowest node;
    /// hops are counted from the exit. `None` if there is no such hop.
    pub(super) fn holds(&self, hop: u32) -> Option<f64> {
        let one_way = self.hops.get(hop as usize)?;
        Some(self.slowest * 2.0 * one_way / CELL_BYTES)
    }
}

/// Bytes per second that a node can send.
fn sends(node: &NodeSpec) -> f64 {
    let access = node.access.rate.as_f64();
    let bucket = node.bucket.map(|bucket| bucket.rate.as_f64());
    bucket.map_or(access, |bucket| bucket.min(access))
}

/// The least delays between routers, in seconds.
struct Routes<'a> {
    world: &'a WorldSpec,
    least: Vec<Vec<f64>>,
}

impl<'a> Routes<'a> {
    fn new(world: &'a WorldSpec) -> Self {
        let routers = world.backbone.routers();
        let mut least = vec![vec![f64::INFINITY; routers]; routers];
        for (router, row) in least.iter_mut().enumerate() {
            row[router] = 0.0;
        }
        for link in &world.backbone.links {
            let [a, b] = link.between.map(|router| router as usize);
            let delay = link.delay.as_secs_f64().min(least[a][b]);
            (least[a][b], least[b][a]) = (delay, delay);
        }
        for over in 0..routers {
            for from in 0..routers {
                for to in 0..routers {
                    let around = least[from][over] + least[over][to];
                    least[from][to] = least[from][to].min(around);
                }
            }
        }
        Self { world, least }
    }

    fn seconds(&self, from: usize, to: usize) -> f64 {
        let [from, to] = [from, to].map(|node| self.world.backbone.router(node) as usize);
        self.least[from][to]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_lab::scenario::Scenario;

    const TEXT: &str = r#"
name = "chain"
duration = "10 s"
seeds = 1
[transports.joint]
[network]
topology = { tree = { branches = [1, 1], delay = "5 ms" } }
access = { rate = "1 Gbit/s", delay = "10 ms" }
[[network.relays]]
name = "near"
at = "root"
[[network.relays]]
name = "far"
at = "level-2"
bucket = { rate = "512 kB/s" }
[[circuits]]
path = ["near", "far"]
at = "root"
workload = "bulk"
"#;

    #[test]
    fn a_hop_holds_the_slowest_rate_for_a_round_trip_over_all_links() {
        let scenario = Scenario::parse(TEXT, "chain.toml").unwrap();
        let network = Network::new(&scenario.sample(1));
        let circuit = network.circuit(0).unwrap();
        // From the exit two links of the tree and two access links, then two access links.
        assert!((circuit.propagation() - 0.050).abs() < 1e-12);
        let rate = 512e3 / CELL_BYTES;
        assert!((circuit.holds(0).unwrap() - rate * 0.060).abs() < 1e-9);
        assert!((circuit.holds(1).unwrap() - rate * 0.040).abs() < 1e-9);
        assert_eq!(circuit.holds(2), None);
        assert!(network.circuit(1).is_none());
    }
}
