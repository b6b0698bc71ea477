//! The server: the page, and the stream by server-sent events.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock;
use crate::page::{FILES, File};
use crate::request::{self, Refusal};
use crate::stream::{Place, Stream};

/// Connections at a time; a browser that has the page open takes one.
pub const MOST_CONNECTIONS: usize = 32;
/// Where the stream is served.
const EVENTS: &str = "/events";
/// How long a browser may take for a piece of an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a stream waits for events before it looks whether the server ends.
const GLANCE: Duration = Duration::from_millis(250);
/// After so long without events a comment is sent, by which a connection that is gone is noticed.
const QUIET: Duration = Duration::from_secs(15);
/// Pieces of a refused request's body that are read before the connection is closed, at most.
const LEFTOVER: usize = 16;

/// What every answer says: the page may load nothing from elsewhere, and no other page may use it.
const GUARDS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; \
    style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n";

/// A server of the page and of one stream, until it is ended.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    handle: JoinHandle<()>,
}

impl Server {
    /// Serves at an address.
    ///
    /// # Errors
    /// If the address or a thread cannot be had.
    pub fn start(address: SocketAddr, stream: Arc<Stream>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let ending = Arc::new(AtomicBool::new(false));
        let shared = Shared {
            stream,
            ending: Arc::clone(&ending),
            connections: Arc::default(),
        };
        let handle = thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || shared.serve(&listener))?;
        Ok(Self {
            address,
            ending,
            handle,
        })
    }

    /// Where it serves.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, which its thread learns from a connection.
    pub fn end(self) {
        self.ending.store(true, Ordering::Release);
        if TcpStream::connect(self.address).is_ok() {
            // It has nothing to say that could be lost.
            let _ = self.handle.join();
        }
    }
}

/// What all connections share.
#[derive(Clone, Debug)]
struct Shared {
    stream: Arc<Stream>,
    ending: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
}

/// A connection among those that are counted.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    /// One more, unless there are as many as may be.
    fn new(connections: &Arc<AtomicUsize>) -> Option<Self> {
        if connections.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            connections.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        Some(Self(Arc::clone(connections)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    fn serve(&self, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.ending.load(Ordering::Acquire) {
                return;
            }
            // A browser that is gone comes again; a system that is short of something recovers.
            if socket.and_then(|socket| self.take(socket)).is_err() {
                clock::wait(Duration::from_millis(10));
            }
        }
    }

    fn take(&self, mut socket: TcpStream) -> io::Result<()> {
        let Some(counted) = Counted::new(&self.connections) else {
            let reason = format!("allowed are {MOST_CONNECTIONS} connections at a time\n");
            let refusal = Refusal::new("503 Service Unavailable", reason);
            // It fits into the socket's buffer; who does not take it gets nothing.
            socket.set_nonblocking(true)?;
            return refuse(&mut socket, &refusal);
        };
        let shared = self.clone();
        let answer = move || {
            let _counted = counted;
            // Whoever went away in between is not missed.
            let _ = shared.answer(socket);
        };
        thread::Builder::new()
            .name("live-page".to_owned())
            .spawn(answer)?;
        Ok(())
    }

    fn answer(&self, mut socket: TcpStream) -> io::Result<()> {
        socket.set_write_timeout(Some(PATIENCE))?;
        let request = match request::read(&mut socket)? {
            Ok(request) => request,
            Err(refusal) => return refuse_and_leave(socket, &refusal),
        };
        if request.path == EVENTS {
            return self.follow(&mut socket);
        }
        match FILES.iter().find(|file| file.path == request.path) {
            Some(file) => send(&mut socket, file),
            None => {
                let paths: Vec<_> = FILES.iter().map(|file| file.path).collect();
                let paths = paths.join(", ");
                let reason = format!("allowed are {paths}, {EVENTS}\n");
                refuse_and_leave(socket, &Refusal::new("404 Not Found", reason))
            }
        }
    }

    /// Sends the stream, from its first event on, until either side ends.
    fn follow(&self, socket: &mut TcpStream) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{GUARDS}\r\nretry: 1000\n\n"
        );
        socket.set_nodelay(true)?;
        socket.write_all(head.as_bytes())?;
        let mut place = Place::default();
        let mut heard = clock::now();
        while !self.ending.load(Ordering::Acquire) {
            let events = self.stream.read(&mut place, GLANCE);
            for event in &events {
                socket.write_all(event.as_bytes())?;
            }
            if !events.is_empty() {
                heard = clock::now();
            } else if heard.elapsed() > QUIET {
                socket.write_all(b": nothing new\n\n")?;
                heard = clock::now();
            }
        }
        Ok(())
    }
}

fn send(socket: &mut TcpStream, file: &File) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\n{GUARDS}\r\n",
        file.kind,
        file.text.len()
    );
    socket.write_all((head + file.text).as_bytes())
}

fn refuse(socket: &mut TcpStream, refusal: &Refusal) -> io::Result<()> {
    let Refusal { status, reason } = refusal;
    let length = reason.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nAllow: GET\r\n{GUARDS}\r\n{reason}"
    );
    socket.write_all(answer.as_bytes())
}

/// Refuses a request whose body may be on its way: closed at once, the answer would be lost with it.
fn refuse_and_leave(mut socket: TcpStream, refusal: &Refusal) -> io::Result<()> {
    refuse(&mut socket, refusal)?;
    socket.shutdown(Shutdown::Write)?;
    socket.set_read_timeout(Some(GLANCE))?;
    let mut piece = [0; 4096];
    for _ in 0..LEFTOVER {
        if socket.read(&mut piece)? == 0 {
            break;
        }
    }
    Ok(())
}
