//! Requests of HTTP/1.1 (RFC 9112): what is asked for, and whether it may be.

use std::io::{self, Read};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use crate::clock;

/// Bytes of a request's head at most.
const LARGEST: usize = 8 * 1024;
/// Header fields at most.
const FIELDS: usize = 64;
/// How long a browser may take for its request.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request that may be answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// The path, without a query.
    pub(crate) path: String,
}

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: &'static str,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(status: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { status, reason }
    }
}

/// Reads a request; `Err` within `Ok`: it is refused.
pub(crate) fn read(socket: &mut TcpStream) -> io::Result<Result<Request, Refusal>> {
    let begun = clock::now();
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let len = socket.read(&mut piece)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&piece[..len]);
        if let Some(parsed) = parse(&head) {
            return Ok(parsed);
        }
        if head.len() > LARGEST {
            let reason = format!("allowed are requests of up to {LARGEST} bytes\n");
            let status = "431 Request Header Fields Too Large";
            return Ok(Err(Refusal::new(status, reason)));
        }
    }
}

/// The request of a whole head; `None` if there is more to come.
fn parse(head: &[u8]) -> Option<Result<Request, Refusal>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => Some(check(&request)),
        Ok(httparse::Status::Partial) => None,
        Err(error) => {
            let reason = format!("this is no request of HTTP/1.1: {error}\n");
            Some(Err(Refusal::new("400 Bad Request", reason)))
        }
    }
}

fn check(request: &httparse::Request<'_, '_>) -> Result<Request, Refusal> {
    let method = request.method.unwrap_or_default();
    if method != "GET" {
        let reason = format!("{method}: allowed is GET, for nothing can be changed here\n");
        return Err(Refusal::new("405 Method Not Allowed", reason));
    }
    let mut hosts = request
        .headers
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case("host"));
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Refusal::new("400 Bad Request", "allowed is one host\n"));
    };
    if !is_address(host.value) {
        let host = String::from_utf8_lossy(host.value);
        let reason = format!("host: {host:?}: allowed are localhost and addresses\n");
        return Err(Refusal::new("403 Forbidden", reason));
    }
    let target = request.path.unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Request { path })
}

/// Whether a host is named by its address, or is this machine. Under any other name a foreign page may
/// lead a browser here, and read what it gets (DNS rebinding).
fn is_address(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        // The colons of a bare address of version 6 belong to it.
        Some((name, port)) if !port.ends_with(']') => {
            if port.is_empty() || !port.bytes().all(|it| it.is_ascii_digit()) {
                return false;
            }
            name
        }
        _ => host,
    };
    let inner = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || matches!(name.parse::<IpAddr>(), Ok(IpAddr::V4(_)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_or_this_machine() {
        for host in [
            "localhost",
            "LOCALHOST:8734",
            "127.0.0.1:8734",
            "192.0.2.7",
            "[::1]:8734",
            "[2001:db8::1]",
        ] {
            assert!(is_address(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            "attacker.example",
            "attacker.example:8734",
            "localhost.attacker.example",
            "127.0.0.1.attacker.example",
            "127.0.0.1:",
            "127.0.0.1:8734@attacker.example",
            "::1",
            "[::1",
            "[attacker.example]:1",
            "localhost:a",
        ] {
            assert!(!is_address(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn requests_say_what_they_want_or_are_refused() {
        let parse = |text: &str| parse(text.as_bytes());
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: loc"), None, "more to come");
        let request = parse("GET /a?b=/c HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let path = "/a".to_owned();
        assert_eq!(request, Some(Ok(Request { path })));
        for (text, status) in [
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
            ("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            (
                "GET / HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\n\r\n",
                "400",
            ),
            ("nonsense\r\n\r\n", "400"),
        ] {
            let refusal = parse(text).unwrap().unwrap_err();
            assert!(refusal.status.starts_with(status), "{text:?}: {refusal:?}");
        }
    }
}
