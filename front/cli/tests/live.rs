//! `hopflow live` as its users meet it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const SCENARIO: &str = r#"
name = "tiny"
duration = "2 s"
seeds = 2
[transports.vanilla]
[network]
[[network.relays]]
name = "relay"
count = 2
[[circuits]]
path = ["relay", "relay"]
workload = { class = "bulk", response = "100 KiB" }
"#;

fn live(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopflow"));
    command.arg("live").args(arguments).current_dir(folder);
    command
}

/// A server, and the first line that it prints.
fn start(folder: &Path, arguments: &[&str]) -> (Child, String) {
    let mut command = live(folder, arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
    lines.read_line(&mut line).unwrap();
    (child, line.trim_end().to_owned())
}

/// The page behind an address.
fn page(line: &str) -> String {
    let address = line.strip_prefix("http://").expect(line);
    let address = address.trim_end_matches('/');
    let mut socket = TcpStream::connect(address).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn interrupt(child: Child) -> Output {
    let id = child.id().to_string();
    let signal = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(signal.success());
    child.wait_with_output().unwrap()
}

#[test]
fn scenarios_results_and_nodes_are_served_until_the_user_interrupts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tiny.toml"), SCENARIO).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_hopflow"))
        .args(["run", "tiny.toml", "--out", "results"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(run.status.success());
    for arguments in [
        ["tiny.toml"].as_slice(),
        &[
            "tiny.toml",
            "--speed=max",
            "--seed=7",
            "--transports=backtap",
        ],
        &["results", "--seed=2"],
        &["--metrics", "guard=127.0.0.1:9"],
    ] {
        let arguments = [arguments, &["--listen", "127.0.0.1:0"]].concat();
        let (child, line) = start(folder.path(), &arguments);
        assert!(
            page(&line).contains("<title>hopflow live</title>"),
            "{line}"
        );
        let output = interrupt(child);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
}

#[test]
fn other_addresses_than_of_this_machine_come_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = live(folder.path(), &["--listen", "0.0.0.0:0"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap());
    lines.read_line(&mut line).unwrap();
    assert!(
        line.starts_with("warning: --listen 0.0.0.0:0: everybody who reaches this address"),
        "{line}"
    );
    interrupt(child);
}

#[test]
fn what_cannot_be_shown_is_named_with_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, expected) in [
        (["quickstrat", "--seed=1"], "did you mean \"quickstart\"?"),
        (["empty", "--seed=1"], "manifest.json"),
        (
            ["empty", "--speed=2"],
            "--speed: allowed with a scenario, and empty is a folder",
        ),
        (
            ["quickstart", "--speed=0"],
            "allowed are numbers from 0.001 to 1000, and max",
        ),
        (
            ["quickstart", "--transports=pigeon"],
            "transports: \"pigeon\" is unknown",
        ),
        (
            ["quickstart", "--listen=localhost"],
            "allowed is an address with a port, such as",
        ),
        (
            ["--listen", &taken],
            "a port that is free, such as 127.0.0.1:0",
        ),
        (
            ["--metrics", "guard"],
            "allowed is an address with a port, such as 127.0.0.1:9100",
        ),
        (
            ["--metrics=127.0.0.1:1,127.0.0.1:1", "--listen=127.0.0.1:0"],
            "--metrics: \"127.0.0.1:1\" is there twice",
        ),
        (
            ["--set=seeds=3", "--seed=4"],
            "--set seeds: has no effect with --seed; allowed is one of both",
        ),
        (
            ["--metrics=127.0.0.1:1", "quickstart"],
            "cannot be used with",
        ),
    ] {
        let output = live(folder.path(), &arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
