//! What `hopflow top` shows of nodes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use crate::support::{hopflow, output, refusal, signal, success, until};

/// What a relay says when it is asked for the `time`th time.
fn page(time: u64) -> String {
    let cells = 100_000 * time;
    let refused = 3 + 100 * time;
    format!(
        "hopflow_build_info{{version=\"9.9\",role=\"relay\",network=\"amber\",transport=\"backtap\"}} 1\n\
         hopflow_cells_sent_total {cells}\n\
         hopflow_cells_dropped_total 0\n\
         hopflow_bytes_sent_total {}\nhopflow_accounting_max_bytes 5e9\n\
         hopflow_accounting_sent_bytes 6e9\nhopflow_accounting_received_bytes 1e9\n\
         hopflow_accounting_end_seconds 0\nhopflow_hibernating 1\n\
         hopflow_links 12\nhopflow_limit{{of=\"links\"}} 16384\n\
         hopflow_circuits 340\nhopflow_limit{{of=\"circuits\"}} 60000\n\
         hopflow_circuits_refused_total {refused}\n\
         hopflow_circuits_evicted_total 7\n\
         hopflow_streams 5\nhopflow_queued_cells 321\nhopflow_highest_queue_cells 999\n\
         hopflow_window_cells 50\nhopflow_windows 4\n\
         hopflow_memory_held_bytes 95000000\nhopflow_memory_limit_bytes 100000000\n\
         hopflow_fullest_worker_ratio{{of=\"memory\"}} 0.99\n\
         hopflow_cpu_seconds_total {}\n\
         hopflow_transport_round_trip_seconds{{statistic=\"min\"}} 0.02\n\
         hopflow_transport_round_trip_seconds{{statistic=\"mean\"}} 0.03\n\
         hopflow_transport_round_trip_seconds{{statistic=\"max\"}} 1.5\n\
         # EOF\n",
        5_000_000_000 * time,
        0.25 * time as f64
    )
}

/// A node that is none: it answers every request with such a page.
fn fake(page: impl Fn(u64) -> String + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (time, socket) in (1..).zip(listener.incoming()) {
            let mut socket = socket.unwrap();
            let mut request = [0; 1024];
            let len = socket.read(&mut request).unwrap();
            assert!(request[..len].starts_with(b"GET /metrics HTTP/1.0\r\n"));
            let page = page(time);
            write!(socket, "HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n{page}").unwrap();
        }
    });
    address
}

