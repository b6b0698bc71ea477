//! Clients of the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hopflow_lab::run::{Campaign, Silent};
use hopflow_lab::scenario::Scenario;
use hopflow_live::{Pace, Server, Simulation, Stream};
use serde_json::Value;

pub(crate) const SCENARIO: &str = r#"
name = "tiny"
about = "A slow relay."
duration = "2 s"
seeds = [4, 7]

[transports.vanilla]

[transports.backtap]

[network]
access = { rate = "10 MB/s", delay = "10 ms" }
bucket = { rate = "1 MB/s" }

[[network.relays]]
name = "relay"
count = 3

[[circuits]]
count = 2
path = ["relay", "relay"]
workload = { class = "bulk", response = "100 KiB" }

[[circuits]]
count = 1
path = ["relay", "relay"]
workload = { class = "bulk", response = "endless" }

[record]
circuits = "100 ms"
hops = "200 ms"
"#;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "tiny.toml").unwrap()
}

pub(crate) fn simulation(pace: Pace) -> Simulation {
    Simulation::new(scenario(SCENARIO), None, pace).unwrap()
}

/// A folder with the results of a scenario.
pub(crate) fn results(text: &str, folder: &Path) {
    let campaign = Campaign::new(scenario(text), text, "").unwrap();
    campaign.run(folder, Some(2), &Silent).unwrap();
}

pub(crate) fn serve(stream: &Arc<Stream>) -> Server {
    Server::start("127.0.0.1:0".parse().unwrap(), Arc::clone(stream)).unwrap()
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// The answer to a request, head and body.
pub(crate) fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut socket = connect(address);
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
    (head.to_owned(), body.to_owned())
}

pub(crate) fn get(address: SocketAddr, path: &str) -> (String, String) {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    )
}

/// The events of a server, as a page reads them.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let mut socket = connect(address);
        let request = format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        Self(reader)
    }

    /// Events up to one of this name.
    pub(crate) fn until(&mut self, last: &str) -> Vec<(String, Value)> {
        let mut events: Vec<(String, Value)> = Vec::new();
        while events.last().is_none_or(|(name, _)| name != last) {
            events.push(self.next().expect("the stream goes on"));
        }
        events
    }
}

impl Iterator for Events {
    type Item = (String, Value);

    fn next(&mut self) -> Option<Self::Item> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(found) = line.strip_prefix("event: ") {
                found.trim_end().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }
}
