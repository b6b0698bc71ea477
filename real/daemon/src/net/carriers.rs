//! Connections that carry links: TCP with what the engine makes of it, TLS.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration as StdDuration;

use hopflow_engine::{Action, ConnId, Engine};
use hopflow_units::{Bytes, Duration, Instant};
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use rustix::io::Errno;
use slotmap::SlotMap;
use socket2::{SockRef, TcpKeepalive};

use super::accept::{self, for_links, try_accept};
use super::delayed::Delayed;
use super::descriptors::is_out;
use super::kist::{Kist, Share};
use super::tokens::{CarrierKey, Source};
use crate::accounting::Traffic;

/// Bytes that a connection takes from the node while the kernel keeps up. What waits longer does
/// so in the node, where it can be scheduled.
const ROOM: usize = 64 * 1024;
/// Bytes that the kernel holds back unsent before it takes more.
const UNSENT: u32 = 32 * 1024;
/// What waits at a connection besides what is under way: what the kernel keeps, and what it has not taken.
pub const UNSENT_OF_CONNECTIONS: Bytes = Bytes::new(UNSENT as u64 + ROOM as u64);
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Neighbours that are taken at once.
const AT_ONCE: usize = 64;
/// How long a neighbour's kernel may leave bytes, or questions whether it is there, without acknowledgement.
const GONE: StdDuration = StdDuration::from_secs(30);
/// How long a connection is silent before the kernel asks whether the neighbour is there: who only receives
/// sends nothing that could remain without acknowledgement.
const SILENT: StdDuration = StdDuration::from_secs(15);
/// Time from one of these questions to the next.
const ASKED_AGAIN: StdDuration = StdDuration::from_secs(5);

/// A worker's connections to neighbours.
#[derive(Debug)]
pub(super) struct Carriers {
    listeners: Vec<TcpListener>,
    /// Where they listen.
    listen: Vec<SocketAddr>,
    /// Whether somebody may wait there.
    waiting: bool,
    table: SlotMap<CarrierKey, TcpCarrier>,
    keys: BTreeMap<ConnId, CarrierKey>,
    /// Connections with something to be read, or that had it before they were closed.
    readable: Vec<CarrierKey>,
    buffer: Vec<u8>,
    traffic: Traffic,
    kist: Option<Kist>,
    /// The delay of the emulated link, if there is one.
    link: Option<hopflow_netem::LinkConfig>,
    /// A descriptor for who comes when no other is left.
    spare: Option<File>,
}

/// Somebody who connects.
#[derive(Debug)]
enum Caller {
    Nobody,
    Refused,
    Taken(TcpStream, ConnId),
}

/// A descriptor that is good for nothing else.
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

#[derive(Debug)]
struct TcpCarrier {
    conn: ConnId,
    socket: TcpStream,
    connecting: bool,
    /// What the kernel has not taken yet.
    out: Vec<u8>,
    /// What is under way on the emulated link.
    delayed: Option<Delayed>,
    /// Whether it stands among the readable.
    listed: bool,
    /// How much it takes with KIST; without, that is no limit.
    share: Share,
}

impl Carriers {
    pub(super) fn open(
        registry: &Registry,
        addresses: &[SocketAddr],
        kist: Option<Duration>,
        link: Option<hopflow_netem::LinkConfig>,
    ) -> io::Result<Self> {
        let listeners = addresses.iter().map(|at| for_links(*at, true));
        let mut listeners = listeners.collect::<io::Result<Vec<_>>>()?;
        for listener in &mut listeners {
            registry.register(listener, Source::Listener.token(), Interest::READABLE)?;
        }
        Ok(Self {
            listeners,
            listen: addresses.to_vec(),
            waiting: false,
            table: SlotMap::with_key(),
            keys: BTreeMap::new(),
            readable: Vec::new(),
            buffer: vec![0; CHUNK],
            traffic: Traffic::default(),
            kist: kist.and_then(Kist::open),
            link,
            spare: None,
        })
    }

    /// What was moved.
    pub(super) const fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// The address of this host from which a connection leaves.
    pub(super) fn own_address(&self, conn: ConnId) -> Option<IpAddr> {
        let carrier = self.table.get(*self.keys.get(&conn)?)?;
        let own = carrier.socket.local_addr().ok()?.ip();
        (!own.is_unspecified()).then_some(own)
    }

