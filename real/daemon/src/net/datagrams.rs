//! Datagram sockets: many datagrams to and from the kernel at once, and the emulated link of
//! testbeds.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use hopflow_engine::{Engine, Transmit, Via};
use hopflow_units::{Instant, Rate};
use mio::{Interest, Registry, Token};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};

use super::emulated::Emulated;
use super::tokens::Source;
use super::uplink::Uplink;
use crate::accounting::Traffic;

/// Bytes that the kernel may join datagrams into.
const BUFFER: usize = 65_536;
/// Bytes of datagrams that the kernel holds for us, if it lets us choose.
const KERNEL_BUFFER: usize = 4 << 20;
/// Bytes of frames that the node is asked for at once.
const AT_ONCE: usize = 256 * 1024;

/// Bytes of packets of an emulated link that are joined, with the last one's below what the kernel
/// takes at once.
const MOST_JOINED: usize = 60_000;

/// A worker's datagram sockets.
#[derive(Debug)]
pub(super) struct Datagrams {
    listening: Sockets,
    outgoing: Sockets,
    inbox: Inbox,
    link: Option<Emulated>,
    /// The uplink, if its rate is known and it is no emulated one.
    uplink: Option<Uplink>,
    /// Whether the link had no room when it was offered something last.
    was_full: bool,
}

/// Sockets of one kind: one for IPv4 and one for IPv6, as far as the node has them.
#[derive(Debug, Default)]
struct Sockets([Option<Socket>; 2]);

/// Room for what the kernel has.
#[derive(Debug)]
struct Inbox {
    buffers: Vec<Vec<u8>>,
    metas: Vec<RecvMeta>,
}

#[derive(Debug)]
struct Socket {
    io: mio::net::UdpSocket,
    state: UdpSocketState,
    registry: Registry,
    token: Token,
    /// Whether the kernel chooses from which of the host's addresses datagrams leave, where nobody says it.
    any: bool,
    /// What the kernel took and gave.
    traffic: Traffic,
    /// Whether the kernel may have something for us.
    readable: bool,
    /// What the kernel would not take. Nothing is taken from the node while there is something.
    stuck: VecDeque<(Transmit, Vec<u8>)>,
}

/// Opens a socket that workers share among themselves, if it is `shared`. At an IPv6 address it takes
/// IPv6 only: the same port of IPv4 has a socket of its own.
pub(super) fn bind(address: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let raw = RawSocket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    raw.set_nonblocking(true)?;
    if address.is_ipv6() {
        raw.set_only_v6(true)?;
    }
    if shared {
        raw.set_reuse_port(true)?;
    }
    raw.bind(&address.into())?;
    Ok(raw.into())
}

/// Opens the socket at which a worker listens. It stays open however often the worker begins anew:
/// the kernel tells by the order of all workers' sockets which neighbour belongs to which worker.
pub(super) fn listen(address: SocketAddr) -> io::Result<UdpSocket> {
    bind(address, true)
}

impl Socket {
    fn new(socket: UdpSocket, registry: &Registry, source: Source) -> io::Result<Self> {
        let mut io = mio::net::UdpSocket::from_std(socket);
        let any = io.local_addr()?.ip().is_unspecified();
        let state = UdpSocketState::new((&io).into())?;
        state.set_recv_buffer_size((&io).into(), KERNEL_BUFFER)?;
        state.set_send_buffer_size((&io).into(), KERNEL_BUFFER)?;
        registry.register(&mut io, source.token(), Interest::READABLE)?;
        Ok(Self {
            io,
            state,
            registry: registry.try_clone()?,
            token: source.token(),
            any,
            traffic: Traffic::default(),
            readable: true,
            stuck: VecDeque::new(),
        })
    }

