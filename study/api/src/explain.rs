//! Where the time of single downloads went.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hopflow_lab::scenario::allowed;
use hopflow_report::{Kind, significant};
use hopflow_results::{Cause, Class, Download, Folder, Manifest, Part, RunEntry, Stage, Transfer};
use hopflow_stats::Sorted;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::order::Source;
use crate::report::write_report;
use crate::runner::Runner;

/// Which downloads are explained.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Those of one transport; by default of each.
    pub transport: Option<String>,
    /// Those of one class of users; by default of web users, or of all if there are none.
    pub class: Option<Class>,
    /// Those of one circuit.
    pub circuit: Option<u32>,
    /// How many of each transport, the slowest first.
    pub slowest: usize,
}

/// Downloads of a result folder, explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The folder.
    pub folder: PathBuf,
    /// Each transport that was asked for and completed a download that fits the choice.
    pub transports: Vec<ExplainedTransport>,
    /// The labels of the others that were asked for.
    pub left_out: Vec<String>,
}

/// Downloads of a transport, explained.
#[derive(Clone, Debug)]
pub struct ExplainedTransport {
    /// The transport's label.
    pub label: String,
    /// What the downloads have in common, in sentences.
    pub findings: Vec<String>,
    /// The downloads, the slowest first.
    pub downloads: Vec<ExplainedDownload>,
}

/// A download, explained.
#[derive(Clone, Debug)]
pub struct ExplainedDownload {
    /// The number of its network, and the seed of its run.
    pub run: (u32, u64),
    /// Which one it is.
    pub download: Download,
    /// How long it took, in nanoseconds.
    pub time_ns: u64,
    /// Where its time went, in order.
    pub rows: Vec<ExplainedPart>,
}

/// Some of a download's time.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedPart {
    /// Whether it was the request, the response, or between the two.
    pub way: String,
    /// The node.
    pub node: String,
    /// What the last byte waited for.
    pub reason: String,
    /// How long, in nanoseconds.
    pub time_ns: u64,
    /// The share of the download's time, from 0 to 1.
    pub share: f64,
}

/// Bytes of data in a full cell.
const CELL_DATA: u64 = 498;

/// Parts of a download that are shorter than this share of it are told together.
const SHORT: f64 = 0.005;

/// A run with its downloads and their parts.
struct Run<'a> {
    entry: &'a RunEntry,
    downloads: Vec<Download>,
    parts: BTreeMap<(u32, u32), Vec<Part>>,
}

/// A download among those of all runs.
#[derive(Clone, Copy)]
struct Found<'a> {
    entry: &'a RunEntry,
    download: &'a Download,
    parts: &'a [Part],
    time: u64,
}

/// Explains downloads of a result folder, or of a scenario, which is run with a breakdown recorded.
///
/// # Errors
/// If the folder or scenario cannot be used, no breakdown was recorded, or no download that fits the
/// choice was completed.
pub fn explain(target: &Source, choice: &Choice, runner: &Runner) -> Result<Explained, Failure> {
    if let Some(folder) = target.folder() {
        let changed = matches!(target, Source::Changed(..)).then_some("--set");
        if let Some(option) = changed.into_iter().chain(runner.order.given()).next() {
            return Err(needs_scenario(option, folder));
        }
        return explain_folder(folder, choice);
    }
    let breakdown = "record.breakdown";
    if target.refuse_changes(breakdown, "").is_err() {
        return Err(Failure::bad_input(format_args!(
            "--set {breakdown}: has no effect, because what is explained always has a breakdown; \
             allowed are other keys"
        )));
    }
    let (mut scenario, _) = target.load(runner.order)?;
    labels("the scenario has", &scenario.labels(), choice)?;
    scenario.record.breakdown = true;
    let text = scenario.to_toml();
    let finished = runner.scenario(scenario, &text, target.name())?;
    write_report(&finished.folder)?;
    explain_folder(&finished.folder, choice)
}

