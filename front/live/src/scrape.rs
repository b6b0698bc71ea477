//! Asking a node for its metrics.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::clock;
use crate::metrics::Metrics;

/// How long a node may take, from the first address that is tried to the end of its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer at most.
const LARGEST: usize = 4 << 20;
/// Header fields at most.
const FIELDS: usize = 64;

/// The metrics that a node serves at an address.
///
/// # Errors
/// If it does not answer in time, or with something else; in words that may be shown.
pub(crate) fn scrape(address: SocketAddr) -> Result<Metrics, String> {
    Metrics::parse(&metrics_page(&address)?)
}

/// The page of metrics that a node serves at an address, or at one of those of a host.
///
/// All of it takes two seconds at most, and what a resolver takes to look the host up.
///
/// # Errors
/// If it does not answer in time, or with something else; in words that may be shown.
pub fn metrics_page(address: &impl ToSocketAddrs) -> Result<String, String> {
    let answer = ask(address).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "does not answer".to_owned(),
        io::ErrorKind::ConnectionRefused => "nobody serves metrics there".to_owned(),
        _ => error.to_string(),
    })?;
    body(&answer).map(str::to_owned)
}

fn ask(address: &impl ToSocketAddrs) -> io::Result<Vec<u8>> {
    let addresses = address.to_socket_addrs()?;
    let deadline = clock::now() + PATIENCE;
    let (mut socket, address) = connect(addresses, deadline)?;
    socket.set_write_timeout(Some(left(deadline)?))?;
    // Of version 1.0, so that the answer comes in one piece and ends with the connection.
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes())?;
    let (mut answer, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        socket.set_read_timeout(Some(left(deadline)?))?;
        match socket.read(&mut piece)? {
            0 => return Ok(answer),
            len => answer.extend_from_slice(&piece[..len]),
        }
        if answer.len() > LARGEST {
            let problem = format!("answers more than {LARGEST} bytes");
            return Err(io::Error::other(problem));
        }
    }
}

/// Connects to the first address that takes the connection.
fn connect(
    addresses: impl Iterator<Item = SocketAddr>,
    deadline: Instant,
) -> io::Result<(TcpStream, SocketAddr)> {
    let mut refused = io::Error::other("has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(socket) => return Ok((socket, address)),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The time that is left, which is not zero.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(clock::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// What is behind the head of an answer.
fn body(answer: &[u8]) -> Result<&str, String> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let Ok(httparse::Status::Complete(len)) = head.parse(answer) else {
        return Err("does not answer by HTTP".to_owned());
    };
    match head.code {
        Some(200) => {
            std::str::from_utf8(&answer[len..]).map_err(|_| "answers what is no text".to_owned())
        }
        code => Err(format!(
            "answers /metrics with {}",
            code.unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart_or_described() {
        let ok = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhopflow_links 3\n";
        assert_eq!(body(ok), Ok("hopflow_links 3\n"));
        for (answer, problem) in [
            (
                &b"HTTP/1.1 404 Not Found\r\n\r\n"[..],
                "answers /metrics with 404",
            ),
            (b"SSH-2.0-OpenSSH\r\n", "does not answer by HTTP"),
            (b"", "does not answer by HTTP"),
            (b"HTTP/1.0 200 OK\r\n\r\n\xff", "answers what is no text"),
        ] {
            assert_eq!(body(answer), Err(problem.to_owned()));
        }
    }
}