    /// Sends datagrams; keeps them if the kernel is full. Any other error means that they are
    /// lost, as datagrams may be.
    fn send(&mut self, transmit: Transmit, bytes: &[u8]) {
        let sent = if self.stuck.is_empty() {
            self.try_send(transmit, bytes)
        } else {
            0
        };
        if sent < bytes.len() {
            if self.stuck.is_empty() {
                self.wait_for_room(true);
            }
            self.stuck.push_back((transmit, bytes[sent..].to_vec()));
        }
    }

    /// Says whether the worker is to be woken when the kernel takes something again. It would
    /// otherwise be woken for each datagram that leaves the kernel.
    fn wait_for_room(&mut self, wait: bool) {
        let interest = if wait {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::READABLE
        };
        // It fails only for a socket that is not registered.
        let _ = self.registry.reregister(&mut self.io, self.token, interest);
    }

    /// Sends datagrams as far as the kernel takes them, and returns how many bytes need not be sent any more. What
    /// it refuses for another reason than room is lost, and not counted.
    fn try_send(&mut self, transmit: Transmit, bytes: &[u8]) -> usize {
        let src_ip = match transmit.via {
            Via::Listening(at) => at,
            Via::Outgoing => None,
        };
        let mut done = 0;
        let most = self.state.max_gso_segments().max(1) * transmit.segment;
        for piece in bytes.chunks(most.max(1)) {
            let result = self.state.try_send(
                (&self.io).into(),
                &quinn_udp::Transmit {
                    destination: transmit.to,
                    ecn: None,
                    contents: piece,
                    segment_size: (piece.len() > transmit.segment).then_some(transmit.segment),
                    src_ip,
                },
            );
            match result {
                Ok(()) => self.traffic.sent += piece.len() as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {}
            }
            done += piece.len();
        }
        done
    }

    /// Takes a batch, if there may be one.
    fn receive(
        &mut self,
        (now, via): (Instant, Via),
        engine: &mut Engine,
        inbox: &mut Inbox,
        link: &mut Option<Emulated>,
    ) {
        if !self.readable {
            return;
        }
        let buffers = inbox.buffers.iter_mut();
        let mut slices: Vec<IoSliceMut<'_>> =
            buffers.map(|buffer| IoSliceMut::new(buffer)).collect();
        let result = self
            .state
            .recv((&self.io).into(), &mut slices, &mut inbox.metas);
        let count = match result {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                return;
            }
            // What an earlier datagram of ours ran into.
            Err(_) => return,
        };
        // Less than there was room for is all there was; of more the poll says.
        self.readable = count == BATCH_SIZE;
        for (meta, buffer) in inbox.metas.iter().zip(&inbox.buffers).take(count) {
            let (data, stride) = (&buffer[..meta.len], meta.stride.max(1));
            let via = match via {
                Via::Listening(_) => Via::Listening(meta.dst_ip.filter(|_| self.any)),
                Via::Outgoing => via,
            };
            match link {
                Some(link) => {
                    self.traffic.received += data.len() as u64;
                    for datagram in data.chunks(stride) {
                        link.receive(now, via, meta.addr, datagram);
                    }
                }
                None => {
                    // Anybody can send the rest, so that it does not use up what the relay may move.
                    let heard = engine.receive_datagrams(now, via, meta.addr, stride, data);
                    self.traffic.received += heard;
                }
            }
        }
    }

    fn send_stuck(&mut self) {
        if self.stuck.is_empty() {
            return;
        }
        while let Some((transmit, mut bytes)) = self.stuck.pop_front() {
            let sent = self.try_send(transmit, &bytes);
            if sent < bytes.len() {
                bytes.drain(..sent);
                return self.stuck.push_front((transmit, bytes));
            }
        }
        self.wait_for_room(false);
    }
}

