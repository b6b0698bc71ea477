//! Somebody with addresses of their own and no patience.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::LazyLock;
use std::time::Duration as StdDuration;

use hopflow_channel::{DatagramChannel, Fingerprint, State, StreamChannel};
use hopflow_onion::setup::SetupMessage;
use hopflow_onion::{Initiator, OnionPublic};
use hopflow_units::{Cells, CircuitId, Instant};
use hopflow_wire::Setup;
use socket2::{Domain, SockRef, Socket, Type};

/// How long an attacker waits for anything.
const GLANCE: StdDuration = StdDuration::from_millis(50);

/// When the attackers' clocks began.
pub(crate) static EPOCH: LazyLock<std::time::Instant> = LazyLock::new(|| {
    #[expect(clippy::disallowed_methods, reason = "sockets work in real time")]
    std::time::Instant::now()
});

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "sockets work in real time")]
    let now = std::time::Instant::now();
    let passed = now.saturating_duration_since(*EPOCH);
    Instant::from_nanos(passed.as_nanos() as u64)
}

/// An address of the loopback device, of a network in which no honest node is.
pub(crate) fn address(number: u16) -> IpAddr {
    let [high, low] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, 100, high, low))
}

/// A connection from an address.
pub(crate) fn connect(from: IpAddr, to: SocketAddr) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.bind(&SocketAddr::new(from, 0).into()).ok()?;
    socket.connect_timeout(&to.into(), 10 * GLANCE).ok()?;
    Some(socket.into())
}

/// What a relay listens to, and what it is known by.
#[derive(Clone, Copy)]
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) onion: OnionPublic,
}

/// An address of a network of its own.
pub(crate) fn network(number: u16) -> IpAddr {
    let [high, low] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, 101 + high, low, 1))
}

/// The first datagram of a handshake with a relay, from a socket that has returned the cookie.
pub(crate) fn proven_opening(relay: &Relay, socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut channel = DatagramChannel::connect(relay.fingerprint, *EPOCH);
    let (mut datagram, mut cookie) = (Vec::new(), [0; 2048]);
    channel.poll_transmit(now(), &mut datagram);
    socket.set_read_timeout(Some(10 * GLANCE)).ok()?;
    socket.send_to(&datagram, relay.address).ok()?;
    let len = socket.recv(&mut cookie).ok()?;
    channel.receive(now(), &cookie[..len], &mut |_| ());
    datagram.clear();
    channel.poll_transmit(now(), &mut datagram);
    Some(datagram)
}

/// The first datagram of a handshake with a relay.
pub(crate) fn opening(relay: &Relay) -> Vec<u8> {
    let mut channel = DatagramChannel::connect(relay.fingerprint, *EPOCH);
    let mut datagram = Vec::new();
    channel.poll_transmit(now(), &mut datagram);
    datagram
}

/// An open link to a relay.
pub(crate) enum Link {
    Datagrams(Box<DatagramChannel>, UdpSocket),
    Stream(Box<StreamChannel>, TcpStream),
}

impl Link {
    /// Opens a link by datagrams.
    pub(crate) fn datagrams(relay: &Relay, from: IpAddr) -> Option<Self> {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect(relay.address).ok()?;
        socket.set_read_timeout(Some(GLANCE)).ok()?;
        let channel = DatagramChannel::connect(relay.fingerprint, *EPOCH);
        Self::Datagrams(Box::new(channel), socket).opened()
    }

    /// Opens a link by a connection.
    pub(crate) fn stream(relay: &Relay, from: IpAddr) -> Option<Self> {
        let socket = connect(from, relay.address)?;
        socket.set_read_timeout(Some(GLANCE)).ok()?;
        let channel = StreamChannel::connect(relay.fingerprint);
        Self::Stream(Box::new(channel), socket).opened()
    }

    fn opened(mut self) -> Option<Self> {
        for _ in 0..100 {
            self.speak();
            self.hear();
            if *self.state() == State::Open {
                self.speak();
                return Some(self);
            }
        }
        None
    }

    fn state(&self) -> &State {
        match self {
            Self::Datagrams(channel, _) => channel.state(),
            Self::Stream(channel, _) => channel.state(),
        }
    }

    /// Sends what the channel itself has to say.
    fn speak(&mut self) {
        let mut bytes = Vec::new();
        match self {
            Self::Datagrams(channel, socket) => {
                while channel.poll_transmit(now(), &mut bytes) {
                    let _ = socket.send(&bytes);
                    bytes.clear();
                }
            }
            Self::Stream(channel, socket) => {
                channel.poll_transmit(now(), &mut bytes);
                let _ = socket.write_all(&bytes);
            }
        }
    }

    /// Takes what the relay says; true if there was something.
    pub(crate) fn hear(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let heard = match self {
            Self::Datagrams(channel, socket) => socket.recv(&mut buffer).inspect(|len| {
                channel.receive(now(), &buffer[..*len], &mut |_| ());
            }),
            Self::Stream(channel, socket) => socket.read(&mut buffer).inspect(|len| {
                channel.receive(now(), &buffer[..*len], &mut |_| ());
            }),
        };
        heard.is_ok_and(|len| len > 0)
    }

    /// Says something; false if the relay no longer listens.
    pub(crate) fn say(&mut self, plain: &[u8]) -> bool {
        let mut bytes = Vec::new();
        let sent = match self {
            Self::Datagrams(channel, socket) => {
                channel.seal(now(), plain, &mut bytes);
                socket.send(&bytes).map(drop)
            }
            Self::Stream(channel, socket) => {
                channel.seal(now(), plain, &mut bytes);
                socket.write_all(&bytes)
            }
        };
        sent.is_ok()
    }

    /// Says the same CREATE under this name: a handshake that is repeated costs its sender nothing.
    pub(crate) fn create(&mut self, name: u16, create: &SetupMessage) -> bool {
        let mut bytes = Vec::new();
        let setup = Setup {
            circuit: CircuitId::new(name),
            body: Box::new(create.encode()),
        };
        setup.encode(&mut bytes);
        self.say(&bytes)
    }

    /// Hardly waits from now on when the relay says nothing.
    pub(crate) fn be_hasty(&self) {
        let socket = match self {
            Self::Datagrams(_, socket) => SockRef::from(socket),
            Self::Stream(_, socket) => SockRef::from(socket),
        };
        let _ = socket.set_read_timeout(Some(StdDuration::from_micros(100)));
    }
}

/// A CREATE for a relay.
pub(crate) fn create(relay: &Relay) -> SetupMessage {
    let (_, handshake) = Initiator::start(&relay.onion, &[]);
    SetupMessage::Create {
        queue_limit: Cells::new(1000),
        handshake,
        introduction: None,
    }
}
