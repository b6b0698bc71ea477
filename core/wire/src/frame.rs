//! Frames: everything that neighbours send to each other.

use hopflow_units::{Bytes, CircuitId};

use crate::{CELL_PAYLOAD, Cell, CellFlags, CellSeq, DecodeError, Message, Neighbour, Payload};

/// What carries the frames of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// A reliable, ordered byte stream such as TCP.
    Stream,
    /// Datagrams, which may be lost, repeated and reordered.
    Datagram,
}

/// Per-hop feedback about one circuit's cells, sent against their direction.
///
/// Both numbers are cumulative, so a lost message costs nothing once a later one arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// The circuit, as the two neighbours name it.
    pub circuit: CircuitId,
    /// The next cell expected: all cells before it have arrived.
    pub ack: CellSeq,
    /// The next cell to be forwarded: all cells before it have left the relay.
    pub fwd: CellSeq,
    /// Cells that arrived beyond a gap since the last message, at most
    /// [`Feedback::MAX_OUT_OF_ORDER`].
    pub out_of_order: u8,
    /// A word of the transport's own, for instance a cumulative congestion measure.
    pub word: Option<u16>,
    /// Whether zeros make the message as long as a cell.
    pub padded: bool,
}

impl Feedback {
    /// The largest count that fits the message.
    pub const MAX_OUT_OF_ORDER: u8 = 63;
    /// Encoded bytes: circuit 2, type 1, flags 1, ack 4, fwd 4.
    pub const LEN: u64 = 12;
    /// Encoded bytes with the transport's word.
    pub const LEN_WITH_WORD: u64 = Self::LEN + 2;

    fn flags(&self) -> u8 {
        let word = self.word.map_or(0, |_| FLAG_WORD);
        let padded = if self.padded { FLAG_PADDED } else { 0 };
        word | padded | self.out_of_order.min(Self::MAX_OUT_OF_ORDER)
    }

    /// Encoded bytes without padding.
    #[inline]
    fn len(&self) -> Bytes {
        let len = self.word.map_or(Self::LEN, |_| Self::LEN_WITH_WORD);
        Bytes::new(len)
    }

    /// Appends what stands behind the type, without padding.
    fn append_to(&self, out: &mut Vec<u8>) {
        out.push(self.flags());
        out.extend_from_slice(&self.ack.to_wire().to_be_bytes());
        out.extend_from_slice(&self.fwd.to_wire().to_be_bytes());
        if let Some(word) = self.word {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }

    /// Reads what [`Feedback::append_to`] writes.
    fn read(circuit: CircuitId, bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let ([flags, a0, a1, a2, a3, f0, f1, f2, f3], mut rest) = take::<9>(bytes)?;
        let word = if flags & FLAG_WORD == 0 {
            None
        } else {
            let (word, behind) = take::<2>(rest)?;
            rest = behind;
            Some(u16::from_be_bytes(word))
        };
        let feedback = Self {
            circuit,
            ack: CellSeq::from_wire(u32::from_be_bytes([a0, a1, a2, a3])),
            fwd: CellSeq::from_wire(u32::from_be_bytes([f0, f1, f2, f3])),
            out_of_order: flags & Self::MAX_OUT_OF_ORDER,
            word,
            padded: flags & FLAG_PADDED != 0,
        };
        Ok((feedback, rest))
    }
}

/// Feedback that also tells which cells have arrived beyond the next one expected, as selective
/// acknowledgements of TCP do (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    /// What feedback tells without it.
    pub feedback: Feedback,
    /// Ranges of cells that have arrived, newest first: where they start and end, counted from
    /// [`Feedback::ack`]. One that ends where it starts, or before, is none.
    pub arrived: Arrived,
}

/// Ranges of cells beyond the next one expected: where they start and end, counted from it.
pub type Arrived = [(u16, u16); Sack::RANGES];

impl Sack {
    /// Ranges in a message.
    pub const RANGES: usize = 3;
    /// Encoded bytes of the ranges.
    pub const RANGES_LEN: u64 = 4 * Self::RANGES as u64;
}

/// Tells a neighbour that a circuit is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destroy {
    /// The circuit, as the two neighbours name it.
    pub circuit: CircuitId,
    /// Why it was closed.
    pub reason: Reason,
}

/// Why a circuit is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Reason {
    /// Its owner closed it.
    Requested = 0,
    /// The peer broke the protocol.
    Protocol = 1,
    /// The peer kept sending beyond the receiver's queue limit.
    Excess = 2,
    /// The circuit is not known here.
    Unknown = 3,
    /// The peer stopped answering.
    Unreachable = 4,
    /// Any reason that is not known here.
    Other = 255,
}

