//! Addresses for nodes that are started for a while on this machine.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports to choose from. Systems give connections that do not ask for a port one above these
/// (Linux from 32768 on, RFC 6335 from 49152 on), so none of them can take a port between here
/// and its node.
const PORTS: Range<u16> = 20_000..32_000;

/// Ports that this process was given so far.
static GIVEN: AtomicU16 = AtomicU16::new(0);

/// An address of the loopback device that nobody uses, neither by TCP nor by UDP; a process gets
/// each only once.
///
/// # Errors
/// If no port can be had.
pub fn free_address() -> io::Result<SocketAddr> {
    let count = PORTS.end - PORTS.start;
    // Processes that run side by side begin far from each other.
    let first = (std::process::id() * 997 % u32::from(count)) as u16;
    loop {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        if given >= count {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let port = PORTS.start + (first + given) % count;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok() {
            return Ok(address);
        }
    }
}