/// An option that means something with a scenario alone, where a folder is given.
pub fn needs_scenario(option: &str, folder: &Path) -> Failure {
    Failure::bad_input(format_args!(
        "{option}: allowed with a scenario, and {} is a folder",
        folder.display()
    ))
}

fn explain_folder(path: &Path, choice: &Choice) -> Result<Explained, Failure> {
    let folder = Folder::open(path);
    let manifest = folder.read_manifest()?;
    let labels = labels("the results have", &manifest.transports, choice)?;
    if !manifest
        .runs
        .iter()
        .any(|run| run.files.contains_key("breakdown"))
    {
        return Err(no_breakdown(&folder, &manifest, path)?);
    }
    let (mut transports, mut left_out) = (Vec::new(), Vec::new());
    let mut circuits = BTreeSet::new();
    for label in labels {
        let entries = manifest
            .runs
            .iter()
            .filter(|run| run.key.transport == label);
        let runs = entries.map(|entry| read(&folder, entry));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        let downloads = runs.iter().flat_map(|run| &run.downloads);
        circuits.extend(downloads.map(|download| download.circuit));
        match explain_transport(&label, &runs, choice) {
            Some(transport) => transports.push(transport),
            None => left_out.push(label),
        }
    }
    if transports.is_empty() {
        if let Some(circuit) = choice.circuit {
            check_circuit(circuit, &circuits)?;
        }
        let none = format!("{}: no download that fits was completed", path.display());
        let failure = Failure::bad_input(none);
        return Err(match (choice.circuit, choice.class) {
            (Some(circuit), Some(class)) => failure.with_hint(format!(
                "Circuit {circuit} may be of another class than {class}: leave --class out."
            )),
            _ => failure,
        });
    }
    Ok(Explained {
        folder: path.to_owned(),
        transports,
        left_out,
    })
}

/// Why results have no breakdown: no download was completed, or none was recorded.
fn no_breakdown(folder: &Folder, manifest: &Manifest, path: &Path) -> Result<Failure, Failure> {
    if manifest.runs.is_empty() {
        return Ok(Failure::bad_input(format_args!(
            "{}: it holds no finished run",
            path.display()
        )));
    }
    for run in &manifest.runs {
        if !folder.read_table::<Download>(run)?.is_empty() {
            return Ok(Failure::bad_input(format_args!(
                "{}: no breakdown was recorded; a scenario needs `breakdown = true` under \
                 `[record]`, and `hopflow explain SCENARIO` runs one with it",
                path.display()
            )));
        }
    }
    Ok(Failure::bad_input(format_args!(
        "{}: no download that was requested after the warm-up was completed, so there is none to \
         explain; needed is a longer `duration`, or smaller responses: endless ones are never complete",
        path.display()
    )))
}

/// The transports that are asked for.
fn labels(who: &str, known: &[String], choice: &Choice) -> Result<Vec<String>, Failure> {
    let Some(wanted) = &choice.transport else {
        return Ok(known.to_vec());
    };
    if known.contains(wanted) {
        return Ok(vec![wanted.clone()]);
    }
    let allowed = allowed(wanted, known.iter().map(String::as_str));
    let problem = format!("--transport: {who} no \"{wanted}\"; {allowed}");
    Err(Failure::bad_input(problem))
}

fn read<'a>(folder: &Folder, entry: &'a RunEntry) -> Result<Run<'a>, Failure> {
    let mut parts: BTreeMap<_, Vec<Part>> = BTreeMap::new();
    for part in folder.read_optional::<Part>(entry)? {
        let name = (part.circuit, part.request);
        parts.entry(name).or_default().push(part);
    }
    Ok(Run {
        entry,
        downloads: folder.read_table(entry)?,
        parts,
    })
}

