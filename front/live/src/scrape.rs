//! Asking a node for its metrics.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::clock;
use crate::metrics::Metrics;

/// How long a node may take to be reached, and for its answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of an answer at most.
const LARGEST: usize = 1 << 20;
/// Header fields at most.
const FIELDS: usize = 64;

/// The metrics that a node serves at an address.
///
/// # Errors
/// If it does not answer in time, or with something else; in words that may be shown.
pub(crate) fn scrape(address: SocketAddr) -> Result<Metrics, String> {
    let answer = ask(address).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "does not answer".to_owned(),
        io::ErrorKind::ConnectionRefused => "nobody serves metrics there".to_owned(),
        _ => error.to_string(),
    })?;
    Metrics::parse(body(&answer)?)
}

fn ask(address: SocketAddr) -> io::Result<Vec<u8>> {
    let begun = clock::now();
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    // Of version 1.0, so that the answer comes in one piece and ends with the connection.
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes())?;
    let (mut answer, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let left = (2 * PATIENCE).saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
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
