//! Listening for connections, and taking them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tracing::debug;

const BACKLOG: i32 = 1024;

/// A socket at which neighbours connect, which workers may share. At an IPv6 address it takes IPv6 only:
/// the same port of IPv4 has a socket of its own.
pub(super) fn for_links(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let raw = socket(address)?;
    if address.is_ipv6() {
        raw.set_only_v6(true)?;
    }
    raw.set_reuse_port(shared)?;
    listen(raw, address)
}

/// A socket at which applications connect.
pub(super) fn for_applications(address: SocketAddr) -> io::Result<TcpListener> {
    listen(socket(address)?, address)
}

/// A socket of TCP that does not block.
pub(super) fn socket(address: SocketAddr) -> io::Result<RawSocket> {
    let domain = Domain::for_address(address);
    let raw = RawSocket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    raw.set_nonblocking(true)?;
    raw.set_reuse_address(true)?;
    Ok(raw)
}

fn listen(raw: RawSocket, address: SocketAddr) -> io::Result<TcpListener> {
    raw.bind(&address.into())?;
    raw.listen(BACKLOG)?;
    Ok(TcpListener::from_std(raw.into()))
}

/// The next of those who connect, with its address; `None` if nobody does, or the system has no
/// room for one more. The poll does not tell when it has: then it is to be tried again from time to
/// time.
pub(super) fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    try_accept(listener).ok().flatten()
}

/// The same.
///
/// # Errors
/// If the system has no room.
pub(super) fn try_accept(listener: &TcpListener) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    loop {
        match listener.accept() {
            Ok(accepted) => return Ok(Some(accepted)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(None),
                // Who gave up says nothing about those behind.
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => {
                    debug!(%error, "a connection cannot be taken yet");
                    return Err(error);
                }
            },
        }
    }
}
