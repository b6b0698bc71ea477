//! Serving a page over HTTP/1.1 (RFC 9112), one request at a time: all that scraping asks for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a scraper may take for a piece of its request, or to take a piece of the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pieces, of 1 KiB at most, that a request may come in.
const PIECES: usize = 8;
/// The page's format, `OpenMetrics`.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A page that is served until it is ended.
#[derive(Debug)]
pub(super) struct Scrape {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    handle: JoinHandle<()>,
}

impl Scrape {
    /// Serves what `page` returns at `/metrics`.
    pub(super) fn start(
        address: SocketAddr,
        page: impl Fn() -> String + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let ending = Arc::new(AtomicBool::new(false));
        let ends = ending.clone();
        let serve = move || {
            for socket in listener.incoming() {
                if ends.load(Ordering::Acquire) {
                    return;
                }
                // A scraper that is gone comes again; a system that is short of something recovers.
                if socket.and_then(|socket| answer(socket, &page)).is_err() {
                    thread::park_timeout(Duration::from_millis(10));
                }
            }
        };
        let handle = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(serve)?;
        Ok(Self {
            address,
            ending,
            handle,
        })
    }

    /// Ends it, which the thread learns from a connection.
    pub(super) fn end(self) {
        self.ending.store(true, Ordering::Release);
        if TcpStream::connect(self.address).is_ok() {
            // It has nothing to say that could be lost.
            let _ = self.handle.join();
        }
    }
}

fn answer(mut socket: TcpStream, page: &impl Fn() -> String) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut piece) = (Vec::new(), [0; 1024]);
    for _ in 0..PIECES {
        let len = socket.read(&mut piece)?;
        request.extend_from_slice(&piece[..len]);
        if len == 0 || request.windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    let (status, body) = match request.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics", ..] => ("200 OK", page()),
        [b"GET", ..] => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "allowed is GET\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {FORMAT}\r\nContent-Length: {length}\r\n\
         Allow: GET\r\nConnection: close\r\n\r\n"
    );
    socket.write_all((head + &body).as_bytes())
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
    fn the_page_is_served_at_its_place_only_until_the_end() {
        let address = crate::net::free_address().unwrap();
        let scrape = Scrape::start(address, || "all is well\n".to_owned()).unwrap();
        for (request, status, body) in [
            (
                "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
                "200 OK",
                "all is well\n",
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
