//! Drawing the world of one seed from a scenario.
//!
//! Every draw comes from a stream of its own, named by what is drawn and numbered by the node or
//! circuit: adding a circuit changes no relay, and no transport changes anything.

use hopflow_random::{Stream, Streams};
use hopflow_sim::spec::{AccessSpec, CircuitSpec, NodeSpec, Sampling, WorldSpec};
use hopflow_units::NodeId;

use super::{Access, Circuits, Network, Path, RandomPath, Relays, Scenario, Shaping};

impl Scenario {
    /// The world of one seed: the same for every transport.
    ///
    /// The scenario must have passed [`check`](Self::check).
    pub fn sample(&self, seed: u64) -> WorldSpec {
        let streams = Streams::new(seed);
        let mut nodes = self.network.sample(streams);
        let relays = nodes.clone();
        let mut circuits: Vec<CircuitSpec> = Vec::new();
        for group in &self.circuits {
            for _ in 0..group.count {
                let number = circuits.len() as u64;
                let mut path =
                    group.draw_path(&self.network, &relays, &mut streams.stream("path", number));
                if group.client {
                    path.insert(0, NodeId::new(nodes.len() as u32));
                    nodes.push(group.client_node(&self.network, streams, number));
                }
                circuits.push(CircuitSpec {
                    path,
                    class: group.workload.class.into(),
                    workload: group.workload.resolve(),
                    start: group.start.sample(&mut streams.stream("start", number)),
                });
            }
        }
        let mut world = WorldSpec {
            nodes,
            circuits,
            end: self.duration.0,
            seed,
            sampling: Sampling {
                circuits: Some(self.record.circuits.0),
                hops: self.record.hops.map(|interval| interval.0),
                from: self.warm_up.0,
            },
            #[expect(
                clippy::default_trait_access,
                reason = "the type belongs to the simulator"
            )]
            tcp: Default::default(),
        };
        self.network.tcp.apply(&mut world);
        world
    }
}

impl Network {
    fn sample(&self, streams: Streams) -> Vec<NodeSpec> {
        let mut nodes: Vec<NodeSpec> = Vec::new();
        for relays in &self.relays {
            let access = relays.access.or(&self.access);
            let bucket = Shaping::or(relays.bucket.as_ref(), &self.bucket);
            for name in relays.members() {
                let number = nodes.len() as u64;
                nodes.push(NodeSpec {
                    name,
                    access: draw_access(&access, streams, "relay", number),
                    bucket: bucket
                        .resolve(|rate| rate.sample(&mut streams.stream("relay bucket", number))),
                });
            }
        }
        nodes
    }
}

fn draw_access(access: &Access, streams: Streams, kind: &str, number: u64) -> AccessSpec {
    access.resolve(
        |rate| rate.sample(&mut streams.stream(&format!("{kind} rate"), number)),
        |delay| delay.sample(&mut streams.stream(&format!("{kind} delay"), number)),
    )
}

impl Relays {
    /// Number of relays.
    pub(super) fn size(&self) -> u64 {
        self.count.map_or(1, u64::from)
    }

    /// The names of the relays.
    pub(super) fn members(&self) -> impl Iterator<Item = String> {
        (1..=self.size()).map(|number| match self.count {
            Some(_) => format!("{}-{number}", self.name),
            None => self.name.clone(),
        })
    }

    /// Whether this is the name of the relay, of the group, or of one in the group.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.name == name || self.members().any(|member| member == name)
    }
}

impl Circuits {
    fn client_node(&self, network: &Network, streams: Streams, number: u64) -> NodeSpec {
        let access = self.access.or(&network.clients).or(&network.access);
        NodeSpec {
            name: format!("client-{number}"),
            access: draw_access(&access, streams, "client", number),
            bucket: None,
        }
    }

    fn draw_path(
        &self,
        network: &Network,
        relays: &[NodeSpec],
        stream: &mut Stream,
    ) -> Vec<NodeId> {
        let path = match &self.path {
            Path::Named(names) => draw_named(names, network, stream),
            Path::Random(path) => draw_random(*path, relays, stream),
        };
        path.into_iter()
            .map(|relay| NodeId::new(relay as u32))
            .collect()
    }
}

/// Fills the names of groups with members that stand nowhere else in the path.
fn draw_named(names: &[String], network: &Network, stream: &mut Stream) -> Vec<usize> {
    let candidates: Vec<_> = names.iter().map(|name| network.numbers(name)).collect();
    let mut taken: Vec<_> = candidates
        .iter()
        .filter(|range| range.len() == 1)
        .map(|range| range.start)
        .collect();
    let mut draw = |range: &std::ops::Range<usize>| {
        if range.len() == 1 {
            return range.start;
        }
        let free: Vec<_> = range
            .clone()
            .filter(|relay| !taken.contains(relay))
            .collect();
        let relay = free[stream.integer(0, free.len() as u64 - 1) as usize];
        taken.push(relay);
        relay
    };
    candidates.iter().map(&mut draw).collect()
}

impl Network {
    /// The numbers of the relays that a name stands for.
    fn numbers(&self, name: &str) -> std::ops::Range<usize> {
        let mut first = 0;
        for relays in &self.relays {
            let size = relays.size() as usize;
            if relays.name == name {
                return first..first + size;
            }
            if let Some(member) = relays.members().position(|member| member == name) {
                return first + member..first + member + 1;
            }
            first += size;
        }
        unreachable!("the check saw to it that every name is that of a relay")
    }
}

/// Draws different relays, one after another, among those that are left.
fn draw_random(path: RandomPath, relays: &[NodeSpec], stream: &mut Stream) -> Vec<usize> {
    let weight = |relay: &NodeSpec| {
        if !path.weighted {
            return 1;
        }
        let shaped = relay.bucket.map(|bucket| bucket.rate.bytes_per_sec());
        shaped
            .unwrap_or(u64::MAX)
            .min(relay.access.rate.bytes_per_sec())
    };
    let mut weights: Vec<u64> = relays.iter().map(weight).collect();
    let mut draw = |_| {
        let total: u64 = weights.iter().sum();
        let mut left = stream.integer(0, total - 1);
        let relay = weights
            .iter()
            .position(|weight| match left.checked_sub(*weight) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            })
            .expect("the draw lies below the total");
        weights[relay] = 0;
        relay
    };
    (0..path.random).map(&mut draw).collect()
}
