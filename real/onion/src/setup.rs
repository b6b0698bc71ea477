//! The messages that build a circuit, and their bytes.
//!
//! A [`SetupMessage`] fills the body of a set-up frame between two neighbours: always
//! [`CELL_PAYLOAD`] bytes. CREATE and CREATED are for the neighbour; everything else passes as
//! FORWARD or BACKWARD, which hold a sealed [`HopMessage`] between the client and the circuit's
//! last hop. All numbers are big-endian; bytes that a message does not need are sent as zero and
//! not looked at.
//!
//! | byte 0 | behind it |
//! | --- | --- |
//! | 1 CREATE | version 1, queue limit 4, length 2, handshake; the last 64 bytes: introduction |
//! | 2 CREATED | version 1, queue limit 4, length 2, handshake |
//! | 3 FORWARD, 4 BACKWARD | counter 4, sealed hop message 504 |
//!
//! A hop message has 488 bytes, of which the first is its kind:
//!
//! | byte 0 | behind it |
//! | --- | --- |
//! | 1 EXTEND | address family 1 (4 or 6), address 16 (zeros behind an IPv4 one), port 2, fingerprint 32, length 2, handshake |
//! | 2 EXTENDED | queue limit 4, length 2, handshake |
//! | 3 REFUSED | reason 1 |

mod error;
mod handshake;
mod hop_message;
mod layout;
mod reader;

use hopflow_units::Cells;
use hopflow_wire::CELL_PAYLOAD;

pub use error::SetupError;
pub use handshake::Handshake;
pub use hop_message::{HopMessage, Refusal};
pub use layout::{MAX_HANDSHAKE, MAX_HANDSHAKE_PAYLOAD, SEALED_SETUP, SETUP_PLAIN, VERSION};
use reader::{Reader, Writer};

use crate::Introduction;

/// A set-up message between two neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupMessage {
    /// Asks the neighbour to become the circuit's next hop.
    Create {
        /// Cells that the asking side queues for the circuit at most.
        queue_limit: Cells,
        /// The client's handshake message for the neighbour.
        handshake: Handshake,
        /// Which relay the asking side is, if it is one.
        introduction: Option<Introduction>,
    },
    /// Tells that the neighbour is the circuit's next hop now.
    Created {
        /// Cells that the answering side queues for the circuit at most.
        queue_limit: Cells,
        /// The neighbour's answer to the client's handshake message.
        handshake: Handshake,
    },
    /// Something from the client for the circuit's last hop.
    Forward {
        /// Which of the client's messages it is; also the number by which it is sealed.
        counter: u32,
        /// A sealed and layered [`HopMessage`].
        sealed: Box<[u8; SEALED_SETUP]>,
    },
    /// The last hop's answer to the client.
    Backward {
        /// The counter of the message that it answers.
        counter: u32,
        /// A sealed and layered [`HopMessage`].
        sealed: Box<[u8; SEALED_SETUP]>,
    },
}

const CREATE: u8 = 1;
const CREATED: u8 = 2;
const FORWARD: u8 = 3;
const BACKWARD: u8 = 4;

impl SetupMessage {
    /// The message as the body of a set-up frame.
    pub fn encode(&self) -> [u8; CELL_PAYLOAD] {
        let mut body = [0; CELL_PAYLOAD];
        let mut out = Writer::new(&mut body);
        match self {
            Self::Create {
                queue_limit,
                handshake,
                introduction,
            } => {
                write_handshake(&mut out, CREATE, *queue_limit, handshake);
                if let Some(introduction) = introduction {
                    *last(&mut body) = introduction.encode();
                }
            }
            Self::Created {
                queue_limit,
                handshake,
            } => write_handshake(&mut out, CREATED, *queue_limit, handshake),
            Self::Forward { counter, sealed } => write_sealed(&mut out, FORWARD, *counter, sealed),
            Self::Backward { counter, sealed } => {
                write_sealed(&mut out, BACKWARD, *counter, sealed);
            }
        }
        body
    }

    /// Reads the body of a set-up frame.
    ///
    /// # Errors
    /// If the bytes are not a message of this version. Never panics.
    pub fn decode(body: &[u8; CELL_PAYLOAD]) -> Result<Self, SetupError> {
        let mut bytes = Reader::new(body);
        let kind = bytes.byte();
        match kind {
            CREATE | CREATED => {
                let version = bytes.byte();
                if version != VERSION {
                    return Err(SetupError::UnknownVersion(version));
                }
                let queue_limit = bytes.cells();
                let handshake = bytes.handshake()?;
                Ok(if kind == CREATE {
                    let (_, last) = body.split_last_chunk().expect("a body is longer");
                    Self::Create {
                        queue_limit,
                        handshake,
                        introduction: Introduction::decode(last),
                    }
                } else {
                    Self::Created {
                        queue_limit,
                        handshake,
                    }
                })
            }
            FORWARD | BACKWARD => {
                let counter = u32::from_be_bytes(bytes.take());
                let sealed = Box::new(bytes.take());
                Ok(if kind == FORWARD {
                    Self::Forward { counter, sealed }
                } else {
                    Self::Backward { counter, sealed }
                })
            }
            other => Err(SetupError::UnknownKind(other)),
        }
    }
}

/// Where a CREATE's introduction is.
fn last(body: &mut [u8; CELL_PAYLOAD]) -> &mut [u8; Introduction::LEN] {
    let (_, last) = body.split_last_chunk_mut().expect("a body is longer");
    last
}

fn write_handshake(out: &mut Writer<'_>, kind: u8, queue_limit: Cells, handshake: &Handshake) {
    out.put(&[kind, VERSION]);
    out.put_cells(queue_limit);
    out.put_handshake(handshake);
}

fn write_sealed(out: &mut Writer<'_>, kind: u8, counter: u32, sealed: &[u8; SEALED_SETUP]) {
    out.put(&[kind]);
    out.put(&counter.to_be_bytes());
    out.put(sealed);
}
