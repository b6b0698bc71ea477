//! A finished run, from its tables.

use std::path::Path;
use std::sync::Arc;

use hopflow_lab::scenario::{InputError, Scenario};
use hopflow_overlay::FlowView;
use hopflow_picture::{Machine, Network, User, view};
use hopflow_results::{
    Circuit, Class, Download, Folder, HopSample, Manifest, NewCircuit, Node, OpenRequest, PathNode,
    RunEntry, Sample,
};
use hopflow_sim::spec;
use hopflow_sim::{HopView, TransferView, UserView, WorldView};
use hopflow_units::{Bytes, Cells, Duration, Instant};
use serde_json::{Value, json};

use crate::simulation::most_moments;
use crate::stream::Stream;

/// The runs of a result folder with one seed, side by side.
#[derive(Debug)]
pub struct Recording {
    network: Network,
    runs: Vec<Run>,
    /// When samples were taken, as many of them as are shown.
    times: Vec<f64>,
    /// Whether queues and windows were recorded.
    hops: bool,
    /// What is not known of the runs, and why.
    note: Option<String>,
}

/// What was recorded of one run.
#[derive(Debug)]
struct Run {
    users: Vec<History>,
    downloads: Vec<Download>,
}

/// What was recorded of one user.
#[derive(Debug, Default)]
struct History {
    /// Numbers of the nodes that send what is measured, by hop.
    senders: Vec<u32>,
    samples: Vec<Sample>,
    hops: Vec<HopSample>,
    /// When each fetch began and ended, and its size if it was completed.
    fetches: Vec<(f64, f64, Option<u64>)>,
    /// From when on the user had other circuits, of which nothing says over which nodes they led.
    rebuilt: Option<f64>,
    /// Whether the user fetches without an end.
    endless: bool,
}

impl Recording {
    /// The runs of a result folder with a seed, by default its first one.
    ///
    /// # Errors
    /// If the folder cannot be read, has no such runs, or these recorded nothing over time.
    pub fn load(path: &Path, seed: Option<u64>) -> Result<Self, InputError> {
        let folder = Folder::open(path);
        let manifest = folder.read_manifest().map_err(unusable)?;
        let (seed, entries) = chosen(path, &manifest, seed)?;
        let first = entries[0];
        let nodes: Vec<Node> = folder.read_optional(first).map_err(unusable)?;
        let paths: Vec<PathNode> = folder.read_optional(first).map_err(unusable)?;
        if nodes.is_empty() || paths.is_empty() {
            let problem = "its runs do not say which nodes there were (tables `nodes` and `paths`); \
                           allowed are results that `hopflow run` of this version wrote";
            return Err(in_folder(path, problem));
        }
        let circuits: Vec<Circuit> = folder.read_table(first).map_err(unusable)?;
        let labels = entries.iter().map(|it| it.key.transport.clone()).collect();
        let mut network = network(&manifest, seed, labels, (&nodes, &circuits, &paths));
        let (uploads, note) = uploads(&manifest, seed, path);
        for (user, uploads) in network.users.iter_mut().zip(uploads) {
            user.uploads = uploads;
        }
        let read = |entry: &&RunEntry| Run::read(&folder, entry, &network);
        let runs = entries.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let (times, hops) = times(&runs, network.hops() * runs.len());
        let Some(end) = times.last() else {
            let problem = "its runs recorded nothing over time; a scenario needs times at `circuits` \
                           and `hops` under `[record]`, such as circuits = \"100 ms\"";
            return Err(in_folder(path, problem));
        };
        network.end = *end;
        Ok(Self {
            network,
            runs,
            times,
            hops,
            note,
        })
    }

