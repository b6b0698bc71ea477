//! What distinguishes the variants of a run that have its beginning in common.

use std::ops::Range;
use std::sync::Arc;

use hopflow_overlay::Factory;
use hopflow_random::Streams;
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{Outcome, Simulated, World};
use hopflow_units::{Duration, NodeId};

use crate::scenario::{CLIENT_PREFIX, InputError, Scenario};

/// What one variant of a transport changes.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The variant, by its position in the scenario.
    variant: usize,
    /// What results call the run.
    pub(super) label: String,
    /// When it changes.
    pub(super) at: Duration,
    /// What of it decides a run's results.
    pub(super) content: String,
    /// The transport with its new options, if there are some.
    factory: Option<Arc<dyn Factory<Simulated>>>,
}

impl Change {
    /// The variants of the transport with this label.
    pub(super) fn of(scenario: &Scenario, label: &str) -> Result<Vec<Self>, InputError> {
        let Some(at) = scenario.branch_at() else {
            return Ok(Vec::new());
        };
        let variants = scenario.variants().iter().enumerate();
        let variants = variants.filter(|(_, variant)| variant.is_of(label));
        let change = |(number, variant): (usize, &crate::scenario::Variant)| {
            let factory = scenario.changed_transport(label, number)?;
            let options = factory.as_ref().map(|factory| factory.describe());
            let circuits = scenario.circuits_of(number);
            let content = format!("{at} {options:?} {circuits:?} {:?}", variant.seed);
            Ok(Self {
                variant: number,
                label: format!("{label}/{}", variant.name),
                at,
                content,
                factory: factory.map(Arc::from),
            })
        };
        variants.map(change).collect()
    }

    /// What the circuits of all variants, which wait in all runs, add to what decides their results.
    pub(super) fn waiting(scenario: &Scenario) -> Option<String> {
        let circuits: Vec<_> = scenario
            .variants()
            .iter()
            .flat_map(|of| &of.circuits)
            .collect();
        let text = serde_json::to_string(&circuits).expect("a scenario is plain data");
        (!circuits.is_empty()).then_some(text)
    }

    /// Changes a world that has come to the time of the change.
    pub(super) fn apply(&self, scenario: &Scenario, seed: u64, world: &mut World) {
        if let Some(factory) = &self.factory {
            let taken = world.reconfigure(&**factory);
            taken.expect("the check tried it");
        }
        if let Some(own) = scenario.variants()[self.variant].seed {
            // Networks stay independent of each other.
            world.reseed(Streams::new(own).stream("network", seed).bits());
        }
        world.start_users(&scenario.starts(self.variant, seed));
    }

    /// The part of a world that a run has, of a variant or of none, if others have circuits besides.
    pub(super) fn part(
        change: Option<&Self>,
        scenario: &Scenario,
        world: &WorldSpec,
    ) -> Option<Part> {
        let own = scenario.own_circuits();
        if world.circuits.len() == own {
            return None;
        }
        let circuits = change.map_or(own..own, |change| scenario.circuits_of(change.variant));
        let clients = |circuits: Range<usize>| {
            let firsts = world.circuits[circuits]
                .iter()
                .map(|circuit| circuit.path[0]);
            firsts.filter(|node| is_client(world, *node)).count()
        };
        let nodes = world.nodes.len() - clients(own..world.circuits.len());
        let first = nodes + clients(own..circuits.start);
        let last = first + clients(circuits.clone());
        Some(Part {
            circuits: Kept(own, circuits),
            nodes: Kept(nodes, first..last),
        })
    }
}

fn is_client(world: &WorldSpec, node: NodeId) -> bool {
    world.nodes[node.index()].name.starts_with(CLIENT_PREFIX)
}

/// The part of a world that one run is about: without the circuits of other variants, and their
/// clients.
#[derive(Clone, Debug)]
pub(super) struct Part {
    circuits: Kept,
    nodes: Kept,
}

/// What is kept: all before a number, and a range behind it, which is then numbered on.
#[derive(Clone, Debug)]
struct Kept(usize, Range<usize>);

impl Kept {
    fn number(&self, old: usize) -> Option<usize> {
        let Self(before, range) = self;
        match old {
            _ if old < *before => Some(old),
            _ if range.contains(&old) => Some(old - range.start + before),
            _ => None,
        }
    }

    fn retain<T>(&self, all: &mut Vec<T>) {
        let mut number = 0..;
        all.retain(|_| number.next().is_some_and(|old| self.number(old).is_some()));
    }

    fn renumber(&self, number: &mut u32) -> bool {
        let new = self.number(*number as usize);
        *number = new.map_or(*number, |new| new as u32);
        new.is_some()
    }
}

impl Part {
    /// The part of the world.
    pub(super) fn of_world(&self, world: &mut WorldSpec) {
        self.circuits.retain(&mut world.circuits);
        self.nodes.retain(&mut world.nodes);
        for (number, circuit) in world.circuits.iter_mut().enumerate() {
            for path in std::iter::once(&mut circuit.path).chain(&mut circuit.legs) {
                for node in path {
                    let new = self.nodes.number(node.index()).expect("its nodes are kept");
                    *node = NodeId::new(new as u32);
                }
            }
            let first = &mut world.nodes[circuit.path[0].index()].name;
            if first.starts_with(CLIENT_PREFIX) {
                *first = format!("{CLIENT_PREFIX}{number}");
            }
        }
    }

    /// What was recorded of that part, whose world is `world`.
    pub(super) fn of_outcome(&self, outcome: &mut Outcome, world: &WorldSpec) {
        // Without `..`: whoever adds a table decides here what of it is kept.
        let Outcome {
            downloads,
            failures,
            rebuilt,
            open,
            circuits,
            samples,
            hops,
            metrics,
            legs,
            latencies,
            traces,
            breakdown,
            node_traces: _,
            captures: _,
            visits,
            nodes,
            queues,
            cross: _,
            counters: _,
        } = outcome;
        let of = &self.circuits;
        of.retain(circuits);
        of.retain(latencies);
        downloads.retain_mut(|row| of.renumber(&mut row.circuit));
        failures.retain_mut(|row| of.renumber(&mut row.circuit));
        rebuilt.retain_mut(|row| of.renumber(&mut row.circuit));
        open.retain_mut(|row| of.renumber(&mut row.circuit));
        samples.retain_mut(|row| of.renumber(&mut row.circuit));
        hops.retain_mut(|row| of.renumber(&mut row.circuit));
        metrics.retain_mut(|row| of.renumber(&mut row.circuit));
        legs.retain_mut(|row| of.renumber(&mut row.circuit));
        traces.retain_mut(|row| of.renumber(&mut row.circuit));
        visits.retain_mut(|row| of.renumber(&mut row.circuit));
        breakdown.retain_mut(|row| of.renumber(&mut row.circuit));
        for part in breakdown {
            let new = self.nodes.number(part.node.index());
            part.node = NodeId::new(new.expect("its nodes are kept") as u32);
        }
        self.nodes.retain(nodes);
        self.nodes.retain(queues);
        for (node, spec) in nodes.iter_mut().zip(&world.nodes) {
            node.name.clone_from(&spec.name);
        }
    }

    /// Of what is known of each node, that of the part.
    pub(super) fn of_nodes<T>(&self, all: &mut Vec<T>) {
        self.nodes.retain(all);
    }

    /// Of what is known of each circuit, that of the part.
    pub(super) fn of_circuits<T>(&self, all: &mut Vec<T>) {
        self.circuits.retain(all);
    }
}