/// The downloads of a transport that fit, the slowest first; `None` if there are none.
fn explain_transport(label: &str, runs: &[Run<'_>], choice: &Choice) -> Option<ExplainedTransport> {
    let all = || runs.iter().flat_map(Run::found);
    let web = |found: &Found<'_>| found.download.class == Class::Web;
    let any = choice.circuit.is_some() || !all().any(|found| web(&found));
    let class = choice.class.or((!any).then_some(Class::Web));
    let fits = |found: &Found<'_>| {
        class.is_none_or(|class| found.download.class == class)
            && choice
                .circuit
                .is_none_or(|circuit| found.download.circuit == circuit)
    };
    let mut found: Vec<_> = all().filter(fits).collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.time));
    let chosen = &found[..choice.slowest.min(found.len())];
    if chosen.is_empty() {
        return None;
    }
    Some(ExplainedTransport {
        label: label.to_owned(),
        findings: findings(chosen, &found, class),
        downloads: chosen.iter().map(Found::explain).collect(),
    })
}

/// Checks a circuit against those that completed downloads with any of the transports.
fn check_circuit(circuit: u32, known: &BTreeSet<u32>) -> Result<(), Failure> {
    if known.is_empty() || known.contains(&circuit) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(ToString::to_string).collect();
    Err(Failure::bad_input(format_args!(
        "--circuit: circuit {circuit} completed no download; allowed are {}",
        known.join(", ")
    )))
}

impl Run<'_> {
    /// All downloads whose parts are known.
    fn found(&self) -> impl Iterator<Item = Found<'_>> {
        self.downloads.iter().filter_map(|download| {
            let parts = self.parts.get(&(download.circuit, download.request))?;
            Some(Found {
                entry: self.entry,
                download,
                parts,
                time: parts.iter().map(|part| part.time_ns).sum(),
            })
        })
    }
}

impl Found<'_> {
    fn explain(&self) -> ExplainedDownload {
        let key = &self.entry.key;
        ExplainedDownload {
            run: (key.network, key.seed),
            download: self.download.clone(),
            time_ns: self.time,
            rows: rows(self.parts, self.time),
        }
    }
}

impl Explained {
    /// The same as JSON: a folder, transports with findings and downloads, and those that are left out.
    pub fn to_json(&self) -> Value {
        let transport = |transport: &ExplainedTransport| {
            let downloads = transport.downloads.iter();
            json!({
                "transport": transport.label,
                "findings": transport.findings,
                "downloads": downloads.map(ExplainedDownload::to_json).collect::<Value>(),
            })
        };
        json!({
            "folder": self.folder.display().to_string(),
            "transports": self.transports.iter().map(transport).collect::<Value>(),
            "left_out": self.left_out,
        })
    }
}

impl ExplainedDownload {
    /// Which one it is, and how long it took.
    pub fn title(&self) -> String {
        let Download {
            circuit,
            request,
            class,
            start_s,
            bytes,
            ..
        } = &self.download;
        format!(
            "Circuit {circuit}, request {request} ({class}, {} kB, at {start_s:.2} s, seed {}): {}",
            significant(*bytes as f64 / 1e3),
            self.run.1,
            time(self.time_ns)
        )
    }

    fn to_json(&self) -> Value {
        let part = |part: &ExplainedPart| {
            json!({
                "way": part.way,
                "node": part.node,
                "reason": part.reason,
                "time_ns": part.time_ns,
                "share": part.share,
            })
        };
        let download = &self.download;
        json!({
            "network": self.run.0,
            "seed": self.run.1,
            "circuit": download.circuit,
            "request": download.request,
            "class": download.class.to_string(),
            "start_s": download.start_s,
            "bytes": download.bytes,
            "time_ns": self.time_ns,
            "parts": self.rows.iter().map(part).collect::<Value>(),
        })
    }
}