    /// The stream of all moments that were recorded.
    pub fn stream(&self) -> Arc<Stream> {
        let head = json!({
            "kind": "results",
            "network": self.network,
            "pace": null,
            "hops": self.hops,
            "note": self.note,
        });
        let stream = Stream::new("network", &head, self.times.len() + 2);
        let mut before = f64::NEG_INFINITY;
        for &time in &self.times {
            let moment = |run: &Run| run.view(before, time);
            let views: Vec<Value> = self.runs.iter().map(moment).collect();
            stream.keep("frame", &json!({ "at": time, "views": views }));
            before = time;
        }
        stream.keep("done", &json!({ "at": before }));
        Arc::new(stream)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by value")]
fn unusable(error: hopflow_results::Error) -> InputError {
    InputError::new(error.to_string())
}

fn in_folder(path: &Path, problem: &str) -> InputError {
    InputError::new(format!("{}: {problem}", path.display()))
}

/// The runs of a seed in the order of the transports.
fn chosen<'a>(
    path: &Path,
    manifest: &'a Manifest,
    seed: Option<u64>,
) -> Result<(u64, Vec<&'a RunEntry>), InputError> {
    let Some(first) = manifest.runs.first() else {
        return Err(in_folder(path, "it holds no finished run"));
    };
    let seed = seed.unwrap_or(first.key.seed);
    let runs = manifest.runs.iter().filter(|run| run.key.seed == seed);
    let runs: Vec<_> = runs.collect();
    if runs.is_empty() {
        let mut seeds: Vec<_> = manifest.runs.iter().map(|run| run.key.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
        let seeds = seeds.join(", ");
        let problem = format!("--seed: there is no run with {seed}; allowed are {seeds}");
        return Err(in_folder(path, &problem));
    }
    Ok((seed, runs))
}

fn network(
    manifest: &Manifest,
    seed: u64,
    transports: Vec<String>,
    (nodes, circuits, paths): (&[Node], &[Circuit], &[PathNode]),
) -> Network {
    let machine = |node: &Node| Machine {
        name: node.name.clone(),
        rate: node.access_bytes_per_s,
        delay: node.delay_s,
        bucket: node.bucket_bytes_per_s,
    };
    let user = |circuit: &Circuit| User {
        class: match circuit.class {
            Class::Bulk => "bulk",
            Class::Web => "web",
        },
        uploads: false,
        paths: Vec::new(),
        start: 0.0,
    };
    let mut users: Vec<User> = circuits.iter().map(user).collect();
    // They are ordered by circuit, path and position.
    for node in paths {
        let Some(user) = users.get_mut(node.circuit as usize) else {
            continue;
        };
        if node.position == 0 {
            user.paths.push(Vec::new());
        }
        if let Some(path) = user.paths.last_mut() {
            path.push(node.node as usize);
        }
    }
    Network {
        name: manifest.scenario.clone(),
        about: manifest.about.clone().unwrap_or_default(),
        end: 0.0,
        seed,
        transports,
        machines: nodes.iter().map(machine).collect(),
        users,
    }
}

/// Of which users the results are about what they upload, empty if of none; and why that is not known,
/// if it is not.
fn uploads(manifest: &Manifest, seed: u64, path: &Path) -> (Vec<bool>, Option<String>) {
    let text = &manifest.scenario_toml;
    if toml::from_str(text).is_ok_and(|scenario| !anybody_uploads(&scenario)) {
        return (Vec::new(), None);
    }
    // What the manifest holds of the scenario; files that it names may lie in the folder of results.
    let file = path.join("manifest.json: scenario_toml");
    match Scenario::parse(text, &file.display().to_string()) {
        Ok(scenario) => {
            let world = scenario.sample(seed);
            let circuits = world.circuits.iter();
            (circuits.map(spec::CircuitSpec::uploads).collect(), None)
        }
        Err(problem) => {
            let note = "Who uploads is not known, so everybody is drawn as downloading";
            (Vec::new(), Some(format!("{note}: {problem}")))
        }
    }
}

/// Whether a group of circuits of a scenario has `direction = "upload"` in its workload.
fn anybody_uploads(scenario: &toml::Table) -> bool {
    let groups = scenario.get("circuits").and_then(toml::Value::as_array);
    groups.into_iter().flatten().any(|group| {
        let workload = group.get("workload");
        let direction = workload.and_then(|it| it.get("direction"));
        direction.and_then(toml::Value::as_str) == Some("upload")
    })
}

/// When samples were taken, as many as may be kept; and whether those of hops were.
fn times(runs: &[Run], hops: usize) -> (Vec<f64>, bool) {
    let users = || runs.iter().flat_map(|run| &run.users);
    let of_hops = users().flat_map(|user| user.hops.iter().map(|it| it.t_s));
    let mut times: Vec<f64> = of_hops.collect();
    let recorded = !times.is_empty();
    if !recorded {
        let of_circuits = users().flat_map(|user| user.samples.iter().map(|it| it.t_s));
        times.extend(of_circuits);
    }
    times.sort_by(f64::total_cmp);
    times.dedup();
    let every = times.len().div_ceil(most_moments(hops) as usize).max(1);
    // The last one is always there.
    times.reverse();
    let mut times: Vec<f64> = times.into_iter().step_by(every).collect();
    times.reverse();
    (times, recorded)
}

impl Run {
    fn read(folder: &Folder, entry: &RunEntry, network: &Network) -> Result<Self, InputError> {
        let users = network.users.iter().map(History::new);
        let mut users: Vec<_> = users.collect();
        for sample in folder.read_table::<Sample>(entry).map_err(unusable)? {
            if let Some(user) = users.get_mut(sample.circuit as usize) {
                user.samples.push(sample);
            }
        }
        for hop in folder.read_table::<HopSample>(entry).map_err(unusable)? {
            if let Some(user) = users.get_mut(hop.circuit as usize) {
                user.hops.push(hop);
            }
        }
        let downloads: Vec<Download> = folder.read_table(entry).map_err(unusable)?;
        for it in &downloads {
            if let Some(user) = users.get_mut(it.circuit as usize) {
                let end = it.start_s + it.ttlb_s;
                user.fetches.push((it.start_s, end, Some(it.bytes)));
            }
        }
        let open = folder.read_optional::<OpenRequest>(entry);
        for it in open.map_err(unusable)? {
            if let Some(user) = users.get_mut(it.circuit as usize) {
                user.fetches.push((it.start_s, f64::INFINITY, None));
            }
        }
        let rebuilt = folder.read_optional::<NewCircuit>(entry);
        for it in rebuilt.map_err(unusable)? {
            if let Some(user) = users.get_mut(it.circuit as usize) {
                user.rebuilt.get_or_insert(it.closed_s);
            }
        }
        for (user, of) in users.iter_mut().zip(&network.users) {
            user.endless = of.class == "bulk" && user.fetches.is_empty();
        }
        Ok(Self { users, downloads })
    }

    /// What is known of a moment, with the downloads that were completed since the one before.
    fn view(&self, before: f64, time: f64) -> Value {
        let completed = self.downloads.iter().filter(|it| {
            let end = it.start_s + it.ttlb_s;
            before < end && end <= time
        });
        let downloads: Vec<_> = completed.map(download).collect();
        let world = WorldView {
            now: Duration::from_secs_f64(time),
            machines: Vec::new(),
            users: self.users.iter().map(|user| user.view(time)).collect(),
            packets: Vec::new(),
        };
        view(&world, &downloads)
    }
}

impl History {
    fn new(user: &User) -> Self {
        let senders = user.paths.iter().flat_map(|path| {
            let mut nodes: Vec<_> = path.iter().map(|node| *node as u32).collect();
            if !user.uploads {
                nodes.reverse();
            }
            nodes.pop();
            nodes
        });
        Self {
            senders: senders.collect(),
            ..Self::default()
        }
    }

    fn view(&self, time: f64) -> UserView {
        let sample = self.at(time);
        let delivered = sample.map_or(0, |it| it.delivered_bytes);
        UserView {
            hops: self.hops(time),
            pending: Bytes::ZERO,
            packaged: Bytes::new(sample.map_or(0, |it| it.packaged_bytes)),
            delivered: Bytes::new(delivered),
            transfer: self.transfer(time, delivered),
        }
    }

    /// The last sample up to a time.
    fn at(&self, time: f64) -> Option<&Sample> {
        let behind = self.samples.partition_point(|it| it.t_s <= time);
        self.samples[..behind].last()
    }

    fn hops(&self, time: f64) -> Vec<HopView> {
        if self.rebuilt.is_some_and(|rebuilt| rebuilt <= time) {
            return Vec::new();
        }
        let from = self.hops.partition_point(|it| it.t_s < time);
        let hops = self.hops[from..].iter().take_while(|it| it.t_s <= time);
        let hop = |it: &HopSample| {
            let machine = *self.senders.get(it.hop as usize)?;
            let flow = FlowView {
                queued: Cells::new(it.queue_cells),
                out_of_order: Cells::ZERO,
                held: Cells::ZERO,
                proofs: Cells::ZERO,
                outstanding: Cells::new(it.outstanding_cells),
                window: it.window_cells.map(Cells::new),
                departed: Cells::ZERO,
            };
            Some(HopView { machine, flow })
        };
        hops.filter_map(hop).collect()
    }

    /// The fetch under way, whose bytes are those that were delivered since it began.
    fn transfer(&self, time: f64, delivered: u64) -> Option<TransferView> {
        if self.endless {
            return Some(TransferView {
                requested: Duration::ZERO,
                received: Bytes::new(delivered),
                size: None,
            });
        }
        let mut fetches = self.fetches.iter();
        let (start, _, size) = fetches.find(|(start, end, _)| *start <= time && time < *end)?;
        let before = self.at(*start).map_or(0, |it| it.delivered_bytes);
        let received = delivered.saturating_sub(before);
        Some(TransferView {
            requested: Duration::from_secs_f64(*start),
            received: Bytes::new(size.map_or(received, |size| received.min(size))),
            size: size.map(Bytes::new),
        })
    }
}

fn download(it: &Download) -> hopflow_sim::Download {
    hopflow_sim::Download {
        circuit: it.circuit,
        class: match it.class {
            Class::Bulk => spec::Class::Bulk,
            Class::Web => spec::Class::Web,
        },
        index: it.request,
        requested: Instant::ZERO + Duration::from_secs_f64(it.start_s),
        ttfb: Duration::from_secs_f64(it.ttfb_s),
        ttlb: Duration::from_secs_f64(it.ttlb_s),
        size: Bytes::new(it.bytes),
    }
}
