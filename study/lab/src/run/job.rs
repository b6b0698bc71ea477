//! One run: a transport in the world of a seed.

use std::sync::Arc;

use hopflow_overlay::Factory;
use hopflow_results::RunKey;
use hopflow_sim::Simulated;
use hopflow_sim::spec::WorldSpec;
use serde::Serialize;

use super::rollout::Rollout;
use crate::scenario::{Circuits, InputError, Network, Record, Scenario, Text};

/// A run to be made.
#[derive(Clone, Debug)]
pub struct Job {
    /// What the run is recognised by.
    pub key: RunKey,
    pub(super) scenario: Arc<Scenario>,
    pub(super) factory: Arc<dyn Factory<Simulated>>,
    /// The transport that is rolled out, if there is one.
    pub(super) rollout: Option<Rollout>,
}

impl Job {
    /// The runs of a scenario: all transports with the first seed, then with the next.
    ///
    /// `build` identifies the program beyond its version, so that results of a program that was
    /// changed since are not taken for its own.
    ///
    /// # Errors
    /// If the scenario cannot be run.
    pub fn plan(scenario: &Arc<Scenario>, build: &str) -> Result<Vec<Self>, InputError> {
        scenario.check()?;
        let world = canonical_world(scenario);
        let mut transports = Vec::new();
        for label in scenario.transports.labels() {
            let factory: Arc<dyn Factory<Simulated>> = scenario.transport(label)?.into();
            transports.push((label, factory, Rollout::of(scenario, label)?));
        }
        let mut jobs = Vec::new();
        for seed in scenario.seeds.list() {
            // Each seed samples a network of its own, which the transports share.
            let network = seed as u32;
            for (label, factory, rollout) in &transports {
                let parameters = factory.describe();
                let version = env!("CARGO_PKG_VERSION");
                let mut content = vec![&*world, factory.name(), &parameters, version, build];
                let upgrade = rollout.as_ref().map(Rollout::content);
                content.extend(upgrade.as_deref());
                jobs.push(Self {
                    key: RunKey::new(label, network, seed, &content),
                    scenario: Arc::clone(scenario),
                    factory: Arc::clone(factory),
                    rollout: rollout.clone(),
                });
            }
        }
        if let Some(job) = jobs.first() {
            let invalid = job.world().validate();
            invalid.map_err(|error| InputError::new(error.to_string()))?;
        }
        Ok(jobs)
    }

    /// The world that the run simulates.
    pub(super) fn world(&self) -> WorldSpec {
        self.scenario.sample(self.key.seed)
    }
}

/// What of a scenario decides the worlds that it samples, in one form for all ways to write it.
pub(super) fn canonical_world(scenario: &Scenario) -> String {
    #[derive(Serialize)]
    struct World<'a> {
        duration: Text<hopflow_units::Duration>,
        warm_up: Text<hopflow_units::Duration>,
        network: &'a Network,
        circuits: &'a [Circuits],
        record: Record,
        #[serde(skip_serializing_if = "str::is_empty")]
        files: &'a str,
    }
    let world = World {
        duration: scenario.duration,
        warm_up: scenario.warm_up,
        network: &scenario.network,
        circuits: &scenario.circuits,
        record: scenario.record,
        files: scenario.loaded.digest(),
    };
    serde_json::to_string(&world).expect("a scenario is plain data")
}