impl Sockets {
    fn add(&mut self, socket: UdpSocket, registry: &Registry, source: Source) -> io::Result<()> {
        let v6 = socket.local_addr()?.is_ipv6();
        self.0[usize::from(v6)] = Some(Socket::new(socket, registry, source)?);
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.0.iter().flatten()
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Socket> {
        self.0.iter_mut().flatten()
    }

    /// The one that sends to addresses of this family.
    fn towards(&mut self, to: SocketAddr) -> Option<&mut Socket> {
        self.0[usize::from(to.is_ipv6())].as_mut()
    }
}

impl Datagrams {
    /// Takes the sockets at which the worker listens, if the node is a relay, and opens those for links
    /// that we open, at the addresses `from`: of families that the system lacks there are none.
    pub(super) fn open(
        registry: &Registry,
        listening: Vec<UdpSocket>,
        from: &[IpAddr],
        (link, access): (Option<Emulated>, Option<Rate>),
    ) -> io::Result<Self> {
        let mut this = Self {
            listening: Sockets::default(),
            outgoing: Sockets::default(),
            inbox: Inbox {
                buffers: vec![vec![0; BUFFER]; BATCH_SIZE],
                metas: vec![RecvMeta::default(); BATCH_SIZE],
            },
            uplink: access.filter(|_| link.is_none()).map(Uplink::new),
            link,
            was_full: false,
        };
        for socket in listening {
            this.listening.add(socket, registry, Source::Listening)?;
        }
        let mut failure = None;
        for address in from {
            match bind(SocketAddr::new(*address, 0), false) {
                Ok(socket) => this.outgoing.add(socket, registry, Source::Outgoing)?,
                Err(error) => failure = Some(error),
            }
        }
        if let Some(failure) = failure.filter(|_| this.outgoing.iter().next().is_none()) {
            return Err(failure);
        }
        Ok(this)
    }

    const fn sockets(&mut self, via: Via) -> &mut Sockets {
        match via {
            Via::Listening(_) => &mut self.listening,
            Via::Outgoing => &mut self.outgoing,
        }
    }

