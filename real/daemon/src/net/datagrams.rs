//! Datagram sockets: many datagrams to and from the kernel at once, and the emulated link of
//! testbeds.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use hopflow_engine::{Engine, Transmit, Via};
use hopflow_units::Instant;
use mio::{Interest, Registry, Token};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};

use super::emulated::Emulated;
use super::tokens::Source;

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
    listening: Option<Socket>,
    outgoing: Socket,
    buffers: Vec<Vec<u8>>,
    metas: Vec<RecvMeta>,
    link: Option<Emulated>,
}

#[derive(Debug)]
struct Socket {
    io: mio::net::UdpSocket,
    state: UdpSocketState,
    registry: Registry,
    token: Token,
    /// Whether the kernel may have something for us.
    readable: bool,
    /// What the kernel would not take. Nothing is taken from the node while there is something.
    stuck: VecDeque<(Transmit, Vec<u8>)>,
}

/// Opens a socket that workers share among themselves, if it is `shared`.
fn bind(address: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let raw = RawSocket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    raw.set_nonblocking(true)?;
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
        let state = UdpSocketState::new((&io).into())?;
        state.set_recv_buffer_size((&io).into(), KERNEL_BUFFER)?;
        state.set_send_buffer_size((&io).into(), KERNEL_BUFFER)?;
        registry.register(&mut io, source.token(), Interest::READABLE)?;
        Ok(Self {
            io,
            state,
            registry: registry.try_clone()?,
            token: source.token(),
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

    /// Sends datagrams as far as the kernel takes them, and returns how many bytes that were.
    fn try_send(&self, transmit: Transmit, bytes: &[u8]) -> usize {
        let mut sent = 0;
        let most = self.state.max_gso_segments().max(1) * transmit.segment;
        for piece in bytes.chunks(most.max(1)) {
            let result = self.state.try_send(
                (&self.io).into(),
                &quinn_udp::Transmit {
                    destination: transmit.to,
                    ecn: None,
                    contents: piece,
                    segment_size: (piece.len() > transmit.segment).then_some(transmit.segment),
                    src_ip: None,
                },
            );
            if result.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
                break;
            }
            sent += piece.len();
        }
        sent
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

impl Datagrams {
    /// Takes the socket at which the worker listens, if the node is a relay, and opens one for links
    /// that we open, at the address `from`.
    pub(super) fn open(
        registry: &Registry,
        listening: Option<UdpSocket>,
        from: IpAddr,
        link: Option<Emulated>,
    ) -> io::Result<Self> {
        let listening = listening.map(|socket| Socket::new(socket, registry, Source::Listening));
        let outgoing = bind(SocketAddr::new(from, 0), false)?;
        Ok(Self {
            listening: listening.transpose()?,
            outgoing: Socket::new(outgoing, registry, Source::Outgoing)?,
            buffers: vec![vec![0; BUFFER]; BATCH_SIZE],
            metas: vec![RecvMeta::default(); BATCH_SIZE],
            link,
        })
    }

    fn socket(&mut self, via: Via) -> Option<&mut Socket> {
        match via {
            Via::Listening => self.listening.as_mut(),
            Via::Outgoing => Some(&mut self.outgoing),
        }
    }

    /// A socket has something for us, or takes something again.
    pub(super) fn on_ready(&mut self, via: Via, readable: bool, writable: bool) {
        if let Some(socket) = self.socket(via) {
            socket.readable |= readable;
            if writable {
                socket.send_stuck();
            }
        }
    }

    /// Whether the kernel has not taken all that it was given.
    fn is_stuck(&self) -> bool {
        let listening = self.listening.iter();
        listening
            .chain([&self.outgoing])
            .any(|socket| !socket.stuck.is_empty())
    }

    /// Whether the kernel may have more for us.
    pub(super) fn is_readable(&self) -> bool {
        self.outgoing.readable
            || self
                .listening
                .as_ref()
                .is_some_and(|socket| socket.readable)
    }

    /// Takes a batch from each socket that has one.
    pub(super) fn receive(&mut self, now: Instant, engine: &mut Engine) {
        for via in [Via::Listening, Via::Outgoing] {
            self.receive_from(now, via, engine);
        }
        if let Some(link) = &mut self.link {
            while let Some((via, from, data)) = link.arrived(now) {
                engine.receive_datagram(now, via, from, &data);
            }
        }
    }

    fn receive_from(&mut self, now: Instant, via: Via, engine: &mut Engine) {
        let socket = match via {
            Via::Listening => self.listening.as_mut(),
            Via::Outgoing => Some(&mut self.outgoing),
        };
        let Some(socket) = socket.filter(|socket| socket.readable) else {
            return;
        };
        let mut slices: Vec<IoSliceMut<'_>> = self
            .buffers
            .iter_mut()
            .map(|buffer| IoSliceMut::new(buffer))
            .collect();
        let result = socket
            .state
            .recv((&socket.io).into(), &mut slices, &mut self.metas);
        let count = match result {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                socket.readable = false;
                return;
            }
            // What an earlier datagram of ours ran into.
            Err(_) => return,
        };
        // Less than there was room for is all there was; of more the poll says.
        socket.readable = count == BATCH_SIZE;
        for (meta, buffer) in self.metas.iter().zip(&self.buffers).take(count) {
            let (data, stride) = (&buffer[..meta.len], meta.stride.max(1));
            match &mut self.link {
                Some(link) => {
                    for datagram in data.chunks(stride) {
                        link.receive(now, via, meta.addr, datagram);
                    }
                }
                None => engine.receive_datagrams(now, via, meta.addr, stride, data),
            }
        }
    }

    /// Sends what the engine has to send, as far as the uplink takes it; true if there was
    /// something.
    pub(super) fn transmit(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut sent = false;
        while !self.is_stuck() {
            let most = match &mut self.link {
                None => AT_ONCE,
                Some(link) if link.has_room(now) => 1,
                Some(_) => break,
            };
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
                    if let Some(socket) = self.socket(transmit.via) {
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
            && let Some(socket) = self.socket(transmit.via)
        {
            socket.send(transmit, &bytes);
        }
    }

    /// When the emulated link has something to do.
    pub(super) fn poll_timeout(&self, now: Instant) -> Instant {
        self.link
            .as_ref()
            .map_or(Instant::FAR_FUTURE, |link| link.next_event(now))
    }
}
