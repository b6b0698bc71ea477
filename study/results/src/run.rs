//! One run: what identifies it, its tables, its entry in the manifest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fingerprint::{Fingerprint, Hasher};
use crate::rows::{
    Circuit, CrossFlow, Deployment, Download, HopSample, Latency, LatencyClass, Link, Metric,
    MetricUnit, Queue, Relay, Sample, Trace, Visit,
};
use crate::table::Row;

/// What a run was made from; equal keys mean equal results.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The label of the transport under test, unique within its scenario.
    pub transport: String,
    /// Number of the sampled network; transports share networks, which pairs their runs.
    pub network: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Hash of everything that decides the result.
    pub content: Fingerprint,
}

impl RunKey {
    /// The key of a run with `seed` over sampled network `network`.
    ///
    /// `content` lists what else decides the result: the scenario, the transport's parameters, the
    /// version of hopflow. It is hashed together with transport, network and seed.
    pub fn new(transport: &str, network: u32, seed: u64, content: &[&str]) -> Self {
        let mut texts = vec![transport];
        let (network_text, seed_text) = (network.to_string(), seed.to_string());
        texts.extend([network_text.as_str(), seed_text.as_str()]);
        texts.extend(content);
        Self {
            transport: transport.to_owned(),
            network,
            seed,
            content: Fingerprint::of(&texts),
        }
    }

    /// The name of the run's folder: readable first, unique by its end.
    pub fn folder(&self) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let transport: String = self.transport.chars().take(40).map(plain).collect();
        format!(
            "{transport}-n{}-s{}-{}",
            self.network, self.seed, self.content
        )
    }
}

/// Everything that one run recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Downloads in order of their completion.
    pub downloads: Vec<Download>,
    /// One row per circuit.
    pub circuits: Vec<Circuit>,
    /// R(t) and W(t), ordered by time, then circuit.
    pub samples: Vec<Sample>,
    /// Queues and windows, ordered by time, then circuit, then hop.
    pub hops: Vec<HopSample>,
    /// What layers of the transport measured, ordered by time, then circuit, then hop, where
    /// hops were recorded and layers have metrics; no file otherwise.
    pub metrics: Vec<Metric>,
    /// One row per metric of these, in the order in which they first appear.
    pub metric_units: Vec<MetricUnit>,
    /// One row per overlay node.
    pub relays: Vec<Relay>,
    /// One row per direction of an access link.
    pub links: Vec<Link>,
    /// One row per TCP connection beside the overlay.
    pub cross: Vec<CrossFlow>,
    /// Up to two rows per circuit, where latencies were recorded; no file otherwise.
    pub latencies: Vec<Latency>,
    /// The distributions of these latencies, rising.
    pub latency_classes: Vec<LatencyClass>,
    /// One row per direction of an access link, where queues were recorded; no file otherwise.
    pub queues: Vec<Queue>,
    /// One row per circuit, where a transport was rolled out; no file otherwise.
    pub deployments: Vec<Deployment>,
    /// What observers saw, by circuit, then place, then time, where it was recorded; no file
    /// otherwise.
    pub traces: Vec<Trace>,
    /// Visited pages by their beginning, where users visit such; no file otherwise.
    pub visits: Vec<Visit>,
}

impl Tables {
    /// The hash of the results: of all rows in order, independent of how files encode them.
    ///
    /// Metrics are left out: they are what layers think of the state by which they act, and what
    /// they do is in the other tables. A layer may declare one more, and its results stay the same.
    pub fn fingerprint(&self) -> Fingerprint {
        fn add<R: Row>(rows: &[R], hasher: &mut Hasher) {
            hasher.text(R::TABLE);
            hasher.number(rows.len() as u64);
            for row in rows {
                row.hash(hasher);
            }
        }
        let mut hasher = Hasher::new();
        add(&self.downloads, &mut hasher);
        add(&self.circuits, &mut hasher);
        add(&self.samples, &mut hasher);
        add(&self.hops, &mut hasher);
        add(&self.relays, &mut hasher);
        add(&self.links, &mut hasher);
        add(&self.cross, &mut hasher);
        if !self.latencies.is_empty() {
            add(&self.latencies, &mut hasher);
            add(&self.latency_classes, &mut hasher);
        }
        if !self.queues.is_empty() {
            add(&self.queues, &mut hasher);
        }
        if !self.deployments.is_empty() {
            add(&self.deployments, &mut hasher);
        }
        if !self.traces.is_empty() {
            add(&self.traces, &mut hasher);
        }
        if !self.visits.is_empty() {
            add(&self.visits, &mut hasher);
        }
        hasher.finish()
    }
}

/// A finished run, as its folder and the manifest describe it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// What the run was made from.
    #[serde(flatten)]
    pub key: RunKey,
    /// The run's folder, relative to the result folder, with `/` between names.
    pub folder: String,
    /// The hash of the results, [`Tables::fingerprint`].
    pub results: Fingerprint,
    /// Wall-clock time that the run took, in seconds.
    pub wall_seconds: f64,
    /// Each table's file, relative to the run's folder.
    pub files: BTreeMap<String, TableFile>,
}

/// A file with a table in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFile {
    /// The file's name.
    pub name: String,
    /// Rows in it.
    pub rows: u64,
    /// Hash of its bytes, by which damage is noticed.
    pub checksum: Fingerprint,
}