/// Anything that one neighbour sends to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame<P> {
    /// A cell.
    Cell(Cell<P>),
    /// Feedback about the cells of the opposite direction.
    Feedback(Feedback),
    /// Feedback with what has arrived beyond a gap; over datagrams.
    Sack(Box<Sack>),
    /// Asks for feedback, when what is missing may have been lost.
    Probe(CircuitId),
    /// Closes a circuit.
    Destroy(Destroy),
    /// A transport's message.
    Message(Box<Message>),
}

const TYPE_RELAY: u8 = 3;
const TYPE_DESTROY: u8 = 4;
const TYPE_FEEDBACK: u8 = 12;
const TYPE_PROBE: u8 = 13;
const TYPE_MESSAGE: u8 = 15;
const TYPE_SACK: u8 = 16;
const FLAG_WORD: u8 = 0x80;
const FLAG_PADDED: u8 = 0x40;

impl<P> Frame<P> {
    /// The circuit, as the two neighbours name it.
    pub const fn circuit(&self) -> CircuitId {
        match self {
            Self::Cell(cell) => cell.circuit,
            Self::Feedback(feedback) => feedback.circuit,
            Self::Sack(sack) => sack.feedback.circuit,
            Self::Probe(circuit) => *circuit,
            Self::Destroy(destroy) => destroy.circuit,
            Self::Message(message) => message.circuit,
        }
    }
}

impl<P: Payload> Frame<P> {
    /// Encoded bytes of a cell.
    pub const fn cell_len(carrier: Carrier) -> Bytes {
        match carrier {
            Carrier::Stream => Bytes::new(3 + CELL_PAYLOAD as u64),
            Carrier::Datagram => Bytes::new(8 + CELL_PAYLOAD as u64),
        }
    }

    /// Encoded bytes of this frame.
    pub fn wire_len(&self, carrier: Carrier) -> Bytes {
        match self {
            Self::Cell(_) => Self::cell_len(carrier),
            Self::Feedback(feedback) if feedback.padded => Self::cell_len(carrier),
            Self::Feedback(feedback) => feedback.len(),
            Self::Sack(sack) if sack.feedback.padded => Self::cell_len(carrier),
            Self::Sack(sack) => sack.feedback.len() + Bytes::new(Sack::RANGES_LEN),
            Self::Probe(_) => Bytes::new(3),
            Self::Destroy(_) => Bytes::new(4),
            Self::Message(message) => Bytes::new(Message::HEADER + message.body.len() as u64),
        }
    }

    /// Appends the frame's bytes to `out`.
    pub fn encode(&self, carrier: Carrier, out: &mut Vec<u8>) {
        let first = out.len();
        let mut start = |circuit: CircuitId, kind: u8| {
            out.extend_from_slice(&circuit.get().to_be_bytes());
            out.push(kind);
        };
        match self {
            Self::Cell(cell) => {
                start(cell.circuit, TYPE_RELAY);
                if carrier == Carrier::Datagram {
                    out.push(cell.flags.0);
                    out.extend_from_slice(&cell.seq.to_wire().to_be_bytes());
                }
                cell.payload.append_to(out);
            }
            Self::Feedback(feedback) => {
                start(feedback.circuit, TYPE_FEEDBACK);
                feedback.append_to(out);
                out.resize(first + self.wire_len(carrier).get() as usize, 0);
            }
            Self::Sack(sack) => {
                start(sack.feedback.circuit, TYPE_SACK);
                sack.feedback.append_to(out);
                for edge in sack.arrived.iter().flat_map(|(start, end)| [start, end]) {
                    out.extend_from_slice(&edge.to_be_bytes());
                }
                out.resize(first + self.wire_len(carrier).get() as usize, 0);
            }
            Self::Probe(circuit) => start(*circuit, TYPE_PROBE),
            Self::Destroy(destroy) => {
                start(destroy.circuit, TYPE_DESTROY);
                out.push(destroy.reason as u8);
            }
            Self::Message(message) => {
                start(message.circuit, TYPE_MESSAGE);
                out.push(message.sender as u8);
                let body = &message.body[..message.body.len().min(Message::MAX_BODY)];
                out.extend_from_slice(&(body.len() as u16).to_be_bytes());
                out.extend_from_slice(body);
            }
        }
    }

