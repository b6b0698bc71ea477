//! Results as a comparison needs them: by transport, run by run, sums over circuits taken.

use std::collections::BTreeMap;

use hopflow_results::{
    Circuit, Class, Deployment, Download, Failure, Fault, Folder, HopSample, Manifest, Metric,
    MetricUnit, OpenRequest, Relay, Requests, RunEntry, Sample,
};
use hopflow_stats::{Lasted, Mean, Survival};

use super::kind::{Kind, Kinds};
use crate::error::Error;

/// A transport and its runs.
pub(super) struct Transport {
    pub(super) label: String,
    /// The number of its colour.
    pub(super) colour: usize,
    pub(super) runs: Vec<Run>,
}

/// A number of a run or a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    /// Whether the true value is known only to be as large or larger.
    pub(super) at_least: bool,
}

impl Measured {
    /// A number that is known.
    pub(super) const fn exactly(value: f64) -> Self {
        let at_least = false;
        Self { value, at_least }
    }
}

/// One run.
#[derive(Default)]
pub(super) struct Run {
    /// The sampled network: runs of two transports on the same one form a pair.
    pub(super) network: u32,
    pub(super) downloads: Vec<Download>,
    /// Downloads that were not complete at the end.
    pub(super) open: Vec<OpenRequest>,
    /// Downloads that were broken off.
    pub(super) failed: Vec<Failure>,
    pub(super) circuits: Vec<Circuit>,
    pub(super) relays: Vec<Relay>,
    /// What went wrong at relays.
    pub(super) faults: Vec<Fault>,
    /// Which transport each circuit had, where one was being rolled out.
    pub(super) deployments: Vec<Deployment>,
    /// Where the time of downloads went, by circuit and request, if it was recorded.
    pub(super) times: BTreeMap<(u32, u32), Kinds>,
    /// Backlog of a circuit in bytes, mean over circuits.
    pub(super) backlog: OverTime,
    /// Each hop, counted from where data is packaged.
    pub(super) hops: BTreeMap<u32, Hop>,
    /// What layers of the transport measured, by metric and hop.
    pub(super) metrics: Vec<(MetricUnit, ByHop)>,
}

/// A state of each hop, counted from where data is packaged.
type ByHop = BTreeMap<u32, OverTime>;

/// One hop, in cells, mean over circuits.
#[derive(Default)]
pub(super) struct Hop {
    pub(super) queue: OverTime,
    pub(super) outstanding: OverTime,
    pub(super) window: OverTime,
}

/// A mean over circuits at each time of sampling.
#[derive(Clone, Default)]
pub(super) struct OverTime(BTreeMap<u64, (f64, u32)>);

impl OverTime {
    pub(super) fn add(&mut self, t: f64, value: f64) {
        if t >= 0.0 {
            // The bits of floats that are not negative are ordered as the floats are.
            let entry = self.0.entry(t.to_bits()).or_default();
            entry.0 += value;
            entry.1 += 1;
        }
    }

    /// Times in seconds with the means, ascending.
    pub(super) fn points(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> {
        let mean = |(t, (sum, n)): (&u64, &(f64, u32))| (f64::from_bits(*t), sum / f64::from(*n));
        self.0.iter().map(mean)
    }
}

impl Transport {
    /// A number of each sampled network: the mean over its runs that have it.
    pub(super) fn over_networks(
        &self,
        of: fn(&Run) -> Option<Measured>,
    ) -> BTreeMap<u32, Measured> {
        let mut numbers: BTreeMap<u32, Vec<Measured>> = BTreeMap::new();
        for run in &self.runs {
            if let Some(number) = of(run) {
                numbers.entry(run.network).or_default().push(number);
            }
        }
        let mean = |(network, numbers): (u32, Vec<Measured>)| {
            let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
            let value = Mean::of(&values)?.mean;
            let at_least = numbers.iter().any(|number| number.at_least);
            Some((network, Measured { value, at_least }))
        };
        numbers.into_iter().filter_map(mean).collect()
    }

    /// Many numbers of each sampled network, of which some may be known only to be larger; networks that have none are left out.
    pub(super) fn by_network(&self, of: &dyn Fn(&Run) -> Vec<Lasted>) -> Vec<Survival> {
        let mut values: BTreeMap<u32, Vec<Lasted>> = BTreeMap::new();
        for run in &self.runs {
            values.entry(run.network).or_default().extend(of(run));
        }
        values.into_values().filter_map(Survival::of).collect()
    }
}

/// The sampled networks of all runs, ascending.
pub(super) fn networks(transports: &[Transport]) -> Vec<u32> {
    let runs = transports.iter().flat_map(|transport| &transport.runs);
    let mut networks: Vec<u32> = runs.map(|run| run.network).collect();
    networks.sort_unstable();
    networks.dedup();
    networks
}

impl Run {
    /// The circuits of a class; all for `None`.
    pub(super) fn circuits_of(&self, class: Option<Class>) -> impl Iterator<Item = &Circuit> {
        let wanted = move |circuit: &&Circuit| class.is_none_or(|class| circuit.class == class);
        self.circuits.iter().filter(wanted)
    }