/// The parts of a download in order, those of one place and cause together, short ones at the end.
fn rows(parts: &[Part], all: u64) -> Vec<ExplainedPart> {
    let mut rows: Vec<ExplainedPart> = Vec::new();
    for part in parts {
        let (way, reason) = (way(part).to_owned(), reason(part.stage, part.cause));
        let same = |row: &&mut ExplainedPart| {
            (&row.way, &row.node, &*row.reason) == (&way, &part.name, reason)
        };
        if let Some(row) = rows.iter_mut().find(same) {
            row.time_ns += part.time_ns;
            continue;
        }
        rows.push(ExplainedPart {
            node: part.name.clone(),
            reason: reason.to_owned(),
            time_ns: part.time_ns,
            share: 0.0,
            way,
        });
    }
    let is_short = |row: &ExplainedPart| (row.time_ns as f64) < SHORT * all as f64;
    let (short, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_short);
    if !short.is_empty() {
        rows.push(ExplainedPart {
            way: String::new(),
            node: String::new(),
            reason: format!("{} shorter parts", short.len()),
            time_ns: short.iter().map(|row| row.time_ns).sum(),
            share: 0.0,
        });
    }
    for row in &mut rows {
        row.share = row.time_ns as f64 / all.max(1) as f64;
    }
    rows
}

const fn way(part: &Part) -> &'static str {
    match (part.stage, part.way) {
        (Stage::Server | Stage::User, _) => "between",
        (_, Transfer::Request) => "request",
        (_, Transfer::Response) => "response",
    }
}

/// What a byte waits for, in words.
const fn reason(stage: Stage, cause: Cause) -> &'static str {
    match (stage, cause) {
        (Stage::Package, Cause::EndWindow) => "to be packaged: window from end to end full",
        (Stage::Package, Cause::EndRate) => "to be packaged: rate from end to end",
        (Stage::Package, Cause::StreamWindow) => "to be packaged: window of the stream full",
        (Stage::Package, Cause::Stream) => "to be packaged: its stream held back",
        (Stage::Package, Cause::HopWindow) => "to be packaged: window of the first hop full",
        (Stage::Package, Cause::HopRate) => "to be packaged: rate of the first hop",
        (Stage::Package, Cause::Room) => "to be packaged: buffer of the first hop's TCP full",
        (Stage::Package, Cause::Run) => "to be packaged: the scheduler's next run",
        (Stage::Package, Cause::Bucket) => "to be packaged: no tokens",
        (Stage::Package, Cause::Turn) => "to be packaged: turns of other circuits",
        (Stage::Package, _) => "to be packaged: access link full",
        (_, Cause::EndWindow) => "in the queue: window from end to end full",
        (_, Cause::EndRate) => "in the queue: rate from end to end",
        (_, Cause::StreamWindow) => "in the queue: window of the stream full",
        (_, Cause::Stream) => "in the queue: its stream held back",
        (_, Cause::HopWindow) => "in the queue: window of the hop full",
        (_, Cause::HopRate) => "in the queue: rate of the hop",
        (_, Cause::Room) => "in the queue: buffer of the hop's TCP full",
        (_, Cause::Run) => "in the queue: the scheduler's next run",
        (_, Cause::Bucket) => "in the queue: no tokens",
        (_, Cause::Turn) => "in the queue: turns of other circuits",
        (_, Cause::Uplink) => "in the queue: access link full",
        (_, Cause::Buffer) => "in TCP's buffer",
        (_, Cause::Retransmission) => "lost, sent again",
        (_, Cause::LinkQueue) => "in the queue of its link",
        (_, Cause::Serialisation) => "its packet's bits leave",
        (_, Cause::Propagation) => "on the wire",
        (_, Cause::Backbone) => "between the routers",
        (_, Cause::TcpOrder) => "TCP lacks bytes before it",
        (_, Cause::Reading) => "no tokens to read it",
        (_, Cause::Order) => "cells before it are missing",
        (_, Cause::Server) => "the server's own time",
        (_, Cause::User) => "the user's pause",
    }
}

