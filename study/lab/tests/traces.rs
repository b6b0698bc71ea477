//! Traces that other programs read: they say what happened, and recording them changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hopflow_lab::run::{Campaign, Silent};
use hopflow_lab::scenario::Scenario;
use hopflow_results::{Folder, RunEntry, Tables};
use hopflow_testkit::qlog::{self, Vantage};
use hopflow_testkit::wireshark::{dissect, tshark};

/// Two circuits over lossy links, of which the second begins when the first has long been idle.
const TEXT: &str = r#"
name = "traced"
duration = "15 s"
seeds = 1
[transports.vanilla]
[transports.pctcp]
[transports.n23]
[transports.tor-vegas]
[transports.backtap]
[transports.udp-or]
[transports.predictor]
[transports.joint]
[network]
access = { rate = "10 Mbit/s", delay = "10 ms", loss = 0.005 }
bucket = { rate = "100 kB/s" }
[[network.relays]]
name = "relay"
count = 3
[[circuits]]
path = ["relay-1", "relay-2", "relay-3"]
workload = { class = "web", response = "300 KiB", think = ["100 s", "200 s"] }
"#;

const RECORD: &str = "[record]\nqlog = [0]\npackets = [0]\n";

fn run(text: &str, folder: &Path, threads_each: Option<usize>) -> Vec<RunEntry> {
    let scenario = Scenario::parse(text, "traced.toml").unwrap();
    let mut campaign = Campaign::new(scenario, text, "test").unwrap();
    if let Some(threads) = threads_each {
        campaign.split_runs(threads);
    }
    campaign.run(folder, Some(2), &Silent).unwrap().runs
}

/// A run with its tables and the folder of its files.
struct Traced {
    entry: RunEntry,
    tables: Tables,
    folder: PathBuf,
}

fn traced(folder: &Path, runs: Vec<RunEntry>) -> Vec<Traced> {
    let read = |entry: RunEntry| Traced {
        tables: Folder::open(folder).read_run(&entry).unwrap(),
        folder: folder.join(&entry.folder),
        entry,
    };
    runs.into_iter().map(read).collect()
}

#[test]
fn traces_change_nothing_and_are_the_same_on_any_number_of_threads() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let without = run(TEXT, folders[0].path(), None);
    let text = format!("{TEXT}{RECORD}");
    let [alone, split] = [(1, 1), (2, 4)].map(|(which, threads)| {
        let runs = run(&text, folders[which].path(), Some(threads));
        traced(folders[which].path(), runs)
    });
    let without = traced(folders[0].path(), without);
    for ((without, alone), split) in without.iter().zip(&alone).zip(&split) {
        assert!(without.entry.traces.is_empty());
        assert_eq!(without.tables, alone.tables);
        assert_eq!(without.entry.results, alone.entry.results);
        // A client, three relays, and the circuit.
        assert_eq!(alone.entry.traces.len(), 5);
        assert_eq!(alone.entry.traces, split.entry.traces);
    }
}

#[test]
fn a_damaged_trace_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}{RECORD}");
    let text = text.replace("15 s", "1 s");
    let runs = run(&text, folder.path(), None);
    let run_folder = folder.path().join(&runs[0].folder);
    let file = run_folder.join("circuit-0.qlog");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[1..]).unwrap();
    run(&text, folder.path(), None);
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn circuits_that_do_not_exist_are_refused() {
    for (count, allowed) in [(1, "0, the only one"), (5, "0 to 4")] {
        for key in ["qlog", "packets"] {
            let text = TEXT.replace("[[circuits]]", &format!("[[circuits]]\ncount = {count}"));
            let text = format!("{text}[record]\n{key} = [0, 7]\n");
            let error = Scenario::parse(&text, "traced.toml").unwrap_err();
            let message = format!(
                "traced.toml:24: record.{key}: there is no circuit 7; allowed are the numbers {allowed}"
            );
            assert_eq!(error.to_string(), message);
        }
    }
}

