//! Cells and what they carry.

use std::fmt::Debug;

use hopflow_units::{CircuitId, Instant};

use crate::{CELL_PAYLOAD, CellAck, CellSeq, DecodeError, RelayCommand, RelayHeader};

/// What only who has read a cell knows; equal for no two cells.
pub type Proof = [u8; 16];

/// What a cell carries past the relays: the relay header and application data.
///
/// Relays move payloads and never look into them. A driver chooses the type: real bytes
/// ([`RawPayload`]), or a small stand-in for them in a simulation.
pub trait Payload: Clone + Debug + Send + 'static {
    /// Application data that waits to be cut into cells.
    type Data: Clone + Default + Debug + Send;

    /// Bytes of its data that a cell leaves free for what [`cut_secret`](Self::cut_secret) adds; none
    /// where cells are not sealed.
    const SECRET: usize = 0;

    /// Appends data that the application wrote later.
    fn append(data: &mut Self::Data, more: Self::Data);

    /// Cuts `header.len` bytes off the front of `data` into a payload packaged at `now`.
    /// `data` must hold that many, and the header's command must leave room for them
    /// ([`Payload::capacity`]).
    fn cut(header: RelayHeader, data: &mut Self::Data, now: Instant) -> Self;

    /// As [`cut`](Self::cut), with as much behind the data as nobody can foresee: who knows the data
    /// without having read the cell still does not know its proof. At most
    /// [`SECRET`](Self::SECRET) bytes, and fewer if there is no room.
    fn cut_secret(header: RelayHeader, data: &mut Self::Data, now: Instant) -> Self {
        Self::cut(header, data, now)
    }

    /// Application bytes that a cell with this command can carry.
    fn capacity(command: RelayCommand) -> usize {
        RelayHeader::capacity(command)
    }

    /// A payload without application data.
    fn control(header: RelayHeader, now: Instant) -> Self;

    /// What shows that this cell was read; `None` where cells are not sealed.
    fn proof(&self) -> Option<Proof> {
        None
    }

    /// A SENDME with this header that shows the proof of a cell.
    fn proving(header: RelayHeader, proof: &Proof, now: Instant) -> Self {
        let _ = proof;
        Self::control(header, now)
    }

    /// What a SENDME shows; `None` if that is no proof.
    fn shown(&self) -> Option<Proof> {
        None
    }

    /// Reads the relay header; meaningful at the circuit's ends only.
    ///
    /// # Errors
    /// If the header is malformed, which an honest peer never causes.
    fn header(&self) -> Result<RelayHeader, DecodeError>;

    /// The payload of a cell that acknowledges others.
    fn acknowledgement(ack: &CellAck) -> Self;

    /// What a cell with [`RelayCommand::Ack`] says; meaningful at the circuit's ends only.
    ///
    /// # Errors
    /// If the content is malformed, which an honest peer never causes.
    fn read_acknowledgement(&self) -> Result<CellAck, DecodeError>;

    /// Writes the payload's bytes.
    fn write(&self, out: &mut [u8; CELL_PAYLOAD]);

    /// Appends the payload's bytes to `out`; payloads that hold them copy them only once.
    fn append_to(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; CELL_PAYLOAD];
        self.write(&mut bytes);
        out.extend_from_slice(&bytes);
    }

    /// Reads a payload from its bytes.
    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self;
}

/// The flags byte of a cell on a datagram carrier. Where the circuit's ends repair, it says what the
/// cell's number counts, and how often the cell was sent before; elsewhere nodes send zero and ignore
/// what they get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellFlags(pub u8);

impl CellFlags {
    /// Of a cell by which the ends speak about the others ([`RelayCommand::is_of_connection`]): it is sent
    /// once, and has a number among such cells of its direction.
    pub const CONTROL: Self = Self(0x80);
    /// Earlier transmissions that the flags can count.
    pub const MOST_EARLIER: u8 = 0x7F;

    /// Of a cell that was sent so often before; more than can be counted count as the most.
    pub const fn sent_before(earlier: u8) -> Self {
        if earlier < Self::MOST_EARLIER {
            Self(earlier)
        } else {
            Self(Self::MOST_EARLIER)
        }
    }

    /// Whether the cell's number is one among [control cells](Self::CONTROL).
    pub const fn is_control(self) -> bool {
        self.0 & Self::CONTROL.0 != 0
    }

    /// How often the cell was sent before.
    pub const fn earlier(self) -> u8 {
        self.0 & Self::MOST_EARLIER
    }

    /// Whether the cell was sent before; control cells never were.
    pub const fn is_sent_again(self) -> bool {
        !self.is_control() && self.earlier() > 0
    }
}

/// A cell on its way to a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell<P> {
    /// The circuit, as the two neighbours name it.
    pub circuit: CircuitId,
    /// Flags; datagram carriers only.
    pub flags: CellFlags,
    /// The hop's sequence number or, where the circuit's ends repair, the one that they gave the cell;
    /// datagram carriers only.
    pub seq: CellSeq,
    /// What the relays do not see.
    pub payload: P,
}

/// A payload of real bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct RawPayload(pub Box<[u8; CELL_PAYLOAD]>);

impl Debug for RawPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RawPayload(..)")
    }
}

impl Payload for RawPayload {
    type Data = std::collections::VecDeque<u8>;

    fn append(data: &mut Self::Data, mut more: Self::Data) {
        data.append(&mut more);
    }

    fn cut(header: RelayHeader, data: &mut Self::Data, _: Instant) -> Self {
        let mut bytes = Box::new([0; CELL_PAYLOAD]);
        let start = header.encode(&mut bytes);
        let len = header.len as usize;
        assert!(
            len <= CELL_PAYLOAD - start,
            "{len} bytes do not fit the cell"
        );
        let taken = data.drain(..len);
        for (place, byte) in bytes[start..].iter_mut().zip(taken) {
            *place = byte;
        }
        Self(bytes)
    }

    fn control(header: RelayHeader, _: Instant) -> Self {
        let mut bytes = Box::new([0; CELL_PAYLOAD]);
        header.encode(&mut bytes);
        Self(bytes)
    }

    fn header(&self) -> Result<RelayHeader, DecodeError> {
        RelayHeader::decode(&self.0)
    }

    fn acknowledgement(ack: &CellAck) -> Self {
        let mut bytes = Box::new([0; CELL_PAYLOAD]);
        ack.encode(&mut bytes);
        Self(bytes)
    }

    fn read_acknowledgement(&self) -> Result<CellAck, DecodeError> {
        CellAck::decode(&self.0)
    }

    fn write(&self, out: &mut [u8; CELL_PAYLOAD]) {
        out.copy_from_slice(&*self.0);
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&*self.0);
    }

    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self {
        Self(Box::new(*bytes))
    }
}

impl RawPayload {
    /// The application bytes of a data cell.
    ///
    /// # Errors
    /// If the header is malformed.
    pub fn data(&self) -> Result<&[u8], DecodeError> {
        let header = self.header()?;
        let start = CELL_PAYLOAD - RelayHeader::capacity(header.command);
        Ok(&self.0[start..start + header.len as usize])
    }
}
