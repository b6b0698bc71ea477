//! One sampled network in detail: its nodes and paths, and what happened on single circuits.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_results::{Folder, HopSample, Link, Manifest, Node, PathNode, RunEntry, Sample};

use super::load::{OverTime, Run, Transport};
use crate::error::Error;

/// One sampled network, the first one that the first transport ran on.
#[derive(Default)]
pub(super) struct Detail {
    /// Its number.
    pub(super) network: u32,
    /// All nodes, by their numbers; empty where the results do not tell.
    pub(super) nodes: Vec<Node>,
    /// The paths over them.
    pub(super) paths: Vec<PathNode>,
    /// The circuits that were recorded over time.
    pub(super) recorded: BTreeSet<u32>,
    /// What each transport did there, in the order of the transports.
    pub(super) by_transport: Vec<OfTransport>,
    /// Whether relays of two networks have one name and differ in the rate limit.
    pub(super) shared_names: bool,
}

/// What a transport did on the network.
#[derive(Default)]
pub(super) struct OfTransport {
    /// Directions of access links.
    pub(super) links: Vec<Link>,
    /// The courses of the circuits that are shown.
    pub(super) courses: BTreeMap<u32, Course>,
}

/// One circuit over time.
#[derive(Default)]
pub(super) struct Course {
    /// Bytes that were delivered so far.
    pub(super) delivered: OverTime,
    /// Cells that wait at the sender of each hop.
    pub(super) queues: BTreeMap<u32, OverTime>,
    /// The window of each hop that has one, in cells.
    pub(super) windows: BTreeMap<u32, OverTime>,
}

impl Detail {
    /// The detail of a folder's first network, but for the courses of circuits.
    ///
    /// # Errors
    /// If a file of it is damaged.
    pub(super) fn read(
        folder: &Folder,
        manifest: &Manifest,
        transports: &[Transport],
    ) -> Result<Self, Error> {
        let first = transports.iter().find_map(|of| of.runs.first());
        let mut detail = Self {
            network: first.map_or(0, |run| run.network),
            shared_names: shared_names(folder, manifest)?,
            ..Self::default()
        };
        for transport in transports {
            let mut of = OfTransport::default();
            if let Some(entry) = detail.entry(manifest, transport) {
                if detail.nodes.is_empty() {
                    detail.nodes = folder.read_optional(entry)?;
                    detail.paths = folder.read_optional(entry)?;
                }
                if detail.recorded.is_empty() {
                    let samples = folder.read_optional::<Sample>(entry)?;
                    detail.recorded = samples.into_iter().map(|it| it.circuit).collect();
                }
                of.links = folder.read_optional(entry)?;
            }
            detail.by_transport.push(of);
        }
        Ok(detail)
    }

    /// Reads the courses of these circuits.
    ///
    /// # Errors
    /// If a file is damaged.
    pub(super) fn read_courses(
        &mut self,
        folder: &Folder,
        manifest: &Manifest,
        transports: &[Transport],
        circuits: &BTreeSet<u32>,
    ) -> Result<(), Error> {
        if circuits.is_empty() {
            return Ok(());
        }
        for (number, transport) in transports.iter().enumerate() {
            if let Some(entry) = self.entry(manifest, transport) {
                self.by_transport[number].courses = courses(folder, entry, circuits)?;
            }
        }
        Ok(())
    }

    /// The entry of a transport's run on the network.
    fn entry<'m>(&self, manifest: &'m Manifest, transport: &Transport) -> Option<&'m RunEntry> {
        manifest.runs.iter().find(|entry| {
            entry.key.transport == transport.label && entry.key.network == self.network
        })
    }

    /// The runs on the network, with the transports that have one.
    pub(super) fn runs<'t>(
        &self,
        transports: &'t [Transport],
    ) -> impl Iterator<Item = (&'t Transport, &'t Run)> {
        let network = self.network;
        transports.iter().filter_map(move |transport| {
            let mut runs = transport.runs.iter();
            let run = runs.find(|run| run.network == network)?;
            Some((transport, run))
        })
    }
}

/// Whether relays with a rate limit have one name in two networks, and differ in the limit.
fn shared_names(folder: &Folder, manifest: &Manifest) -> Result<bool, Error> {
    let mut networks: BTreeSet<u32> = BTreeSet::new();
    let mut known: BTreeMap<String, f64> = BTreeMap::new();
    for entry in &manifest.runs {
        if !networks.insert(entry.key.network) {
            continue;
        }
        for node in folder.read_optional::<Node>(entry)? {
            let Some(limit) = node.bucket_bytes_per_s else {
                continue;
            };
            if *known.entry(node.name).or_insert(limit) != limit {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn courses(
    folder: &Folder,
    entry: &RunEntry,
    circuits: &BTreeSet<u32>,
) -> Result<BTreeMap<u32, Course>, Error> {
    let mut courses: BTreeMap<u32, Course> = BTreeMap::new();
    let mut samples = folder.read_optional::<Sample>(entry)?;
    samples.retain(|sample| circuits.contains(&sample.circuit));
    for sample in samples {
        let course = courses.entry(sample.circuit).or_default();
        let delivered = &mut course.delivered;
        delivered.add(sample.t_s, sample.delivered_bytes as f64);
    }
    let mut samples = folder.read_optional::<HopSample>(entry)?;
    samples.retain(|sample| circuits.contains(&sample.circuit));
    for sample in samples {
        let course = courses.entry(sample.circuit).or_default();
        let queue = course.queues.entry(sample.hop).or_default();
        queue.add(sample.t_s, sample.queue_cells as f64);
        if let Some(window) = sample.window_cells {
            let of_hop = course.windows.entry(sample.hop).or_default();
            of_hop.add(sample.t_s, window as f64);
        }
    }
    Ok(courses)
}
