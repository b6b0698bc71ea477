//! Nodes that trace: their files say what their counters say.

use std::io::{Read, Write};
use std::path::Path;

use hopflow_daemon::net::{Account, Running};
use hopflow_testkit::qlog::{self, Vantage};
use hopflow_testkit::wireshark::{dissect, tshark};

use super::support::{Overlay, content, serve_content, until};

const SIZE: usize = 300_000;

/// The traces of all circuits at a node.
fn circuits(folder: &Path) -> Vec<Vantage> {
    let names = (0..16).map(|number| folder.join(format!("circuit-{number}.qlog")));
    let there = names.filter(|path| path.exists());
    there.flat_map(|path| qlog::read(&path)).collect()
}

/// Cells of a node as it counts them: sent for the first time, and again.
fn counted(account: &Account) -> (u64, u64) {
    let node = account.counters.node;
    (node.cells_sent, node.cells_resent)
}

/// Waits until a node sends no cells, and says how many it sent.
fn rested(node: &Running) -> (u64, u64) {
    let mut before = (0, 0);
    let mut same = 0;
    until("the node rests", || {
        let now = counted(&node.total());
        same = if now == before { same + 1 } else { 0 };
        before = now;
        same > 25 && now.0 > 0
    });
    assert_eq!(node.total().trace_notes_dropped, 0);
    before
}

/// Downloads through three relays that trace, and compares what they wrote with what they counted.
fn compare(preset: &str) {
    let overlay = Overlay::start_traced(preset);
    let mut socket = overlay.connect(serve_content(SIZE));
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert!(got == content(SIZE), "{preset}");
    drop(socket);
    let nodes: Vec<_> = overlay.relays.iter().chain([&overlay.client]).collect();
    let sent: Vec<_> = nodes.iter().map(|node| rested(node)).collect();
    let folder = overlay.end_and_keep();
    let names = ["one", "two", "three", "client"];
    for ((name, sent), kind) in names
        .into_iter()
        .zip(sent)
        .zip(["network", "network", "server", "client"])
    {
        let folder = folder.path().join(format!("trace-{name}"));
        let what = format!("{preset} at {name}");
        let circuits = circuits(&folder);
        assert!(!circuits.is_empty(), "{what}");
        let count = |again| -> u64 { circuits.iter().map(|it| it.count("cell_sent", again)).sum() };
        assert_eq!((count(false), count(true)), sent, "{what}");
        assert!(
            circuits.iter().all(|it| it.name == name && it.kind == kind),
            "{what}"
        );
        check_packets(&folder, &what, &circuits);
        check_no_payload(&folder, &what);
    }
    check_streams(folder.path(), preset);
}

/// What client and exit say of the only stream.
fn check_streams(folder: &Path, preset: &str) {
    let [exit, client] = ["three", "client"].map(|name| {
        let circuits = circuits(&folder.join(format!("trace-{name}")));
        let used = |it: &Vantage| it.of("cell_received").count() > 0;
        circuits.into_iter().find(used).unwrap()
    });
    // The exit's answer to the client comes first.
    let size = SIZE as u64 + 1;
    assert_eq!(exit.sum("data_packaged", "backward"), size, "{preset}");
    assert_eq!(client.sum("data_delivered", "backward"), size, "{preset}");
    let data = |it: &Vantage, name: &'static str| {
        let cells = it.of(name).filter(|data| data["command"] == "data");
        cells
            .map(|data| data["length"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert!(data(&exit, "cell_sent") >= size, "{preset}");
    assert!(exit.of("circuit_closed").count() == 1, "{preset}");
    if preset == "backtap" {
        let windows = client.of("feedback_sent").count();
        assert!(windows > 0 && exit.of("feedback_received").count() > 0);
        assert!(exit.of("flow_updated").any(|data| data["window"].is_u64()));
    }
}

/// `tshark` finds the cells that the events name.
fn check_packets(folder: &Path, what: &str, circuits: &[Vantage]) {
    if tshark().is_none() {
        eprintln!("skipped: there is no tshark (Debian: apt install tshark)");
        return;
    }
    let fields = [
        "frame.packet_flags_direction",
        "hopflow.type",
        "_ws.malformed",
        "_ws.expert.message",
        "ip.checksum.status",
        "frame.interface_name",
    ];
    let (mut cells, mut setups) = ([0_u64; 2], 0);
    for packet in dissect(&folder.join("packets.pcapng"), &fields) {
        let sent = usize::from(packet[0].ends_with('2'));
        let types = || packet[1].split(',');
        cells[sent] += types().filter(|kind| *kind == "3").count() as u64;
        setups += types().filter(|kind| *kind == "14").count();
        assert!(!packet[1].is_empty(), "{what}: {packet:?}");
        assert_eq!(
            (&*packet[2], &*packet[3], &*packet[4]),
            ("", "", "1"),
            "{what}"
        );
    }
    let events: [u64; 2] = ["cell_received", "cell_sent"]
        .map(|name| circuits.iter().map(|it| it.of(name).count() as u64).sum());
    assert_eq!(cells, events, "{what}: cells received and sent");
    assert!(setups > 1, "{what}: {setups}");
}

/// Nothing of what was fetched is in a file.
fn check_no_payload(folder: &Path, what: &str) {
    // Each byte of the content is there three times.
    let wanted = [20, 20, 20, 21, 21, 21, 22, 22, 22];
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(
            !bytes.windows(wanted.len()).any(|it| it == wanted),
            "{what}"
        );
    }
}

#[test]
fn traces_of_datagrams_say_what_counters_say() {
    compare("backtap");
}

#[test]
fn traces_of_streams_say_what_counters_say() {
    compare("vanilla");
}

#[test]
fn traces_of_a_connection_for_each_circuit_say_what_counters_say() {
    compare("pctcp");
}
