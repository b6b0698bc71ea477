//! Runs in which a transport is being rolled out.

use std::sync::Arc;

use hopflow_overlay::Factory;
use hopflow_random::Streams;
use hopflow_results::Deployment;
use hopflow_sim::Simulated;
use hopflow_sim::spec::{CircuitSpec, WorldSpec};
use hopflow_units::NodeId;

use crate::scenario::{CLIENT_PREFIX, InputError, Scenario, Upgrade};

/// The transport that is rolled out, and how far.
#[derive(Clone, Debug)]
pub(super) struct Rollout {
    /// The preset of the transport that it replaces.
    old: String,
    upgrade: Upgrade,
    pub(super) factory: Arc<dyn Factory<Simulated>>,
}

impl Rollout {
    /// The roll-out under a label, if there is one.
    pub(super) fn of(scenario: &Scenario, label: &str) -> Result<Option<Self>, InputError> {
        let Some((choice, factory)) = scenario.transports.get(label).zip(scenario.upgrade(label)?)
        else {
            return Ok(None);
        };
        Ok(choice.upgrade.clone().map(|upgrade| Self {
            old: choice.preset.clone().unwrap_or_else(|| label.to_owned()),
            upgrade,
            factory: factory.into(),
        }))
    }

    /// What of it decides a run's results.
    pub(super) fn content(&self) -> String {
        let Upgrade {
            clients,
            relays,
            exits,
            ..
        } = self.upgrade;
        let (name, parameters) = (self.factory.name(), self.factory.describe());
        format!("{name} {parameters} clients {clients} relays {relays} exits {exits}")
    }

    /// Which circuits have it: those of which all nodes do.
    pub(super) fn upgraded(&self, world: &WorldSpec) -> Vec<bool> {
        let nodes = Nodes {
            upgrade: &self.upgrade,
            world,
            streams: Streams::new(world.seed),
        };
        let circuits = world.circuits.iter().enumerate();
        let all = |(number, circuit): (usize, &CircuitSpec)| {
            circuit.all_paths().all(|path| nodes.all_have(path, number))
        };
        circuits.map(all).collect()
    }

    /// The rows that tell which transport each circuit had.
    pub(super) fn rows(&self, upgraded: &[bool]) -> Vec<Deployment> {
        let row = |(circuit, upgraded): (u32, &bool)| {
            let preset = if *upgraded {
                &self.upgrade.preset
            } else {
                &self.old
            };
            Deployment {
                circuit,
                upgraded: *upgraded,
                preset: preset.clone(),
            }
        };
        (0..).zip(upgraded).map(row).collect()
    }
}

/// Which nodes of a world have the transport.
struct Nodes<'a> {
    upgrade: &'a Upgrade,
    world: &'a WorldSpec,
    streams: Streams,
}

impl Nodes<'_> {
    /// Whether all nodes of a circuit's path do.
    fn all_have(&self, path: &[NodeId], circuit: usize) -> bool {
        let exit = path.last().copied();
        path.iter().all(|node| {
            let is_client = self.world.nodes[node.index()]
                .name
                .starts_with(CLIENT_PREFIX);
            if is_client {
                self.has("upgrade of a client", circuit, self.upgrade.clients)
            } else {
                let share = if Some(*node) == exit {
                    self.upgrade.exits
                } else {
                    self.upgrade.relays
                };
                self.has("upgrade of a relay", node.index(), share)
            }
        })
    }

    /// Whether a node is among the share that does. It draws the same number whatever the share.
    fn has(&self, stream: &str, number: usize, share: f64) -> bool {
        self.streams.stream(stream, number as u64).unit() < share
    }
}