#[test]
fn a_block_of_text_says_what_a_node_does() {
    let folder = tempfile::tempdir().unwrap();
    let node = fake(page).to_string();
    let text = success(
        folder.path(),
        &["top", &node, "--once", "--interval", "500ms"],
    );
    for part in [
        format!("{node}  relay of amber, transport backtap, version 9.9\n").as_str(),
        " GB/s (10.00 GB), received ?/s (?)\n",
        "accounting   sent 6.00 GB, received 1.00 GB of 5.00 GB, 120.0 %; ends in 0 s; hibernates\n",
        "links        12 of 16384, half open ?\n",
        "circuits     340 of 60000, nascent ?; handshakes ?/s, failed ?/s\n",
        "queues       321 cells, longest ?, ever 999; outstanding ?, out of order ?, mean window 12.5\n",
        "memory       [###################.] 95.00 MB of 100.00 MB, 95.0 %, 99.0 % of the fullest worker's; ",
        "CPU          ",
        ", 0.5 s since the start\n",
        "refused      links ?, circuits 203 (+",
        "evicted      links ?, circuits 7, connections ?\n",
        "transport    round trip: min 20.0 ms, mean 30.0 ms, max 1.5 s\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A hundred thousand cells in half a second, or a little more.
    let rate = text.split_once(" MB/s").unwrap().0;
    let rate: f64 = rate.rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!((10.0..=102.5).contains(&rate), "{rate}: {text}");
    assert!(!text.contains('\u{1b}'), "no codes in a file: {text:?}");
}

#[test]
fn json_has_every_number_and_its_growth() {
    let folder = tempfile::tempdir().unwrap();
    let (node, other) = (fake(page).to_string(), fake(page).to_string());
    let config = format!("metrics = \"{other}\"\nkeys = \"of no matter\"\n");
    fs::write(folder.path().join("relay.toml"), config).unwrap();
    let text = success(
        folder.path(),
        &[
            "top",
            &node,
            "relay.toml",
            "--once",
            "--json",
            "--interval",
            "100ms",
        ],
    );
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let [first, second] = found["nodes"].as_array().unwrap().as_slice() else {
        panic!("two nodes: {text}");
    };
    assert_eq!(first["node"], node.as_str());
    assert_eq!(second["node"], "relay.toml");
    for node in [first, second] {
        assert!(node["error"].is_null());
        assert_eq!(node["metrics"]["hopflow_links"], 12.0);
        assert_eq!(node["metrics"]["hopflow_limit{of=\"links\"}"], 16384.0);
        let rates = node["per_second"].as_object().unwrap();
        assert!(rates["hopflow_cells_sent_total"].as_f64().unwrap() > 1e4);
        assert_eq!(rates["hopflow_circuits_evicted_total"], 0.0);
        assert!(!rates.contains_key("hopflow_links"));
    }
}

#[test]
fn looks_follow_each_other_until_the_reader_has_seen_enough() {
    let folder = tempfile::tempdir().unwrap();
    let node = fake(page).to_string();
    let mut top = hopflow(
        folder.path(),
        &["top", &node, "--json", "--interval", "100ms"],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    let mut cells = || {
        let line = lines.next().unwrap().unwrap();
        let look: serde_json::Value = serde_json::from_str(&line).unwrap();
        look["nodes"][0]["metrics"]["hopflow_cells_sent_total"].as_f64()
    };
    assert_eq!(
        [cells(), cells(), cells()],
        [Some(2e5), Some(3e5), Some(4e5)]
    );
    // Dropping the lines closes the pipe.
    drop(lines);
    let ended = until("it ends", || top.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

/// A node that takes connections; it says nothing, or a letter a second.
fn slow(letters: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut taken = Vec::new();
        for socket in listener.incoming() {
            taken.push(socket.unwrap());
            let mut socket = taken.last().unwrap().try_clone().unwrap();
            thread::spawn(move || {
                while letters && socket.write_all(b"x").is_ok() {
                    thread::park_timeout(Duration::from_secs(1));
                }
            });
        }
    });
    address
}

#[test]
fn a_node_that_answers_a_letter_a_second_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = [true, false].map(|letters| slow(letters).to_string());
    let [one, other] = nodes.each_ref().map(String::as_str);
    let options = ["top", one, other, "--once", "--interval", "100ms"];
    let message = refusal(folder.path(), &options);
    for node in [one, other] {
        let why = format!("{node}: does not answer");
        assert!(message.contains(&why), "{message}");
    }
}

/// Runs `hopflow top` of a silent node on a terminal, and ends it by `end` while the node is asked.
fn on_a_terminal(end: impl FnOnce(&mut fs::File, &Child)) {
    let folder = tempfile::tempdir().unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    let before = tcgetattr(&pty.slave).unwrap();
    let terminal = || Stdio::from(pty.slave.try_clone().unwrap());
    let mut top = hopflow(folder.path(), &["top", &slow(false).to_string()])
        .stdin(terminal())
        .stdout(terminal())
        .stderr(terminal())
        .spawn()
        .unwrap();
    let mut screen = fs::File::from(pty.master);
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(" quits") {
        let mut piece = [0; 4096];
        let len = screen.read(&mut piece).unwrap();
        shown.extend_from_slice(&piece[..len]);
    }
    let raw = tcgetattr(&pty.slave).unwrap();
    assert!(!raw.local_flags.contains(LocalFlags::ICANON));
    end(&mut screen, &top);
    let ended = until("it ends", || top.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    let after = tcgetattr(&pty.slave).unwrap();
    assert_eq!(after.local_flags, before.local_flags, "not raw any more");
}

#[test]
fn a_key_ends_it_while_a_node_does_not_answer() {
    on_a_terminal(|screen, _| screen.write_all(b"q").unwrap());
}

#[test]
fn a_signal_ends_it_while_a_node_does_not_answer_and_the_terminal_is_as_before() {
    on_a_terminal(|_, top| signal(top, "-TERM"));
}

#[test]
fn who_does_not_answer_is_named_with_the_reason_and_the_others_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (node, other) = (
        fake(page).to_string(),
        fake(|_| "# EOF\n".to_owned()).to_string(),
    );
    let nobody = hopflow_daemon::net::free_address().unwrap().to_string();
    let options = ["--once", "--interval", "100ms"];
    let output = output(
        at,
        &[&["top", &node, &nobody, &other], &options[..]].concat(),
    );
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("relay of amber"), "{shown}");
    let error = String::from_utf8(output.stderr).unwrap();
    for text in [&shown, &error] {
        for part in ["nobody serves metrics there", "is no hopflow node"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    fs::write(at.join("mute.toml"), "keys = 'keys'\n").unwrap();
    for (node, why) in [
        ("mute.toml", "mute.toml: metrics: missing"),
        ("nothing", "nothing: is no file; allowed are"),
        ("host:port", "host:port: is no file; allowed are"),
    ] {
        let message = refusal(at, &["top", node, "--once"]);
        assert!(message.starts_with(why), "{message}");
    }
    let message = refusal(at, &["top", &node, "--interval", "1ms"]);
    assert!(message.contains("100 ms to 3600 s"), "{message}");
}
