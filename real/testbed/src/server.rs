//! The web server: `GET /N` answers N bytes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use socket2::SockRef;

/// Bytes that are made and written at once.
const CHUNK: u64 = 64 * 1024;
/// Bytes that the kernel holds back unsent: with more, a server of many downloads would be busy
/// filling buffers when the first bytes are waited for.
const UNSENT: usize = 128 * 1024;
/// Bytes of a request's head at most.
const HEAD: u64 = 8 * 1024;

/// A web server on the loopback device, which runs as long as the process.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
}

impl Server {
    /// Opens a port and answers whoever connects to it.
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        thread::Builder::new()
            .name("web server".to_owned())
            .spawn(move || {
                for socket in listener.incoming().flatten() {
                    let answering = thread::Builder::new().name("answer".to_owned());
                    // Whoever goes away in mid-answer is not our concern, and without a thread
                    // nobody is answered.
                    drop(answering.spawn(move || answer(&socket)));
                }
            })?;
        Ok(Self { address })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers the one request of a connection.
fn answer(mut socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    SockRef::from(socket).set_send_buffer_size(UNSENT)?;
    let mut request = BufReader::new(Read::take(socket, HEAD));
    let mut line = String::new();
    request.read_line(&mut line)?;
    let mut header = String::new();
    while request.read_line(&mut header)? > 2 {
        header.clear();
    }
    let Some(size) = asked_for(&line) else {
        return socket.write_all(&head("404 Not Found", 0));
    };
    let mut out = head("200 OK", size);
    let mut at = 0;
    loop {
        let len = CHUNK.min(size - at);
        content(at, len, &mut out);
        socket.write_all(&out)?;
        out.clear();
        at += len;
        if at == size {
            return Ok(());
        }
    }
}

/// The number of bytes that a request's first line asks for.
fn asked_for(line: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    let is_get = words.next() == Some("GET");
    let number = words.next()?.strip_prefix('/')?;
    number.parse().ok().filter(|_| is_get)
}

/// The head of an answer whose body has `size` bytes.
pub(crate) fn head(status: &str, size: u64) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
    head.into_bytes()
}

/// Appends the bytes from `at` on that a body has: no two of its cells are alike, so that cells
/// that are lost, doubled or exchanged are noticed.
pub(crate) fn content(at: u64, len: u64, out: &mut Vec<u8>) {
    let end = at + len;
    let mut place = at;
    while place < end {
        // Fibonacci hashing: the golden ratio in 64 bits.
        let word = ((place / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
        if place.is_multiple_of(8) && end - place >= 8 {
            out.extend_from_slice(&word);
            place += 8;
            continue;
        }
        let from = (place % 8) as usize;
        let to = 8.min(from + (end - place) as usize);
        out.extend_from_slice(&word[from..to]);
        place += (to - from) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_does_not_depend_on_how_it_is_cut() {
        let mut whole = Vec::new();
        content(0, 1000, &mut whole);
        let mut pieces = Vec::new();
        let mut at = 0;
        for len in [1, 7, 8, 9, 475, 500] {
            content(at, len, &mut pieces);
            at += len;
        }
        assert_eq!(whole, pieces);
        assert_ne!(whole[..498], whole[498..996]);
    }

    #[test]
    fn only_numbers_are_served() {
        assert_eq!(asked_for("GET /17 HTTP/1.1\r\n"), Some(17));
        for line in ["GET /x HTTP/1.1", "POST /17 HTTP/1.1", "GET 17", "", "GET"] {
            assert_eq!(asked_for(line), None, "{line}");
        }
    }
}