/// What downloads have in common: how long they took, where most of that went, and what else held
/// their last cells up.
fn findings(chosen: &[Found<'_>], all: &[Found<'_>], class: Option<Class>) -> Vec<String> {
    let times: Vec<_> = chosen.iter().map(|found| found.time).collect();
    let (longest, shortest) = (times[0], times[times.len() - 1]);
    let class = class.map_or(String::new(), |class| format!("{class} "));
    let median = median(all.iter().map(|found| found.time));
    let took = match chosen {
        [_] => format!(
            "The slowest of {} {class}downloads took {}",
            all.len(),
            time(longest)
        ),
        _ => format!(
            "The {} slowest of {} {class}downloads took {} to {}",
            chosen.len(),
            all.len(),
            time(shortest),
            time(longest)
        ),
    };
    let mut findings = vec![format!("{took}; the median is {}.", time(median))];
    let sum: u64 = times.iter().sum();
    let waits = |part: &Part| {
        let inert = matches!(Kind::of(part), Kind::Wire | Kind::Ends);
        !inert
    };
    let most = Most::of(chosen, waits);
    if let Some(most) = &most {
        findings.push(most.first(sum, chosen.len()));
    }
    let first = most.filter(|most| most.stage == Stage::Package);
    if first.is_some() {
        findings.extend(company(chosen));
        findings.extend(after_packaging(chosen, &waits));
    }
    let least = chosen.iter().flat_map(|found| found.parts);
    let least = least.filter(|part| !waits(part)).map(|part| part.time_ns);
    let least = least.sum::<u64>();
    findings.push(format!(
        "On the wire, at the server and the user it was {} on average, {} of the time.",
        time(least / chosen.len() as u64),
        percent(least, sum)
    ));
    findings
}

/// The median of times, of which there are some: between two in the middle their mean.
fn median(times: impl Iterator<Item = u64>) -> u64 {
    let times = Sorted::new(times.map(|time| time as f64).collect());
    times.map_or(0, |times| times.median().round() as u64)
}

