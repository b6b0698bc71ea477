//! What a client and its circuit's last hop tell each other while the circuit is built.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hopflow_units::Cells;

use super::error::SetupError;
use super::handshake::Handshake;
use super::layout::SETUP_PLAIN;
use super::reader::{Reader, Writer};

/// A message between the client and the circuit's last hop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HopMessage {
    /// Asks the last hop to make the circuit longer by one.
    Extend {
        /// Where the next hop listens, for the carrier that the network's transport uses.
        address: SocketAddr,
        /// SHA-256 of the certificate by which the next hop proves itself on the link.
        fingerprint: [u8; 32],
        /// The client's handshake message for the next hop.
        handshake: Handshake,
    },
    /// The circuit is longer by one hop.
    Extended {
        /// Cells that the new hop queues for the circuit at most.
        queue_limit: Cells,
        /// The new hop's answer to the handshake message.
        handshake: Handshake,
    },
    /// The circuit is as long as before.
    Refused {
        /// Why.
        reason: Refusal,
    },
}

/// Why a circuit is not extended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Refusal {
    /// The next hop did not answer.
    Unreachable = 1,
    /// The next hop proved to be somebody else.
    Identity = 2,
    /// The next hop does not want the circuit.
    Declined = 3,
    /// The hop does not extend this circuit: it carries data already, or the address is not
    /// allowed.
    NotAllowed = 4,
    /// The hop has no room for more circuits.
    Busy = 5,
    /// The request could not be read.
    Malformed = 6,
    /// Any reason that is not known here.
    Other = 255,
}

impl Refusal {
    /// A client gives up in any case, so that the reason of a later version must be readable.
    fn from_wire(bits: u8) -> Self {
        [
            Self::Unreachable,
            Self::Identity,
            Self::Declined,
            Self::NotAllowed,
            Self::Busy,
            Self::Malformed,
        ]
        .into_iter()
        .find(|reason| *reason as u8 == bits)
        .unwrap_or(Self::Other)
    }
}

const EXTEND: u8 = 1;
const EXTENDED: u8 = 2;
const REFUSED: u8 = 3;
const IPV4: u8 = 4;
const IPV6: u8 = 6;

impl HopMessage {
    /// The message's bytes, to be sealed. All messages are equally long, so that a relay that
    /// passes one on does not learn which it is.
    pub fn encode(&self) -> [u8; SETUP_PLAIN] {
        let mut plain = [0; SETUP_PLAIN];
        let mut out = Writer::new(&mut plain);
        match self {
            Self::Extend {
                address,
                fingerprint,
                handshake,
            } => {
                out.put(&[EXTEND]);
                write_address(&mut out, *address);
                out.put(fingerprint);
                out.put_handshake(handshake);
            }
            Self::Extended {
                queue_limit,
                handshake,
            } => {
                out.put(&[EXTENDED]);
                out.put_cells(*queue_limit);
                out.put_handshake(handshake);
            }
            Self::Refused { reason } => out.put(&[REFUSED, *reason as u8]),
        }
        plain
    }

    /// Reads an opened message.
    ///
    /// # Errors
    /// If the bytes are not a message. Never panics.
    pub fn decode(plain: &[u8; SETUP_PLAIN]) -> Result<Self, SetupError> {
        let mut bytes = Reader::new(plain);
        match bytes.byte() {
            EXTEND => Ok(Self::Extend {
                address: read_address(&mut bytes)?,
                fingerprint: bytes.take(),
                handshake: bytes.handshake()?,
            }),
            EXTENDED => Ok(Self::Extended {
                queue_limit: bytes.cells(),
                handshake: bytes.handshake()?,
            }),
            REFUSED => Ok(Self::Refused {
                reason: Refusal::from_wire(bytes.byte()),
            }),
            other => Err(SetupError::UnknownKind(other)),
        }
    }
}

/// IPv6 scopes and flow labels mean something on one machine only and do not travel.
fn write_address(out: &mut Writer<'_>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.put(&[IPV4]);
            out.put(&ip.octets());
            out.put(&[0; 12]);
        }
        IpAddr::V6(ip) => {
            out.put(&[IPV6]);
            out.put(&ip.octets());
        }
    }
    out.put(&address.port().to_be_bytes());
}

fn read_address(bytes: &mut Reader<'_>) -> Result<SocketAddr, SetupError> {
    let family = bytes.byte();
    let octets: [u8; 16] = bytes.take();
    let ip = match family {
        IPV4 => {
            let [a, b, c, d, ..] = octets;
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        IPV6 => IpAddr::V6(Ipv6Addr::from(octets)),
        other => return Err(SetupError::UnknownFamily(other)),
    };
    Ok(SocketAddr::new(ip, bytes.short()))
}