#[test]
fn events_add_up_to_what_the_tables_say() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}{RECORD}");
    let runs = run(&text, folder.path(), None);
    let (mut resent, mut holds) = (0, BTreeSet::new());
    for run in traced(folder.path(), runs) {
        let label = &run.entry.key.transport;
        let nodes = qlog::read(&run.folder.join("circuit-0.qlog"));
        let names: Vec<_> = nodes.iter().map(|node| &*node.name).collect();
        assert_eq!(names, ["client-0", "relay-1", "relay-2", "relay-3"]);
        let relays: BTreeMap<_, _> = run.tables.relays.iter().map(|it| (&*it.name, it)).collect();
        for node in &nodes {
            let relay = relays[&*node.name];
            let [first, again] = [false, true].map(|again| node.count("cell_sent", again));
            assert_eq!(
                (first, again),
                (relay.cells_sent, relay.cells_retransmitted),
                "{label} at {}",
                node.name
            );
            resent += again;
            let of_queue = node.of("hold_updated");
            holds.extend(of_queue.map(|data| data["new"].as_str().unwrap().to_owned()));
        }
        let (client, exit) = (&nodes[0], &nodes[3]);
        let delivered = run.tables.circuits[0].delivered_bytes;
        assert_eq!(
            client.sum("data_delivered", "backward"),
            delivered,
            "{label}"
        );
        let written = exit.sum("data_written", "backward");
        assert_eq!(written, 300 * 1024, "{label}: the response");
        assert_eq!(exit.sum("data_packaged", "backward"), written, "{label}");
        assert_eq!(delivered, written, "{label}: it is complete");
        let request = client.sum("data_written", "forward");
        assert_eq!(
            exit.sum("data_delivered", "forward"),
            request,
            "{label}: the request"
        );
        // Nothing is received that was not sent.
        let count = |node: &Vantage, name: &str, direction: &str| {
            let cells = node.of(name).filter(|data| data["direction"] == direction);
            cells.count()
        };
        for pair in nodes.windows(2) {
            let ways = [
                (&pair[0], &pair[1], "forward"),
                (&pair[1], &pair[0], "backward"),
            ];
            for (from, to, direction) in ways {
                let sent = count(from, "cell_sent", direction);
                let received = count(to, "cell_received", direction);
                assert!(received <= sent && received > 0, "{label}");
            }
        }
        // Feedback and windows are those of the transport.
        let feedback = nodes[1].of("feedback_received").count();
        assert_eq!(
            feedback > 0,
            !["vanilla", "pctcp", "tor-vegas", "udp-or"].contains(&&**label),
            "{label}"
        );
        let windows = nodes[1].of("flow_updated");
        let windows: BTreeSet<_> = windows.filter_map(|data| data["window"].as_u64()).collect();
        if label == "backtap" {
            assert!(windows.len() > 3, "{label} changes its window: {windows:?}");
        }
    }
    assert!(resent > 0, "links lose packets");
    for cause in ["nothing", "bucket", "hop_window", "end_window"] {
        assert!(
            holds.contains(cause),
            "nothing was held by {cause}: {holds:?}"
        );
    }
}

/// Circuits over several legs, two transports side by side, relays that stop, circuits that are built anew,
/// and other applications: what hopflow's frames share a machine with.
const BUSY: &str = r#"
name = "busy"
duration = "6 s"
seeds = 1
[transports.vanilla]
[transports.both]
preset = "pctcp"
upgrade = { preset = "backtap", clients = 0.5 }
[network]
access = { rate = "10 Mbit/s", delay = "10 ms", loss = 0.01, duplicate = 0.01 }
bucket = { rate = "300 kB/s" }
[[network.relays]]
name = "relay"
count = 6
[[network.cross]]
count = 1
to = "relay-2"
[[circuits]]
count = 4
path = ["relay-1", "relay-2", "relay-3"]
legs = [["relay-4", "relay-5", "relay-3"]]
workload = "bulk"
rebuild = "200 ms"
[[faults]]
relays = ["relay-2"]
what = "stop"
at = "2 s"
for = "1 s"
[record]
qlog = [0, 1, 2, 3]
packets = [0, 3]
"#;

