//! One run: its tables, and its entry in the manifest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fingerprint::{Fingerprint, Hasher};
use crate::key::RunKey;
use crate::rows::{
    Circuit, CrossFlow, Deployment, Download, Failure, Fault, HopSample, Latency, LatencyClass,
    Link, Metric, MetricUnit, NewCircuit, Node, OpenRequest, Part, PathNode, Queue, Relay, Sample,
    Trace, Visit,
};
use crate::table::Row;

/// Everything that one run recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Downloads in order of their completion.
    pub downloads: Vec<Download>,
    /// Downloads that were not complete at the end, by circuit; no file if there are none.
    pub open_requests: Vec<OpenRequest>,
    /// Where the time of these downloads went, in their order, where it was recorded; no file
    /// otherwise.
    pub breakdown: Vec<Part>,
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
    /// One row per node, whether it is of the overlay or beside it.
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
    /// Downloads that were broken off, in order of their end, where some were; no file otherwise.
    pub failures: Vec<Failure>,
    /// Circuits that users had anew, in order of time, where some did; no file otherwise.
    pub rebuilt: Vec<NewCircuit>,
    /// What went wrong at relays, by relay, where something did; no file otherwise.
    pub faults: Vec<Fault>,
    /// All nodes by their numbers, where the network is known; no file otherwise.
    pub nodes: Vec<Node>,
    /// The paths over them, by circuit, path and position; no file otherwise.
    pub paths: Vec<PathNode>,
    /// Traces for other programs, where they were recorded: files beside the tables. They are not read
    /// back with the tables, and not part of the results' hash.
    pub trace_files: Vec<TraceFile>,
}

/// A file with a trace in a format of the field's: qlog, pcapng.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// The file's name in the run's folder.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Tables {
    /// The goodput of all circuits together, in bytes per second.
    pub fn goodput(&self) -> f64 {
        let circuits = self.circuits.iter();
        circuits.map(|circuit| circuit.goodput_bytes_per_s).sum()
    }

    /// The goodput of all connections that are not the overlay's, in bytes per second.
    pub fn cross_goodput(&self) -> f64 {
        let flows = self.cross.iter();
        flows.map(|flow| flow.goodput_bytes_per_s).sum()
    }

    /// The hash of the results: of all rows in order, independent of how files encode them.
    ///
    /// Metrics are left out: they are what layers think of the state by which they act, and what
    /// they do is in the other tables. A layer may declare one more, and its results stay the same.
    /// Open requests are left out, too: they follow from the same events as the rest, and hashes of
    /// results that were made before they were recorded stay valid. So do nodes and paths, which are
    /// drawn before a run begins and decide all the rest.
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
        if !self.breakdown.is_empty() {
            add(&self.breakdown, &mut hasher);
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
        if !self.failures.is_empty() {
            add(&self.failures, &mut hasher);
        }
        if !self.rebuilt.is_empty() {
            add(&self.rebuilt, &mut hasher);
        }
        if !self.faults.is_empty() {
            add(&self.faults, &mut hasher);
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
    /// The files with traces beside them, each with the hash of its bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traces: BTreeMap<String, Fingerprint>,
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
