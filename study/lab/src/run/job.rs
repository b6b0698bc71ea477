//! One run: a transport in the world of a seed.

use std::sync::Arc;

use hopflow_overlay::Factory;
use hopflow_results::RunKey;
use hopflow_sim::Simulated;
use hopflow_sim::spec::WorldSpec;
use serde::Serialize;

use super::change::Change;
use super::rollout::Rollout;
use crate::scenario::{Circuits, Faults, InputError, Network, Record, Scenario, Text};

/// A run to be made.
#[derive(Clone, Debug)]
pub struct Job {
    /// What the run is recognised by.
    pub key: RunKey,
    pub(super) scenario: Arc<Scenario>,
    pub(super) factory: Arc<dyn Factory<Simulated>>,
    /// The transport that is rolled out, if there is one.
    pub(super) rollout: Option<Rollout>,
    /// What distinguishes the run from that which nothing changes, if it is of a variant.
    pub(super) change: Option<Change>,
    /// Jobs with the same number have the beginning of their runs in common.
    pub(super) warm_up: usize,
}

impl Job {
    /// The runs of a scenario: all transports with the first seed, each before its variants, then with
    /// the next.
    ///
    /// `build` identifies the program beyond its version, so that results of a program that was
    /// changed since are not taken for its own.
    ///
    /// # Errors
    /// If the scenario cannot be run.
    pub fn plan(scenario: &Arc<Scenario>, build: &str) -> Result<Vec<Self>, InputError> {
        scenario.check()?;
        let labels = scenario.transports.labels();
        let transports = labels.map(|label| Planned::new(scenario, label, build));
        let transports = transports.collect::<Result<Vec<_>, _>>()?;
        let mut jobs = Vec::new();
        for (number, seed) in scenario.seeds.list().into_iter().enumerate() {
            for (transport, planned) in transports.iter().enumerate() {
                let warm_up = number * transports.len() + transport;
                jobs.extend(planned.jobs(scenario, seed, warm_up));
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

/// A transport and its variants, whatever the seed.
struct Planned<'a> {
    label: &'a str,
    factory: Arc<dyn Factory<Simulated>>,
    rollout: Option<Rollout>,
    /// What decides results, besides label and seed.
    content: Vec<String>,
    changes: Vec<Change>,
}

impl<'a> Planned<'a> {
    fn new(scenario: &'a Scenario, label: &'a str, build: &str) -> Result<Self, InputError> {
        let factory: Arc<dyn Factory<Simulated>> = scenario.transport(label)?.into();
        let (parameters, version) = (factory.describe(), env!("CARGO_PKG_VERSION"));
        let world = canonical_world(scenario);
        let content = [&world, factory.name(), &parameters, version, build];
        let mut content: Vec<_> = content.map(str::to_owned).into();
        let rollout = Rollout::of(scenario, label)?;
        content.extend(rollout.as_ref().map(Rollout::content));
        content.extend(Change::waiting(scenario));
        Ok(Self {
            label,
            factory,
            rollout,
            content,
            changes: Change::of(scenario, label)?,
        })
    }

    /// The jobs of a seed: the run that nothing changes, then its variants.
    fn jobs(
        &self,
        scenario: &Arc<Scenario>,
        seed: u64,
        warm_up: usize,
    ) -> impl Iterator<Item = Job> {
        let job = move |change: Option<&Change>| {
            let content = self
                .content
                .iter()
                .chain(change.map(|change| &change.content));
            let content: Vec<_> = content.map(String::as_str).collect();
            let label = change.map_or(self.label, |change| &change.label);
            Job {
                // Each seed samples a network of its own, which the transports share.
                key: RunKey::new(label, seed as u32, seed, &content),
                scenario: Arc::clone(scenario),
                factory: Arc::clone(&self.factory),
                rollout: self.rollout.clone(),
                change: change.cloned(),
                warm_up,
            }
        };
        std::iter::once(None)
            .chain(self.changes.iter().map(Some))
            .map(job)
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
        record: &'a Record,
        #[serde(skip_serializing_if = "str::is_empty")]
        files: &'a str,
        #[serde(skip_serializing_if = "<[Faults]>::is_empty")]
        faults: &'a [Faults],
    }
    // Without `..`: whoever adds a key decides here whether it changes worlds.
    let Scenario {
        duration,
        warm_up,
        network,
        circuits,
        faults,
        record,
        loaded,
        name: _,
        about: _,
        scale: _,
        seeds: _,
        transports: _,
        branch: _,
    } = scenario;
    let world = World {
        duration: *duration,
        warm_up: *warm_up,
        network,
        circuits,
        record,
        files: loaded.digest(),
        faults,
    };
    serde_json::to_string(&world).expect("a scenario is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
name = "keys"
duration = "9 s"
warm-up = "1 s"
seeds = 1
[transports.backtap]
[network]
bucket = { rate = "1 MB/s" }
[[network.relays]]
name = "exit"
[[circuits]]
path = ["exit"]
workload = "bulk"
[[faults]]
what = "stop"
mttf = "3 s"
mttr = "2 s"
[record]
hops = "100 ms"
[branch]
variants = [{ name = "other", seed = 8 }]
"#;

    fn keys(text: &str) -> Vec<RunKey> {
        let scenario = Scenario::parse(text, "keys.toml").unwrap();
        let jobs = Job::plan(&Arc::new(scenario), "build").unwrap();
        jobs.into_iter().map(|job| job.key).collect()
    }

    #[test]
    fn all_that_changes_a_run_changes_its_key() {
        let before = keys(TEXT);
        for (from, to) in [
            ("9 s", "8 s"),
            ("1 s", "2 s"),
            ("1 MB/s", "2 MB/s"),
            ("\"bulk\"", "\"web\""),
            ("mttf = \"3 s\"", "mttf = \"5 s\""),
            ("\"stop\"", "\"outage\""),
            ("100 ms", "200 ms"),
            (
                "[transports.backtap]",
                "[transports.backtap]\noptions = { alpha = 7 }",
            ),
        ] {
            let after = keys(&TEXT.replace(from, to));
            assert!(
                before.iter().zip(&after).all(|(old, new)| old != new),
                "{from} {to}"
            );
        }
        let after = keys(&TEXT.replace("seed = 8", "seed = 9"));
        assert!(after[0] == before[0] && after[1] != before[1]);
        let after = keys(&TEXT.replace("\"keys\"", "\"called-otherwise\""));
        assert_eq!(after, before);
    }
}