    /// Whether neighbours may connect.
    pub(super) fn listens(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// Somebody connects.
    pub(super) fn on_listener(&mut self) {
        self.waiting = self.listens();
    }

    /// Takes neighbours that connect, some at a time: however many there are, links go on.
    pub(super) fn accept(&mut self, now: Instant, registry: &Registry, engine: &mut Engine) {
        for _ in 0..AT_ONCE {
            match self.next_caller(now, engine) {
                Caller::Nobody => {
                    self.waiting = false;
                    return;
                }
                Caller::Refused => {}
                Caller::Taken(socket, conn) => match self.add(registry, conn, socket, false) {
                    Ok(key) => self.offer_room(now, engine, key),
                    Err(_) => engine.closed(now, conn),
                },
            }
        }
    }

    fn next_caller(&mut self, now: Instant, engine: &mut Engine) -> Caller {
        if !self.waiting {
            return Caller::Nobody;
        }
        if self.spare.is_none() {
            self.spare = spare();
        }
        for _ in 0..self.listeners.len() {
            // In turns: who floods one address keeps nobody from the other.
            self.listeners.rotate_left(1);
            let listener = &self.listeners[0];
            let (accepted, full) = match try_accept(listener) {
                // No descriptor is left: the next caller gets the spare one, and with it an answer.
                Err(error) if is_out(&error) && self.spare.take().is_some() => {
                    (accept::accept(listener), true)
                }
                accepted => (accepted.ok().flatten(), false),
            };
            let Some((socket, from)) = accepted else {
                continue;
            };
            let conn = if full {
                engine.accept_instead(now, from.ip())
            } else {
                engine.accept(now, from.ip())
            };
            return conn.map_or(Caller::Refused, |conn| Caller::Taken(socket, conn));
        }
        Caller::Nobody
    }

    fn add(
        &mut self,
        registry: &Registry,
        conn: ConnId,
        mut socket: TcpStream,
        connecting: bool,
    ) -> io::Result<CarrierKey> {
        prepare(&socket)?;
        let delayed = self.link.as_ref().map(Delayed::new);
        let key = self.table.try_insert_with_key(|key| {
            let token = Source::Carrier(key).token();
            let interest = Interest::READABLE | Interest::WRITABLE;
            registry.register(&mut socket, token, interest)?;
            io::Result::Ok(TcpCarrier {
                conn,
                socket,
                connecting,
                out: Vec::new(),
                delayed,
                listed: false,
                share: Share::default(),
            })
        })?;
        self.keys.insert(conn, key);
        Ok(key)
    }

    /// Says how much a connection takes that has taken all that it was given.
    fn offer_room(&mut self, now: Instant, engine: &mut Engine, key: CarrierKey) {
        let Some(carrier) = self.table.get_mut(key) else {
            return;
        };
        if let Some(kist) = &mut self.kist {
            kist.ask(now, key, &carrier.socket, &mut carrier.share);
        }
        engine.set_room(now, carrier.conn, carrier.share.soon.min(ROOM));
    }

    /// Connections learn how much TCP can send soon, before the node runs KIST.
    pub(super) fn run(&mut self, now: Instant, engine: &mut Engine) {
        while let Some(key) = self.kist.as_mut().and_then(|kist| kist.take_due(now)) {
            if let Some(carrier) = self.table.get_mut(key) {
                carrier.share.begin();
                if carrier.out.is_empty() {
                    self.offer_room(now, engine, key);
                }
            }
        }
    }

    /// Does what the engine wants of a connection.
    pub(super) fn act(
        &mut self,
        now: Instant,
        registry: &Registry,
        engine: &mut Engine,
        action: Action,
    ) {
        match action {
            Action::Connect { conn, to } => {
                let added = connect(&self.listen, to)
                    .and_then(|socket| self.add(registry, conn, socket, true));
                match added {
                    Ok(_) => {}
                    // As the relay's machine says; it may be this one.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                        engine.closed(now, conn);
                    }
                    Err(_) => engine.cannot_connect(now, conn),
                }
            }
            Action::Close { conn } => self.remove(conn),
        }
    }

    fn remove(&mut self, conn: ConnId) {
        let key = self.keys.remove(&conn);
        if let Some(mut carrier) = key.and_then(|key| self.table.remove(key)) {
            // The last words, for instance why a circuit is closed.
            let _ = carrier.socket.write(&carrier.out);
        }
    }

    /// A connection is there, has something for us, or takes something again.
    pub(super) fn on_ready(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        key: CarrierKey,
        (readable, writable): (bool, bool),
    ) {
        let Some(carrier) = self.table.get_mut(key) else {
            return;
        };
        if writable && carrier.connecting {
            let error = carrier.socket.take_error().ok().flatten();
            if error.is_some() || carrier.socket.peer_addr().is_err() {
                let conn = carrier.conn;
                return engine.closed(now, conn);
            }
            carrier.connecting = false;
            engine.connected(now, carrier.conn);
            self.offer_room(now, engine, key);
        } else if writable && !carrier.out.is_empty() {
            self.flush(now, engine, key);
        }
        if let Some(carrier) = self.table.get_mut(key)
            && readable
            && !std::mem::replace(&mut carrier.listed, true)
        {
            self.readable.push(key);
        }
    }