    /// Reads one frame off the front of `bytes` and returns it with the bytes behind it.
    ///
    /// # Errors
    /// If the bytes do not start with a whole, known frame. Never panics.
    pub fn decode(bytes: &[u8], carrier: Carrier) -> Result<(Self, &[u8]), DecodeError> {
        let ([hi, lo, kind], rest) = take::<3>(bytes)?;
        let circuit = CircuitId::new(u16::from_be_bytes([hi, lo]));
        match kind {
            TYPE_RELAY => Self::decode_cell(circuit, rest, carrier),
            TYPE_FEEDBACK => {
                let (feedback, behind) = Feedback::read(circuit, rest)?;
                Self::Feedback(feedback).skip_padding(carrier, rest, behind)
            }
            TYPE_SACK => {
                let (feedback, behind) = Feedback::read(circuit, rest)?;
                let (edges, behind) = take::<{ Sack::RANGES_LEN as usize }>(behind)?;
                let edge = |n: usize| u16::from_be_bytes([edges[2 * n], edges[2 * n + 1]]);
                let arrived = std::array::from_fn(|n| (edge(2 * n), edge(2 * n + 1)));
                let sack = Sack { feedback, arrived };
                Self::Sack(Box::new(sack)).skip_padding(carrier, rest, behind)
            }
            TYPE_PROBE => Ok((Self::Probe(circuit), rest)),
            TYPE_MESSAGE => Self::decode_message(circuit, rest),
            TYPE_DESTROY => {
                let ([reason], rest) = take::<1>(rest)?;
                let reason = Reason::from_wire(reason);
                Ok((Self::Destroy(Destroy { circuit, reason }), rest))
            }
            other => Err(DecodeError::UnknownType(other)),
        }
    }

    fn decode_cell(
        circuit: CircuitId,
        bytes: &[u8],
        carrier: Carrier,
    ) -> Result<(Self, &[u8]), DecodeError> {
        let (flags, seq, rest) = match carrier {
            Carrier::Stream => (0, 0, bytes),
            Carrier::Datagram => {
                let ([flags, a, b, c, d], rest) = take::<5>(bytes)?;
                (flags, u32::from_be_bytes([a, b, c, d]), rest)
            }
        };
        let (payload, rest) = rest
            .split_first_chunk::<CELL_PAYLOAD>()
            .ok_or(DecodeError::Truncated)?;
        let cell = Cell {
            circuit,
            flags: CellFlags(flags),
            seq: CellSeq::from_wire(seq),
            payload: P::read(payload),
        };
        Ok((Self::Cell(cell), rest))
    }

    fn decode_message(circuit: CircuitId, bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let ([sender, hi, lo], rest) = take::<3>(bytes)?;
        let sender = match sender {
            0 => Neighbour::Predecessor,
            1 => Neighbour::Successor,
            other => return Err(DecodeError::UnknownSender(other)),
        };
        let len = u16::from_be_bytes([hi, lo]);
        if usize::from(len) > Message::MAX_BODY {
            return Err(DecodeError::TooLong(len));
        }
        let (body, rest) = rest
            .split_at_checked(len.into())
            .ok_or(DecodeError::Truncated)?;
        let message = Message {
            circuit,
            sender,
            body: body.to_vec(),
        };
        Ok((Self::Message(Box::new(message)), rest))
    }

    /// The frame, which was read off the front of `body`, and what stands behind its padding.
    fn skip_padding<'a>(
        self,
        carrier: Carrier,
        body: &[u8],
        behind: &'a [u8],
    ) -> Result<(Self, &'a [u8]), DecodeError> {
        let read = 3 + (body.len() - behind.len()) as u64;
        let padding = self.wire_len(carrier).get() - read;
        let rest = behind.get(padding as usize..);
        Ok((self, rest.ok_or(DecodeError::Truncated)?))
    }
}

impl Reason {
    /// A circuit is closed whatever the reason, so that one of a later version must be readable.
    fn from_wire(bits: u8) -> Self {
        [
            Self::Requested,
            Self::Protocol,
            Self::Excess,
            Self::Unknown,
            Self::Unreachable,
        ]
        .into_iter()
        .find(|reason| *reason as u8 == bits)
        .unwrap_or(Self::Other)
    }
}

/// Splits `N` bytes off the front.
fn take<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), DecodeError> {
    match bytes.split_first_chunk::<N>() {
        Some((head, rest)) => Ok((*head, rest)),
        None => Err(DecodeError::Truncated),
    }
}

/// The frames of one datagram, decoded one by one; stops at the first error.
#[derive(Clone, Debug)]
pub struct Frames<'a, P> {
    rest: &'a [u8],
    carrier: Carrier,
    payload: std::marker::PhantomData<P>,
}

impl<'a, P> Frames<'a, P> {
    /// Decodes the frames in `bytes`.
    pub const fn new(bytes: &'a [u8], carrier: Carrier) -> Self {
        Self {
            rest: bytes,
            carrier,
            payload: std::marker::PhantomData,
        }
    }
}

impl<P: Payload> Iterator for Frames<'_, P> {
    type Item = Result<Frame<P>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match Frame::decode(self.rest, self.carrier) {
            Ok((frame, rest)) => {
                self.rest = rest;
                Some(Ok(frame))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}