/// What held the last cells up once they were packaged.
fn after_packaging(chosen: &[Found<'_>], waits: &dyn Fn(&Part) -> bool) -> Option<String> {
    let later = |part: &Part| waits(part) && part.stage != Stage::Package;
    Some(Most::of(chosen, later)?.second(chosen.len()))
}

/// Who else used the nodes on the way: of each response, the node that sent most meanwhile.
fn company(chosen: &[Found<'_>]) -> Option<String> {
    let busiest = |found: &Found<'_>| {
        let mut nodes: BTreeMap<&str, u64> = BTreeMap::new();
        let responses = found.parts.iter();
        for part in responses.filter(|part| part.way == Transfer::Response) {
            *nodes.entry(&part.name).or_default() += part.node_cells;
        }
        let (name, cells) = nodes.into_iter().max_by_key(|(_, cells)| *cells)?;
        let own = found.download.bytes.div_ceil(CELL_DATA);
        Some((name.to_owned(), cells, own.min(cells)))
    };
    let of_nodes: Vec<_> = chosen.iter().filter_map(busiest).collect();
    let sum = |of: fn(&(String, u64, u64)) -> u64| of_nodes.iter().map(of).sum::<u64>();
    let (cells, own) = (sum(|it| it.1), sum(|it| it.2));
    let name = &of_nodes.first()?.0;
    if cells == 0 {
        return None;
    }
    let (one, count) = (
        of_nodes.iter().all(|it| it.0 == *name),
        of_nodes.len() as u64,
    );
    let who = if one {
        name
    } else {
        "the busiest node on each way"
    };
    Some(format!(
        "Meanwhile {who} sent {} cells on average, {} of them theirs.",
        cells / count,
        percent(own, cells)
    ))
}

/// The one stage and cause that took most of the time.
struct Most {
    stage: Stage,
    cause: Cause,
    time: u64,
    /// The nodes where it did, those first where it took most.
    nodes: Vec<(String, u64)>,
    /// Cells of other circuits that went first.
    others: u64,
}

impl Most {
    fn of(chosen: &[Found<'_>], counts: impl Fn(&Part) -> bool) -> Option<Self> {
        let mut groups: BTreeMap<(Stage, Cause), Vec<&Part>> = BTreeMap::new();
        let parts = chosen.iter().flat_map(|found| found.parts);
        for part in parts.filter(|part| counts(part)) {
            groups
                .entry((part.stage, part.cause))
                .or_default()
                .push(part);
        }
        let sum = |parts: &[&Part]| parts.iter().map(|part| part.time_ns).sum::<u64>();
        let ((stage, cause), parts) = groups.into_iter().max_by_key(|(_, parts)| sum(parts))?;
        let mut nodes: BTreeMap<&str, u64> = BTreeMap::new();
        for part in &parts {
            *nodes.entry(&part.name).or_default() += part.time_ns;
        }
        let mut nodes: Vec<_> = nodes
            .into_iter()
            .map(|(name, time)| (name.to_owned(), time))
            .collect();
        nodes.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        Some(Self {
            stage,
            cause,
            time: sum(&parts),
            nodes,
            others: parts.iter().map(|part| part.others_cells).sum(),
        })
    }

    /// Where it was.
    fn place(&self) -> String {
        match self.nodes.as_slice() {
            [(one, _)] => format!("at {one}"),
            [(one, _), (other, _)] => format!("at {one} and {other}"),
            [(first, most), ..] if 2 * most > self.time => format!("mostly at {first}"),
            nodes => format!("at {} nodes, longest at {}", nodes.len(), nodes[0].0),
        }
    }

    fn first(&self, sum: u64, downloads: usize) -> String {
        let place = self.place();
        let because = format!(
            "{}{}",
            because(self.stage, self.cause),
            self.whose(downloads)
        );
        format!(
            "Longest, {} on average or {} of the time, their last bytes waited {place}{because}",
            time(self.time / downloads as u64),
            percent(self.time, sum)
        )
    }

    fn second(&self, downloads: usize) -> String {
        format!(
            "Once packaged, the last cells waited longest {}, {} on average{}{}",
            self.place(),
            time(self.time / downloads as u64),
            because(self.stage, self.cause),
            self.whose(downloads)
        )
    }

    /// Who went first, if others did.
    fn whose(&self, downloads: usize) -> String {
        match self.others / downloads as u64 {
            0 => ".".to_owned(),
            cells => format!(": on average {cells} cells of theirs went first."),
        }
    }
}

/// Why, as the end of a sentence.
const fn because(stage: Stage, cause: Cause) -> &'static str {
    match (stage, cause) {
        (Stage::Package, Cause::EndWindow) => {
            " before they were packaged, because the window from end to end was full"
        }
        (Stage::Package, Cause::EndRate) => {
            " before they were packaged, because the rate from end to end allowed no more"
        }
        (Stage::Package, Cause::StreamWindow) => {
            " before they were packaged, because the window of their stream was full"
        }
        (Stage::Package, Cause::Stream) => {
            " before they were packaged, because their stream was held back"
        }
        (Stage::Package, Cause::HopWindow) => {
            " before they were packaged, because the window of the first hop was full"
        }
        (Stage::Package, Cause::HopRate) => {
            " before they were packaged, because the rate of the first hop allowed no more"
        }
        (Stage::Package, Cause::Room) => {
            " before they were packaged, because the buffer of the first hop's TCP was full"
        }
        (Stage::Package, Cause::Turn) => {
            " before they were packaged, while other circuits had their turns"
        }
        (Stage::Package, _) => {
            " before they were packaged, because what the node may send was used up"
        }
        (_, Cause::EndWindow) => " in the queue, because the window from end to end was full",
        (_, Cause::EndRate | Cause::HopRate) => " in the queue, as their rate said",
        (_, Cause::StreamWindow) => " because the window of their stream was full",
        (_, Cause::Stream) => " because their stream was held back",
        (_, Cause::HopWindow) => " in the queue, because the window of the hop was full",
        (_, Cause::Room) => " in the queue, because the buffer of the hop's TCP was full",
        (_, Cause::Run) => " in the queue for the scheduler's next run",
        (_, Cause::Bucket) => " in the queue for tokens",
        (_, Cause::Turn) => " in the queue, while other circuits had their turns",
        (_, Cause::Uplink) => " in the queue, because the access link was full",
        (_, Cause::Buffer) => " in TCP's buffer",
        (_, Cause::Retransmission) => " for a retransmission",
        (_, Cause::LinkQueue) => " in the queue of the access link",
        (_, Cause::TcpOrder) => " until TCP had the bytes before them",
        (_, Cause::Reading) => " to be read, because the node had no tokens",
        (_, Cause::Order) => " for cells before them that were missing",
        (_, _) => "",
    }
}

/// A time with three significant digits.
fn time(nanos: u64) -> String {
    let seconds = nanos as f64 / 1e9;
    if seconds < 1.0 {
        format!("{} ms", significant(seconds * 1e3))
    } else {
        format!("{} s", significant(seconds))
    }
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / of.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use hopflow_lab::run::Silent;
    use hopflow_results::{RunKey, Tables};

    use super::*;
    use crate::caller::Caller;
    use crate::order::Order;

    #[test]
    fn a_breakdown_cannot_be_switched_off() {
        let choice = Choice {
            transport: None,
            class: None,
            circuit: None,
            slowest: 1,
        };
        let runner = Runner {
            order: &Order::default(),
            caller: &Caller::new("hopflow explain", "program"),
            monitor: &Silent,
        };
        for (key, value) in [
            ("record.breakdown", "false"),
            ("record", "{ breakdown = false }"),
        ] {
            let changes = [(key.to_owned(), value.to_owned())];
            let target = Source::Named("quickstart".to_owned()).changed(&changes);
            let failure = explain(&target, &choice, &runner).unwrap_err();
            let message = failure.message();
            assert!(
                message.starts_with("--set record.breakdown: has no effect"),
                "{message}"
            );
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median([9, 4, 2, 1].into_iter()), 3);
        assert_eq!(median([9, 4, 2].into_iter()), 4);
    }

    /// Two transports, of which `vanilla` completed a download of circuit 0 and `backtap` one of
    /// circuit 1.
    fn results(path: &Path) {
        let folder = Folder::create(path).unwrap();
        let mut manifest = Manifest::new("0", "two", "");
        for (circuit, label) in (0..).zip(["vanilla", "backtap"]) {
            let part = Part {
                circuit,
                request: 0,
                transfer: 0,
                way: Transfer::Response,
                stage: Stage::Hop,
                hop: 0,
                name: "exit".to_owned(),
                cause: Cause::Propagation,
                time_ns: 1_000_000_000,
                others_cells: 0,
                node_cells: 0,
            };
            let download = Download {
                circuit,
                class: Class::Bulk,
                request: 0,
                start_s: 1.0,
                ttfb_s: 0.5,
                ttlb_s: 1.0,
                bytes: 1000,
            };
            let tables = Tables {
                downloads: vec![download],
                breakdown: vec![part],
                ..Tables::default()
            };
            let key = RunKey::new(label, 1, 1, &[]);
            let run = folder.write_run(&key, &tables, 0.0).unwrap();
            manifest.transports.push(label.to_owned());
            manifest.runs.push(run);
        }
        folder.write_manifest(&manifest).unwrap();
    }

    #[test]
    fn a_transport_without_the_circuit_is_named_and_the_others_are_explained() {
        let folder = tempfile::tempdir().unwrap();
        results(folder.path());
        let explain = |circuit| {
            let choice = Choice {
                transport: None,
                class: None,
                circuit: Some(circuit),
                slowest: 5,
            };
            explain_folder(folder.path(), &choice)
        };
        for (circuit, [found, other]) in [(0, ["vanilla", "backtap"]), (1, ["backtap", "vanilla"])]
        {
            let explained = explain(circuit).unwrap();
            assert_eq!(explained.transports[0].label, found);
            assert_eq!(explained.left_out, [other]);
        }
        let failure = explain(2).unwrap_err();
        assert!(failure.message().ends_with("allowed are 0, 1"));
    }
}