    pub(super) fn is_readable(&self) -> bool {
        self.waiting || !self.readable.is_empty()
    }

    /// Takes a piece from each connection that has one.
    pub(super) fn receive(&mut self, now: Instant, engine: &mut Engine) {
        for key in std::mem::take(&mut self.readable) {
            let Some(carrier) = self.table.get_mut(key) else {
                continue;
            };
            let conn = carrier.conn;
            match carrier.socket.read(&mut self.buffer) {
                Ok(0) => engine.closed(now, conn),
                Ok(len) => {
                    self.readable.push(key);
                    self.traffic.received += len as u64;
                    match &mut carrier.delayed {
                        None => engine.receive_bytes(now, conn, &self.buffer[..len]),
                        Some(delayed) => delayed.push(now, &self.buffer[..len]),
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => carrier.listed = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => self.readable.push(key),
                Err(_) => engine.closed(now, conn),
            }
        }
        if self.link.is_some() {
            for carrier in self.table.values_mut() {
                while let Some(bytes) = carrier.delayed.as_mut().and_then(|it| it.take(now)) {
                    engine.receive_bytes(now, carrier.conn, &bytes);
                }
            }
        }
    }

    /// Sends what the engine has to send; true if there was something.
    pub(super) fn transmit(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut sent = false;
        while let Some((conn, bytes)) = engine.poll_bytes(now) {
            sent = true;
            let Some(key) = self.keys.get(&conn).copied() else {
                continue;
            };
            if let Some(carrier) = self.table.get_mut(key) {
                if self.kist.is_some() {
                    carrier.share.soon = carrier.share.soon.saturating_sub(bytes.len());
                }
                let written = carrier.send(bytes, &mut self.traffic.sent);
                self.settle(now, engine, key, &written);
            }
        }
        sent
    }

    /// Gives the kernel what it takes of what waits.
    fn flush(&mut self, now: Instant, engine: &mut Engine, key: CarrierKey) {
        if let Some(carrier) = self.table.get_mut(key) {
            let written = carrier.flush(&mut self.traffic.sent);
            self.settle(now, engine, key, &written);
        }
    }

    /// Tells the engine of a connection that took all, and so takes more, or failed.
    fn settle(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        key: CarrierKey,
        written: &io::Result<bool>,
    ) {
        let Some(carrier) = self.table.get_mut(key) else {
            return;
        };
        match written {
            Ok(true) => {
                engine.set_room(now, carrier.conn, carrier.share.soon.min(ROOM));
                if let Some(kist) = &mut self.kist {
                    kist.on_given(now, key, &mut carrier.share);
                }
            }
            Ok(false) => {}
            Err(_) => {
                let conn = carrier.conn;
                engine.closed(now, conn);
            }
        }
    }

    /// When bytes of the emulated link arrive, or a connection learns how much it takes.
    pub(super) fn poll_timeout(&self) -> Instant {
        let run = self.kist.as_ref().map_or(Instant::FAR_FUTURE, Kist::next);
        if self.link.is_none() {
            return run;
        }
        self.table
            .values()
            .filter_map(|carrier| carrier.delayed.as_ref()?.next())
            .fold(run, Instant::min)
    }
}

/// Connects to a neighbour, from the address of that family at which the relay listens, if that is one and has ports
/// left: other relays know it by that address.
fn connect(listen: &[SocketAddr], to: SocketAddr) -> io::Result<TcpStream> {
    let socket = accept::socket(to)?;
    let mut own = listen.iter().map(SocketAddr::ip);
    // From an address of this host alone nothing leads to others.
    let leads =
        |own: &IpAddr| own.is_ipv6() == to.is_ipv6() && own.is_loopback() == to.ip().is_loopback();
    if let Some(own) = own.find(|own| leads(own) && !own.is_unspecified()) {
        // The port is chosen with the target, so that connections to others may have the same one.
        let _ = setsockopt(&socket, IpBindAddressNoPort, &true);
        let _ = socket.bind(&SocketAddr::new(own, 0).into());
    }
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// Sets how the kernel carries a link.
fn prepare(socket: &TcpStream) -> io::Result<()> {
    // Records are of the size that the node wants: none may wait for more to come.
    socket.set_nodelay(true)?;
    let raw = SockRef::from(socket);
    raw.set_tcp_notsent_lowat(UNSENT)?;
    raw.set_tcp_user_timeout(Some(GONE))?;
    let questions = TcpKeepalive::new().with_time(SILENT);
    raw.set_tcp_keepalive(&questions.with_interval(ASKED_AGAIN))
}

impl TcpCarrier {
    /// Gives the kernel these bytes behind those that wait, and keeps what it does not take; true
    /// if it took all.
    fn send(&mut self, bytes: &[u8], sent: &mut u64) -> io::Result<bool> {
        let mut taken = 0;
        if self.out.is_empty() {
            taken = write(&mut self.socket, bytes)?;
            *sent += taken as u64;
        }
        self.out.extend_from_slice(&bytes[taken..]);
        Ok(self.out.is_empty())
    }

    /// Gives the kernel what waits; true if it took all.
    fn flush(&mut self, sent: &mut u64) -> io::Result<bool> {
        let taken = write(&mut self.socket, &self.out)?;
        *sent += taken as u64;
        self.out.drain(..taken);
        if self.out.is_empty() {
            // The engine counts the memory of what waits only.
            self.out = Vec::new();
        }
        Ok(self.out.is_empty())
    }
}

/// Writes bytes as far as the kernel takes them, and returns how many that were.
fn write(socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match socket.write(&bytes[written..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(len) => written += len,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{engine, identity};
    use hopflow_engine::{Event, Failure};

    #[test]
    fn a_neighbour_that_vanished_is_asked_for_on_a_silent_connection() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        prepare(&socket).unwrap();
        let raw = SockRef::from(&socket);
        assert!(raw.keepalive().unwrap());
        assert_eq!(raw.tcp_keepalive_time().unwrap(), SILENT);
        assert_eq!(raw.tcp_keepalive_interval().unwrap(), ASKED_AGAIN);
        assert_eq!(raw.tcp_user_timeout().unwrap(), Some(GONE));
    }

    #[test]
    fn a_relay_is_not_to_blame_where_this_host_cannot_connect() {
        let poll = mio::Poll::new().unwrap();
        let now = Instant::from_nanos(1);
        let end = |to: SocketAddr| {
            let mut carriers = Carriers::open(poll.registry(), &[], None, None).unwrap();
            let mut engine = engine("vanilla", None);
            engine.build(now, vec![identity(to).1]);
            while let Some(action) = engine.poll_action() {
                carriers.act(now, poll.registry(), &mut engine, action);
            }
            match engine.poll_event(now) {
                Some(Event::Closed { why, .. }) => Some(why),
                _ => None,
            }
        };
        // No connection leads to all hosts of a network.
        assert_eq!(end(([255; 4], 9).into()), Some(Failure::NoRoute));
        // The kernel may say later that nobody listens.
        let nobody = crate::net::free_address().unwrap();
        assert_ne!(end(nobody), Some(Failure::NoRoute));
    }

    #[test]
    fn a_connection_has_an_own_address() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let to = listener.local_addr().unwrap();
        let (poll, now) = (mio::Poll::new().unwrap(), Instant::from_nanos(1));
        let mut carriers = Carriers::open(poll.registry(), &[], None, None).unwrap();
        let mut engine = engine("vanilla", None);
        engine.build(now, vec![identity(to).1]);
        let conn = engine.opened_links().next().unwrap().conn.unwrap();
        assert_eq!(carriers.own_address(conn), None);
        while let Some(action) = engine.poll_action() {
            carriers.act(now, poll.registry(), &mut engine, action);
        }
        assert_eq!(carriers.own_address(conn), Some(to.ip()));
    }

    #[test]
    fn connections_leave_from_where_the_relay_listens() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let to = listener.local_addr().unwrap();
        let elsewhere = |listen: &str| {
            let _socket =
                connect(&["[::1]:9".parse().unwrap(), listen.parse().unwrap()], to).unwrap();
            listener.accept().unwrap().1.ip().to_string()
        };
        assert_eq!(elsewhere("127.0.0.2:9"), "127.0.0.2");
        assert_eq!(elsewhere("0.0.0.0:9"), "127.0.0.1");
        assert_eq!(elsewhere("192.0.2.1:9"), "127.0.0.1");
    }

    #[test]
    fn a_connection_that_takes_nothing_is_broken() {
        let mut room = [0; 3];
        assert_eq!(write(&mut &mut room[..], b"all").unwrap(), 3);
        let error = write(&mut &mut room[..], b"more").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
    }
}