#[test]
fn wireshark_reads_what_is_cut_off_and_what_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let runs = run(BUSY, folder.path(), None);
    for run in traced(folder.path(), runs) {
        let label = &run.entry.key.transport;
        for circuit in 0..4 {
            let nodes = qlog::read(&run.folder.join(format!("circuit-{circuit}.qlog")));
            let of = |name: &'static str| nodes.iter().flat_map(move |node| node.of(name));
            assert!(of("cell_sent").any(|data| data["leg"] == 1), "{label}");
            assert!(of("cell_sent").any(|data| data["turn"] == 1), "{label}");
            assert!(of("circuit_closed").count() > 1, "{label}");
        }
        if tshark().is_none() {
            continue;
        }
        let (mut frames, mut others) = (0, 0);
        let captures = run.entry.traces.keys();
        for file in captures.filter(|name| name.ends_with(".pcapng")) {
            let fields = [
                "hopflow.type",
                "_ws.malformed",
                "_ws.expert.message",
                "tcp.dstport",
            ];
            for packet in dissect(&run.folder.join(file), &fields) {
                frames += packet[0].split(',').filter(|kind| !kind.is_empty()).count();
                others += u32::from(packet[3].parse().is_ok_and(|port: u16| port < 20_000));
                let text = format!("{label}, {file}: {packet:?}");
                assert_eq!(packet[1], "", "{text}");
                for bad in ["Unknown type", "cut off", "exceeds", "Malformed", "Lua"] {
                    assert!(!packet[2].contains(bad), "{text}");
                }
            }
        }
        assert!(frames > 1000 && others > 100, "{label}: {frames}, {others}");
    }
}

#[test]
fn wireshark_reads_every_packet() {
    let Some(version) = tshark() else {
        eprintln!("skipped: there is no tshark (Debian: apt install tshark)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}{RECORD}");
    let runs = run(&text, folder.path(), None);
    for run in traced(folder.path(), runs) {
        let label = &run.entry.key.transport;
        let nodes = qlog::read(&run.folder.join("circuit-0.qlog"));
        for node in &nodes {
            let what = format!("{label} at {}, {version}", node.name);
            let file = run.folder.join(format!("{}.pcapng", node.name));
            let packets = dissect(
                &file,
                &[
                    "frame.time_epoch",
                    "frame.interface_name",
                    "frame.packet_flags_direction",
                    "frame.len",
                    "_ws.malformed",
                    "hopflow.type",
                    "_ws.expert.message",
                    "tcp.checksum.status",
                    "ip.checksum.status",
                ],
            );
            let (mut before, mut bytes, mut cells) = (0.0, [0_u64; 2], [0_u64; 2]);
            for packet in &packets {
                let time: f64 = packet[0].parse().unwrap();
                assert!(time >= before, "{what}: {packet:?}");
                before = time;
                assert_eq!(packet[1], node.name);
                let sent = usize::from(packet[2].ends_with('2'));
                bytes[sent] += packet[3].parse::<u64>().unwrap() + 2;
                assert_eq!(packet[4], "", "{what}: {packet:?}");
                for bad in ["Unknown type", "cut off", "exceeds", "Malformed"] {
                    assert!(!packet[6].contains(bad), "{what}: {packet:?}");
                }
                assert!(["", "1"].contains(&&*packet[7]), "{what}: {packet:?}");
                assert_eq!(packet[8], "1", "{what}: {packet:?}");
                let types = packet[5].split(',');
                cells[sent] += types.filter(|kind| *kind == "3").count() as u64;
            }
            let events = ["cell_received", "cell_sent"].map(|name| node.of(name).count() as u64);
            assert_eq!(cells, events, "{what}: cells received and sent");
            let mut links = run.tables.links.iter();
            let up = links.find(|link| {
                link.name == node.name && link.direction == hopflow_results::Direction::Up
            });
            let (drops, carried) = (up.unwrap().drops, up.unwrap().bytes.unwrap());
            // A packet that was dropped has a size between that of a probe and the largest.
            let lost = bytes[1] - carried;
            assert!(
                (33 * drops..=1502 * drops).contains(&lost),
                "{what}: {lost} of {drops}"
            );
        }
    }
}
