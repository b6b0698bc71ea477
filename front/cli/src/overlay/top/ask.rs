//! Asking a node for its metrics, over HTTP/1.1 (RFC 9112).

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hopflow_api::Failure;
use hopflow_daemon::config::metrics_address;

use super::page::Page;

/// How long a node may take to be connected to, and for each piece of its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// No page of a node is longer.
const LONGEST: u64 = 4 << 20;

/// A node that is asked.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// What the user calls it.
    pub(super) name: String,
    /// Where it serves metrics: a host and a port.
    address: String,
}

/// What a node said, and when.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at: Instant,
    /// Or why it said nothing.
    pub(super) page: Result<Page, String>,
}

impl Node {
    /// The node that the user means: a configuration, if there is such a file, or an address.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        let path = Path::new(name);
        let address = if path.is_file() {
            metrics_address(path)?.to_string()
        } else if is_address(name) {
            name.to_owned()
        } else {
            return Err(Failure::bad_input(format_args!(
                "{name}: is no file; allowed are the configuration of a relay or client, and an \
                 address with a port at which metrics are served, such as 127.0.0.1:9100"
            )));
        };
        Ok(Self {
            name: name.to_owned(),
            address,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "rates are of real time")]
    fn read(&self) -> Reading {
        let page = self.fetch();
        Reading {
            at: Instant::now(),
            page: page.and_then(|page| Page::read(&page)),
        }
    }

    /// The page of its metrics.
    fn fetch(&self) -> Result<String, String> {
        let answer = self.request().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => "it does not answer".to_owned(),
            _ => format!("it does not answer: {error}"),
        })?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .ok_or("it does not speak HTTP")?;
        let status = head.lines().next().unwrap_or_default();
        if status.split(' ').nth(1) != Some("200") {
            return Err(format!("it serves no metrics: {status}"));
        }
        Ok(body.to_owned())
    }

    fn request(&self) -> io::Result<String> {
        let mut socket = connect(&self.address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let host = socket.peer_addr()?;
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes())?;
        let mut answer = String::new();
        socket.take(LONGEST).read_to_string(&mut answer)?;
        Ok(answer)
    }
}

/// Whether a text is a host with a port.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Connects to the first address of a host that takes the connection.
fn connect(address: &str) -> io::Result<TcpStream> {
    let mut refused = io::Error::other("it has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(socket) => return Ok(socket),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Asks all nodes at the same time: none waits for one that does not answer.
pub(super) fn ask(nodes: &[Node]) -> Vec<Reading> {
    thread::scope(|scope| {
        let asked: Vec<_> = nodes
            .iter()
            .map(|node| scope.spawn(|| node.read()))
            .collect();
        asked
            .into_iter()
            .map(|reading| reading.join().expect("reading does not panic"))
            .collect()
    })
}
