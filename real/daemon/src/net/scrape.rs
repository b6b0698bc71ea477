//! Serving a page over HTTP/1.1 (RFC 9112), a request for each connection: all that scraping asks for.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::clock::Clock;

/// How long a scraper may take for the head of its request, or to take a piece of the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections that are answered at once, so that those that ask for nothing keep no scraper waiting.
const AT_ONCE: usize = 8;
/// The largest head of a request, in bytes.
const LARGEST: usize = 8 << 10;
/// The page's format, `OpenMetrics`.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A page that is served until it is ended.
#[derive(Debug)]
pub(super) struct Scrape {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    handles: Vec<JoinHandle<()>>,
}

impl Scrape {
    /// Serves what `page` returns at `/metrics`.
    pub(super) fn start(
        address: SocketAddr,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new((TcpListener::bind(address)?, page));
        let ending = Arc::new(AtomicBool::new(false));
        let mut scrape = Self {
            address,
            ending,
            handles: Vec::new(),
        };
        for _ in 0..AT_ONCE {
            let (shared, ends) = (shared.clone(), scrape.ending.clone());
            let thread = thread::Builder::new().name("metrics".to_owned());
            match thread.spawn(move || serve(&shared.0, &shared.1, &ends)) {
                Ok(handle) => scrape.handles.push(handle),
                Err(error) => {
                    scrape.end();
                    return Err(error);
                }
            }
        }
        Ok(scrape)
    }

    /// Ends it, which each thread learns from a connection.
    pub(super) fn end(self) {
        self.ending.store(true, Ordering::Release);
        let mut threads = self.handles.iter();
        if threads.all(|_| TcpStream::connect(self.address).is_ok()) {
            for handle in self.handles {
                // It has nothing to say that could be lost.
                let _ = handle.join();
            }
        }
    }
}

/// Answers those who connect until it is to end.
fn serve(listener: &TcpListener, page: &impl Fn() -> String, ends: &AtomicBool) {
    for socket in listener.incoming() {
        if ends.load(Ordering::Acquire) {
            return;
        }
        // A scraper that is gone comes again; a system that is short of something recovers.
        if socket.and_then(|socket| answer(socket, page)).is_err() {
            thread::park_timeout(Duration::from_millis(10));
        }
    }
}

fn answer(mut socket: TcpStream, page: &impl Fn() -> String) -> io::Result<()> {
    socket.set_write_timeout(Some(PATIENCE))?;
    let request = read_head(&mut socket)?;
    let (status, body) = answer_to(&request, page);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {FORMAT}\r\nContent-Length: {length}\r\n\
         Allow: GET\r\nConnection: close\r\n\r\n"
    );
    socket.write_all((head + &body).as_bytes())
}

/// Reads a head, in however many pieces it comes, or what there is of it at the end of the stream.
fn read_head(socket: &mut TcpStream) -> io::Result<Vec<u8>> {
    let began = Clock::start().epoch();
    let (mut request, mut piece) = (Vec::new(), [0; 1024]);
    while request.len() < LARGEST && head(&request).is_none() {
        let left = PATIENCE.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let len = socket.read(&mut piece)?;
        if len == 0 {
            break;
        }
        request.extend_from_slice(&piece[..len]);
    }
    Ok(request)
}

/// Status and body of the answer to a request.
fn answer_to(request: &[u8], page: &impl Fn() -> String) -> (&'static str, String) {
    let said = |text: &str| format!("{text}\n");
    let Some(head) = head(request) else {
        return (
            "400 Bad Request",
            said("allowed is a head of 8 KiB at most"),
        );
    };
    if !hosts(head).all(is_address) {
        let allowed = said("the host of a request: allowed are localhost and addresses");
        return ("403 Forbidden", allowed);
    }
    match head.split(' ').collect::<Vec<_>>()[..] {
        ["GET", "/metrics", ..] => ("200 OK", page()),
        ["GET", ..] => ("404 Not Found", said("metrics are at /metrics")),
        _ => ("405 Method Not Allowed", said("allowed is GET")),
    }
}

