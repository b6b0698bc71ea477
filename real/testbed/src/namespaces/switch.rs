//! The network between the hosts.

use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use hopflow_netem::Line;
use hopflow_units::{Bytes, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tun_rs::SyncDevice;

use crate::clock;
use crate::lateness::Lateness;

/// Bytes of an IP packet at most.
pub(super) const MTU: u16 = 1500;
/// Bytes of a link's framing, as the simulator counts them.
pub(super) const FRAMING: u64 = 2;
/// How long the thread sleeps at most, so that it sees that it shall end.
const LOOK: u64 = 100_000_000;
/// Where a packet's destination stands (RFC 791, section 3.1).
const DESTINATION: std::ops::Range<usize> = 16..20;

/// A packet, from its IP header on.
type Packet = Vec<u8>;

/// A host's device and the two directions of its access link.
pub(super) struct Port {
    pub(super) device: SyncDevice,
    pub(super) address: Ipv4Addr,
    pub(super) up: Line<Packet>,
    pub(super) down: Line<Packet>,
}

/// A thread that carries packets from host to host.
#[derive(Debug)]
pub(super) struct Switch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Lateness>>>,
}

impl Switch {
    /// Starts the thread.
    pub(super) fn start(mut ports: Vec<Port>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let carry = move || {
            let begin = clock::now();
            let now = || Instant::ZERO + clock::span(begin.elapsed());
            let mut late = Lateness::default();
            while !stopped.load(Ordering::Relaxed) {
                let due = |at| late.note(now().saturating_since(at));
                carry(&mut ports, now(), due)?;
                wait(&ports, now())?;
            }
            Ok(late)
        };
        let thread = thread::Builder::new()
            .name("switch".to_owned())
            .spawn(carry)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Whether the thread has failed: then nothing is carried any more.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the thread. Returns how late packets came through.
    ///
    /// # Errors
    /// If it has failed.
    pub(super) fn end(mut self) -> io::Result<Lateness> {
        self.join()
    }

    fn join(&mut self) -> io::Result<Lateness> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        let failed = || Err(io::Error::other("the thread between the hosts panicked"));
        ended.map_or_else(
            || Ok(Lateness::default()),
            |ended| ended.unwrap_or_else(|_| failed()),
        )
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Who wants to know whether it failed calls `end`.
        let _ = self.join();
    }
}

/// Moves everything whose time has come, and tells for each packet that comes through when it should.
fn carry(ports: &mut [Port], now: Instant, mut due: impl FnMut(Instant)) -> io::Result<()> {
    for port in &mut *ports {
        port.take_from_host(now)?;
    }
    while let Some((at, packet)) = next_from_uplinks(ports, now) {
        let to = destination(&packet);
        if let Some(port) = ports.iter_mut().find(|port| Some(port.address) == to) {
            // The time at which it was due, so that a thread that wakes late brings no packets together.
            let size = size(&packet);
            port.down.send(at, packet, size);
        }
    }
    let mut ports = ports.iter_mut();
    ports.try_for_each(|port| port.give_to_host(now, &mut due))
}

/// The next packet of those that have passed an uplink by `now`, and when it did.
fn next_from_uplinks(ports: &mut [Port], now: Instant) -> Option<(Instant, Packet)> {
    let due = |port: &Port| port.up.next_event().filter(|at| *at <= now);
    let next = ports.iter_mut().filter(|port| due(port).is_some());
    let next = next.min_by_key(|port| port.up.next_event())?;
    let at = next.up.next_event()?;
    Some((at, next.up.receive(now)?))
}

/// Sleeps until a packet comes through, or a host sends one that has room.
fn wait(ports: &[Port], now: Instant) -> io::Result<()> {
    let next = ports.iter().filter_map(|port| port.next_event(now)).min();
    let span = next.map_or(LOOK, |at| at.saturating_since(now).as_nanos().min(LOOK));
    let ready = ports.iter().filter(|port| port.has_room(now));
    let mut ready: Vec<_> = ready
        .map(|port| PollFd::new(&port.device, PollFlags::IN))
        .collect();
    let span = Timespec {
        tv_sec: 0,
        tv_nsec: span as i64,
    };
    match poll(&mut ready, Some(&span)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Port {
    /// Whether the uplink takes a packet. Others wait in the device.
    fn has_room(&self, now: Instant) -> bool {
        self.up.room_at(now).is_none()
    }

    fn take_from_host(&mut self, now: Instant) -> io::Result<()> {
        let mut buffer = [0; MTU as usize];
        while self.has_room(now) {
            match self.device.recv(&mut buffer) {
                Ok(len) => {
                    let packet = buffer[..len].to_vec();
                    let size = size(&packet);
                    // IPv6 looks for routers, of which there are none.
                    if destination(&packet).is_some() {
                        self.up.send(now, packet, size);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn give_to_host(&mut self, now: Instant, due: &mut impl FnMut(Instant)) -> io::Result<()> {
        while let Some(at) = self.down.next_event()
            && let Some(packet) = self.down.receive(now)
        {
            due(at);
            match self.device.send(&packet) {
                Ok(_) => {}
                // A host that has no room loses packets.
                Err(error) if is_full(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// When a packet comes through, or the uplink has room again.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        let times = [
            self.up.next_event(),
            self.down.next_event(),
            self.up.room_at(now),
        ];
        times.into_iter().flatten().min()
    }
}

fn is_full(error: &io::Error) -> bool {
    let full = [Errno::AGAIN, Errno::NOBUFS, Errno::NOMEM].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| full.contains(&code))
}

/// Bytes of a packet on the link.
const fn size(packet: &Packet) -> Bytes {
    Bytes::new(packet.len() as u64 + FRAMING)
}

/// To which address a packet goes; `None` if it is none of IPv4.
fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let is_v4 = packet.first()? >> 4 == 4;
    let octets: [u8; 4] = packet.get(DESTINATION)?.try_into().ok()?;
    is_v4.then_some(octets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_ipv4_have_a_destination() {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[DESTINATION].copy_from_slice(&[10, 0, 0, 3]);
        assert_eq!(destination(&packet), Some(Ipv4Addr::new(10, 0, 0, 3)));
        assert_eq!(destination(&packet[..19]), None);
        packet[0] = 0x60;
        assert_eq!(destination(&packet), None);
        assert_eq!(destination(&[]), None);
    }
}