    /// A socket of a kind has something for us, or takes something again.
    pub(super) fn on_ready(&mut self, via: Via, readable: bool, writable: bool) {
        for socket in self.sockets(via).iter_mut() {
            socket.readable |= readable;
            if writable {
                socket.send_stuck();
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.listening.iter().chain(self.outgoing.iter())
    }

    /// What was moved.
    pub(super) fn traffic(&self) -> Traffic {
        let sockets = self.iter().map(|socket| socket.traffic);
        sockets.fold(Traffic::default(), Traffic::with)
    }

    /// Whether the kernel has not taken all that it was given.
    fn is_stuck(&self) -> bool {
        self.iter().any(|socket| !socket.stuck.is_empty())
    }

    /// Whether the kernel may have more for us.
    pub(super) fn is_readable(&self) -> bool {
        self.iter().any(|socket| socket.readable)
    }

    /// Takes a batch from each socket that has one.
    pub(super) fn receive(&mut self, now: Instant, engine: &mut Engine) {
        for (via, sockets) in [
            (Via::Listening(None), &mut self.listening),
            (Via::Outgoing, &mut self.outgoing),
        ] {
            for socket in sockets.iter_mut() {
                socket.receive((now, via), engine, &mut self.inbox, &mut self.link);
            }
        }
        if let Some(link) = &mut self.link {
            while let Some((via, from, data)) = link.arrived(now) {
                engine.receive_datagram(now, via, from, &data);
            }
        }
    }

    /// Sends what the engine has to send, as far as the uplink takes it; true if there was
    /// something.
    pub(super) fn transmit(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut sent = false;
        self.was_full = false;
        while !self.is_stuck() {
            let most = match (&self.link, &self.uplink) {
                (Some(link), _) if link.has_room(now) => 1,
                (Some(_), _) => 0,
                (None, Some(uplink)) => uplink.room(now).min(AT_ONCE),
                (None, None) => AT_ONCE,
            };
            if most == 0 {
                self.was_full = true;
                break;
            }
            let Some((transmit, bytes)) = engine.poll_datagrams(now, most) else {
                break;
            };
            sent = true;
            match &mut self.link {
                Some(link) => {
                    for datagram in bytes.chunks(transmit.segment) {
                        link.send(now, transmit, datagram);
                    }
                }
                None => {
                    if let Some(uplink) = &mut self.uplink {
                        uplink.on_sent(now, bytes.len(), transmit.segment);
                    }
                    if let Some(socket) = self.sockets(transmit.via).towards(transmit.to) {
                        socket.send(transmit, bytes);
                    }
                }
            }
        }
        self.send_left(now);
        sent
    }

    /// Sends what has passed the emulated uplink, neighbouring packets together if they are alike.
    fn send_left(&mut self, now: Instant) {
        let mut batch: Option<(Transmit, Vec<u8>)> = None;
        while let Some((transmit, data)) = self.link.as_mut().and_then(|link| link.left(now)) {
            let transmit = Transmit {
                segment: data.len(),
                ..transmit
            };
            match &mut batch {
                Some((first, bytes)) if *first == transmit && bytes.len() < MOST_JOINED => {
                    bytes.extend_from_slice(&data);
                }
                _ => {
                    let ready = batch.replace((transmit, data));
                    self.send_batch(ready);
                }
            }
        }
        self.send_batch(batch);
    }

    fn send_batch(&mut self, batch: Option<(Transmit, Vec<u8>)>) {
        if let Some((transmit, bytes)) = batch
            && let Some(socket) = self.sockets(transmit.via).towards(transmit.to)
        {
            socket.send(transmit, &bytes);
        }
    }

    /// When the emulated link has something to do, or the uplink takes more.
    pub(super) fn poll_timeout(&self, now: Instant) -> Instant {
        match (&self.link, &self.uplink) {
            (Some(link), _) => link.next_event(now, self.was_full),
            (None, Some(uplink)) if self.was_full => uplink.next_room(),
            (None, _) => Instant::FAR_FUTURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{engine, identity};

    #[test]
    fn answers_leave_from_the_address_at_which_a_neighbour_called() {
        let poll = mio::Poll::new().unwrap();
        let now = Instant::from_nanos(1);
        for called in [[127, 0, 0, 2], [127, 0, 0, 3]] {
            let listening = listen(([0, 0, 0, 0], 0).into()).unwrap();
            let at = SocketAddr::from((called, listening.local_addr().unwrap().port()));
            let from = [IpAddr::from([127, 0, 0, 1])];
            let mut datagrams =
                Datagrams::open(poll.registry(), vec![listening], &from, (None, None)).unwrap();
            let (identity, hop) = identity(at);
            let (mut relay, mut client) =
                (engine("backtap", Some(identity)), engine("backtap", None));
            client.build(now, vec![hop]);
            let (_, opening) = client.poll_datagrams(now, usize::MAX).unwrap();
            // It hears what comes from there alone.
            let caller = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
            caller.connect(at).unwrap();
            caller.send(opening).unwrap();
            caller.set_nonblocking(true).unwrap();
            let answered = |_| {
                datagrams.on_ready(Via::Listening(None), true, false);
                datagrams.receive(now, &mut relay);
                datagrams.transmit(now, &mut relay);
                std::thread::park_timeout(std::time::Duration::from_millis(5));
                caller.recv(&mut [0; 100]).is_ok()
            };
            assert!((0..100).any(answered), "{at}");
        }
    }

    #[test]
    fn what_the_kernel_refuses_is_lost_and_does_not_count() {
        let poll = mio::Poll::new().unwrap();
        let here = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
        let receiver = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
        let mut socket = Socket::new(here, poll.registry(), Source::Outgoing).unwrap();
        // From an address of this host alone nothing leads to others.
        let elsewhere = SocketAddr::from(([192, 0, 2, 1], 1));
        for (to, sent) in [(elsewhere, 0), (receiver.local_addr().unwrap(), 300)] {
            let transmit = Transmit {
                to,
                via: Via::Outgoing,
                segment: 100,
            };
            socket.send(transmit, &[7; 300]);
            assert_eq!((socket.traffic.sent, socket.stuck.len()), (sent, 0), "{to}");
        }
    }
}
