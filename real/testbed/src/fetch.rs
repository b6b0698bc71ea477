//! Fetching by SOCKS 5, as any application does.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::clock;
use crate::server::{content, head};

/// How often a fetch that waits looks whether it shall go on.
const LOOK: Duration = Duration::from_millis(100);
/// How long a client may take to build a circuit and connect.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Who fetches what.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    pub(crate) socks: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The SOCKS user: streams of different users never share a circuit.
    pub(crate) user: String,
}

/// When a fetch said and heard what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) requested: Instant,
    pub(crate) first_byte: Option<Instant>,
    /// `None` if it was stopped before.
    pub(crate) last_byte: Option<Instant>,
}

impl Fetcher {
    /// A connection to the server through the overlay (RFC 1928, RFC 1929), unless it is stopped.
    pub(crate) fn connect(&self, stop: &AtomicBool) -> io::Result<TcpStream> {
        let mut socket = TcpStream::connect(self.socks)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.write_all(&[5, 1, 2])?;
        expect(
            &mut socket,
            stop,
            [5, 2],
            "no SOCKS 5 server with passwords",
        )?;
        let len = self.user.len() as u8;
        let mut login = vec![1, len];
        login.extend_from_slice(self.user.as_bytes());
        login.extend_from_slice(&[1, b'x']);
        socket.write_all(&login)?;
        expect(
            &mut socket,
            stop,
            [1, 0],
            "the SOCKS server refuses the user",
        )?;
        let SocketAddr::V4(server) = self.server else {
            return Err(io::Error::other("the server has no IPv4 address"));
        };
        let mut connect = vec![5, 1, 0, 1];
        connect.extend(server.ip().octets());
        connect.extend(server.port().to_be_bytes());
        socket.write_all(&connect)?;
        let mut reply = [0; 10];
        fill(&mut socket, stop, &mut reply)?;
        if reply[1] != 0 {
            let code = reply[1];
            return Err(io::Error::other(format!(
                "the client does not connect to the web server: SOCKS reply {code}"
            )));
        }
        Ok(socket)
    }

    /// Fetches `size` bytes over a connection, and checks each of them, until all have come or it is stopped.
    ///
    /// `received` counts the bytes of the answer, head included.
    pub(crate) fn get(
        &self,
        socket: &mut TcpStream,
        size: u64,
        received: &AtomicU64,
        stop: &AtomicBool,
    ) -> io::Result<Times> {
        let (expected_head, server) = (head("200 OK", size), self.server);
        let whole = expected_head.len() as u64 + size;
        let requested = clock::now();
        socket.write_all(request(server, size).as_bytes())?;
        let (mut buffer, mut expected) = (vec![0; CHUNK], Vec::new());
        let (mut at, mut first_byte) = (0, None);
        while at < whole {
            if stop.load(Ordering::Relaxed) {
                return Ok(Times {
                    requested,
                    first_byte,
                    last_byte: None,
                });
            }
            let len = match socket.read(&mut buffer) {
                Ok(0) => return Err(io::Error::other(format!("it broke off after {at} bytes"))),
                Ok(len) => len,
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error),
            };
            let now = clock::now();
            first_byte.get_or_insert(now);
            received.fetch_add(len as u64, Ordering::Relaxed);
            expected.clear();
            let end = at + len as u64;
            let from_head = expected_head.len() as u64;
            expected.extend(expected_head.iter().skip(at as usize).take(len));
            let body = at.max(from_head) - from_head..end.max(from_head) - from_head;
            content(body.start, body.end - body.start, &mut expected);
            if expected != buffer[..len] || end > whole {
                return Err(io::Error::other(format!("it was altered behind byte {at}")));
            }
            at = end;
        }
        Ok(Times {
            requested,
            first_byte,
            last_byte: Some(clock::now()),
        })
    }
}

/// What is asked of the web server.
pub(crate) fn request(server: SocketAddr, size: u64) -> String {
    format!("GET /{size} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")
}

fn expect(
    socket: &mut TcpStream,
    stop: &AtomicBool,
    wanted: [u8; 2],
    otherwise: &str,
) -> io::Result<()> {
    let mut found = [0; 2];
    fill(socket, stop, &mut found)?;
    if found == wanted {
        return Ok(());
    }
    Err(io::Error::other(otherwise.to_owned()))
}

/// Reads until a buffer is full, unless it is stopped or that takes too long.
fn fill(socket: &mut TcpStream, stop: &AtomicBool, buffer: &mut [u8]) -> io::Result<()> {
    let (begin, mut filled) = (clock::now(), 0);
    while filled < buffer.len() {
        match socket.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => filled += len,
            Err(error) if is_passing(&error) => {
                if stop.load(Ordering::Relaxed) || begin.elapsed() >= PATIENCE {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    let kinds = [
        ErrorKind::WouldBlock,
        ErrorKind::TimedOut,
        ErrorKind::Interrupted,
    ];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn who_waits_for_an_answer_can_be_stopped() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let fetcher = Fetcher {
            socks: address,
            server: address,
            user: String::new(),
        };
        let begin = clock::now();
        assert!(fetcher.connect(&AtomicBool::new(true)).is_err());
        assert!(begin.elapsed() < PATIENCE / 2);
    }
}