/// The head of a request, if that is whole and text.
fn head(request: &[u8]) -> Option<&str> {
    let end = request.windows(4).position(|end| end == b"\r\n\r\n")?;
    std::str::from_utf8(&request[..end]).ok()
}

/// The hosts that a request's head names.
fn hosts(head: &str) -> impl Iterator<Item = &str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let hosts = fields.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
    hosts.map(|(_, host)| host.trim())
}

/// Whether a host is named by its address, or is this machine. Under any other name a foreign page may
/// lead a browser here, and read what it gets (DNS rebinding).
fn is_address(host: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let (name, port) = match host.rsplit_once(':') {
        // The colons of a bare address of version 6 belong to it.
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let inner = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let is_host = match inner {
        // A link-local address has a zone (RFC 4007).
        Some(address) => {
            let address = address
                .split_once('%')
                .map_or(address, |(address, _)| address);
            address.parse::<Ipv6Addr>().is_ok()
        }
        None => name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok(),
    };
    is_host && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn hosts_are_addresses_or_this_machine() {
        for host in [
            "localhost",
            "LocalHost:9100",
            "127.0.0.1",
            "192.0.2.1:80",
            "[::1]",
            "[fe80::1%2]:9100",
            "[2001:db8::1]:9100",
        ] {
            assert!(is_address(host), "{host}");
        }
        for host in [
            "",
            "attacker.example",
            "127.0.0.1.attacker.example:9100",
            "localhost.attacker.example",
            "localhost:a",
            "[attacker.example]",
        ] {
            assert!(!is_address(host), "{host}");
        }
        let twice = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example";
        assert_eq!(
            hosts(twice).collect::<Vec<_>>(),
            ["localhost", "attacker.example"]
        );
        assert_eq!(hosts("GET /metrics HTTP/1.0").count(), 0);
    }

    #[test]
    fn a_head_may_come_in_many_pieces_but_not_for_ever() {
        let address = crate::net::free_address().unwrap();
        let scrape = Scrape::start(address, || "all is well\n".to_owned()).unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        for piece in b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".chunks(2) {
            socket.write_all(piece).unwrap();
            thread::park_timeout(Duration::from_millis(1));
        }
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");

        let begin = Clock::start().epoch();
        let mut slow = TcpStream::connect(address).unwrap();
        while slow.write_all(b"a").is_ok() {
            thread::park_timeout(Duration::from_millis(100));
            assert!(begin.elapsed() < 4 * PATIENCE, "it is still read");
        }
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").contains("404"));
        scrape.end();
    }

    #[test]
    fn who_asks_for_nothing_keeps_no_scraper_waiting() {
        let address = crate::net::free_address().unwrap();
        let scrape = Scrape::start(address, || "all is well\n".to_owned()).unwrap();
        let begin = Clock::start().epoch();
        let idle = [(); AT_ONCE - 1].map(|()| TcpStream::connect(address).unwrap());
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
        assert!(begin.elapsed() < PATIENCE, "it waited for others");
        drop(idle);
        scrape.end();
    }

    #[test]
    fn the_page_is_served_at_its_place_only_until_the_end() {
        let address = crate::net::free_address().unwrap();
        let scrape = Scrape::start(address, || "all is well\n".to_owned()).unwrap();
        for (request, status, body) in [
            (
                "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9100\r\n\r\n",
                "200 OK",
                "all is well\n",
            ),
            (
                "GET /metrics HTTP/1.1\r\nAccept: */*\r\nhost:attacker.example:9100\r\n\r\n",
                "403 Forbidden",
                "the host of a request: allowed are localhost and addresses\n",
            ),
            (
                "GET / HTTP/1.1\r\n\r\n",
                "404 Not Found",
                "metrics are at /metrics\n",
            ),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                "405 Method Not Allowed",
                "allowed is GET\n",
            ),
            ("\r\n\r\n", "405 Method Not Allowed", "allowed is GET\n"),
        ] {
            let answer = ask(address, request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}\r\n")),
                "{answer}"
            );
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
        }
        // One that says nothing is not waited for: it has gone.
        drop(TcpStream::connect(address).unwrap());
        scrape.end();
        assert!(TcpStream::connect(address).is_err());
    }
}