    /// A metric by hops, if it was measured.
    pub(super) fn metric(&self, metric: &MetricUnit) -> Option<&ByHop> {
        let mut metrics = self.metrics.iter();
        let (_, hops) = metrics.find(|(known, _)| known == metric)?;
        Some(hops)
    }

    /// All downloads, those included that were not complete at the end or were broken off.
    pub(super) fn requests(&self) -> Requests<'_> {
        Requests {
            downloads: &self.downloads,
            open: &self.open,
            failed: &self.failed,
        }
    }
}

/// The class whose circuits take as much as they get, the same for all runs: bulk; `None` if all
/// circuits of all runs are of one class.
pub(super) fn greedy(transports: &[Transport]) -> Option<Class> {
    let runs = transports.iter().flat_map(|transport| &transport.runs);
    let mut circuits = runs.flat_map(|run| &run.circuits);
    let first = circuits.next()?.class;
    let mixed = circuits.any(|circuit| circuit.class != first);
    mixed.then_some(Class::Bulk)
}

/// The transports of a folder in the order of its manifest, with all their runs, each of which is
/// read by `read`.
pub(super) fn transports(
    folder: &Folder,
    manifest: &Manifest,
    read: fn(&Folder, &RunEntry) -> Result<Run, Error>,
) -> Result<Vec<Transport>, Error> {
    let mut labels = manifest.transports.clone();
    for entry in &manifest.runs {
        if !labels.contains(&entry.key.transport) {
            labels.push(entry.key.transport.clone());
        }
    }
    let mut transports = Vec::new();
    for (colour, label) in labels.into_iter().enumerate() {
        let entries = manifest
            .runs
            .iter()
            .filter(|entry| entry.key.transport == label);
        let runs: Vec<Run> = entries
            .map(|entry| read(folder, entry))
            .collect::<Result<_, _>>()?;
        if !runs.is_empty() {
            transports.push(Transport {
                label,
                colour,
                runs,
            });
        }
    }
    Ok(transports)
}

/// What downloads and circuits say, without what was sampled over time.
pub(super) fn brief(folder: &Folder, entry: &RunEntry) -> Result<Run, Error> {
    Ok(Run {
        network: entry.key.network,
        downloads: folder.read_table(entry)?,
        open: folder.read_optional(entry)?,
        failed: folder.read_optional(entry)?,
        circuits: folder.read_table(entry)?,
        ..Run::default()
    })
}

/// Everything.
pub(super) fn whole(folder: &Folder, entry: &RunEntry) -> Result<Run, Error> {
    let mut run = brief(folder, entry)?;
    run.relays = folder.read_table(entry)?;
    run.faults = folder.read_optional(entry)?;
    run.deployments = folder.read_optional(entry)?;
    for sample in folder.read_table::<Sample>(entry)? {
        let waiting = sample.packaged_bytes.saturating_sub(sample.delivered_bytes);
        run.backlog.add(sample.t_s, waiting as f64);
    }
    for sample in folder.read_table::<HopSample>(entry)? {
        let hop = run.hops.entry(sample.hop).or_default();
        hop.queue.add(sample.t_s, sample.queue_cells as f64);
        hop.outstanding
            .add(sample.t_s, sample.outstanding_cells as f64);
        if let Some(window) = sample.window_cells {
            hop.window.add(sample.t_s, window as f64);
        }
    }
    run.times = Kind::times(&folder.read_optional(entry)?);
    run.metrics = metrics(folder, entry)?;
    Ok(run)
}

/// What layers measured, mean over circuits.
fn metrics(folder: &Folder, entry: &RunEntry) -> Result<Vec<(MetricUnit, ByHop)>, Error> {
    let units = folder.read_optional::<MetricUnit>(entry)?.into_iter();
    let mut metrics: Vec<_> = units.map(|unit| (unit, ByHop::new())).collect();
    for sample in folder.read_optional::<Metric>(entry)? {
        let known = metrics
            .iter_mut()
            .find(|(it, _)| it.metric == sample.metric);
        if let Some((_, hops)) = known {
            let hop = hops.entry(sample.hop).or_default();
            hop.add(sample.t_s, sample.value);
        }
    }
    Ok(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(classes: &[Class]) -> Transport {
        let circuit = |(number, class): (u32, &Class)| Circuit::idle(number, 3, *class);
        Transport {
            label: String::new(),
            colour: 0,
            runs: vec![Run {
                circuits: (0..).zip(classes).map(circuit).collect(),
                ..Run::default()
            }],
        }
    }

    #[test]
    fn a_transport_without_bulk_has_no_greedy_circuits_where_others_have_bulk() {
        use Class::{Bulk, Web};
        let transports = [transport(&[Web, Web]), transport(&[Web, Web, Bulk])];
        let class = greedy(&transports);
        assert_eq!(class, Some(Bulk));
        let count = |transport: &Transport| transport.runs[0].circuits_of(class).count();
        assert_eq!([count(&transports[0]), count(&transports[1])], [0, 1]);
        assert_eq!(greedy(&transports[..1]), None);
        assert_eq!(transports[0].runs[0].circuits_of(None).count(), 2);
    }
}
