//! What a cell carries, as the circuit's ends see it.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::rand;
use bytes::{Buf, BytesMut};
use hopflow_units::{Instant, StreamId};
use hopflow_wire::{
    CELL_NUMBER, CELL_PAYLOAD, CellAck, DecodeError, Payload, Proof, RelayCommand, RelayHeader,
};

use crate::TAG;

/// Bytes of the header behind the tag: command 1, stream 2, length 2.
const HEADER: usize = 5;

/// Buffers that a thread keeps for its next payloads at most: half a megabyte.
const MOST_FREE: usize = 1024;

type Body = [u8; CELL_PAYLOAD];

thread_local! {
    /// Buffers of payloads that are gone. A node's cells stay on its worker's thread, where they
    /// come and go by the hundred thousand each second.
    static FREE: RefCell<Vec<Arc<Body>>> = const { RefCell::new(Vec::new()) };
}

/// A payload of 509 bytes: tag 16, command 1, stream 2, length 2, the number 4 of a numbered cell,
/// data, up to 16 random bytes of a cell whose proof will be asked for, zeros.
///
/// At the circuit's ends it is plain; its tag is zero where it was made, and where it was opened the
/// one that it came with, its proof. Everywhere else it is sealed and means nothing. A clone shares the
/// bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct OnionPayload {
    /// There until it is dropped.
    body: Option<Arc<Body>>,
}

/// Gives the buffer back, unless a clone still has it.
impl Drop for OnionPayload {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else {
            return;
        };
        if Arc::strong_count(&body) > 1 {
            return;
        }
        // A thread that ends has no list any more.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < MOST_FREE {
                free.push(body);
            }
        });
    }
}

impl fmt::Debug for OnionPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnionPayload(..)")
    }
}

impl OnionPayload {
    /// A payload that `fill` writes; what it finds is what a former payload left.
    #[inline]
    fn filled(fill: impl FnOnce(&mut Body)) -> Self {
        let free = FREE.try_with(|free| free.borrow_mut().pop());
        let free = free.ok().flatten();
        let mut body = free.unwrap_or_else(|| Arc::new([0; CELL_PAYLOAD]));
        fill(Arc::make_mut(&mut body));
        Self { body: Some(body) }
    }

    /// The application bytes of a plain payload; none if its header is malformed.
    pub fn data(&self) -> &[u8] {
        match self.header() {
            Ok(header) => &self.bytes()[data_start(header.command)..][..header.len as usize],
            Err(_) => &[],
        }
    }

    /// All bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8; CELL_PAYLOAD] {
        self.body.as_ref().expect("it is there until the drop")
    }

    /// All bytes, to seal, open or layer in place; copied first if a clone shares them.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8; CELL_PAYLOAD] {
        Arc::make_mut(self.body.as_mut().expect("it is there until the drop"))
    }

    /// A payload with this header and `data` behind it.
    fn plain(header: RelayHeader, data: &[u8]) -> Self {
        Self::filled(|bytes| {
            let start = data_start(header.command);
            bytes[..TAG].fill(0);
            bytes[TAG] = header.command as u8;
            bytes[TAG + 1..TAG + 3].copy_from_slice(&header.stream.get().to_be_bytes());
            bytes[TAG + 3..TAG + 5].copy_from_slice(&header.len.to_be_bytes());
            if header.command.is_numbered() {
                bytes[TAG + HEADER..start].copy_from_slice(&header.number.to_be_bytes());
            }
            let (place, rest) = bytes[start..].split_at_mut(data.len());
            place.copy_from_slice(data);
            rest.fill(0);
        })
    }
}

/// Where the data begins.
const fn data_start(command: RelayCommand) -> usize {
    if command.is_numbered() {
        TAG + HEADER + CELL_NUMBER
    } else {
        TAG + HEADER
    }
}

impl Payload for OnionPayload {
    type Data = BytesMut;

    const SECRET: usize = 16;

    /// Copies only behind what waits already, and not even that for pieces of one buffer.
    fn append(data: &mut BytesMut, more: BytesMut) {
        data.unsplit(more);
    }

    fn cut(header: RelayHeader, data: &mut BytesMut, _: Instant) -> Self {
        let len = header.len as usize;
        assert!(
            len <= Self::capacity(header.command),
            "{len} bytes do not fit the cell"
        );
        let payload = Self::plain(header, &data[..len]);
        data.advance(len);
        payload
    }

    fn cut_secret(header: RelayHeader, data: &mut BytesMut, now: Instant) -> Self {
        let mut payload = Self::cut(header, data, now);
        let end = data_start(header.command) + header.len as usize;
        let (_, free) = payload.bytes_mut().split_at_mut(end);
        let len = free.len().min(Self::SECRET);
        rand::fill(&mut free[..len]).expect("the system has random numbers");
        payload
    }

    fn capacity(command: RelayCommand) -> usize {
        CELL_PAYLOAD - data_start(command)
    }

    fn control(header: RelayHeader, _: Instant) -> Self {
        Self::plain(header, &[])
    }

    #[inline]
    fn proof(&self) -> Option<Proof> {
        self.bytes().first_chunk().copied()
    }

    fn proving(header: RelayHeader, proof: &Proof, _: Instant) -> Self {
        let len = proof.len() as u16;
        Self::plain(RelayHeader { len, ..header }, proof)
    }

    fn shown(&self) -> Option<Proof> {
        self.data().try_into().ok()
    }

    fn header(&self) -> Result<RelayHeader, DecodeError> {
        let bytes = &self.bytes()[TAG..];
        let command = RelayCommand::from_code(bytes[0])?;
        let len = u16::from_be_bytes([bytes[3], bytes[4]]);
        if len as usize > Self::capacity(command) {
            return Err(DecodeError::Length(len));
        }
        let number = if command.is_numbered() {
            u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]])
        } else {
            0
        };
        Ok(RelayHeader {
            command,
            stream: StreamId::new(u16::from_be_bytes([bytes[1], bytes[2]])),
            len,
            number,
        })
    }

    fn acknowledgement(ack: &CellAck) -> Self {
        Self::plain(ack.header(), &ack.body())
    }

    fn read_acknowledgement(&self) -> Result<CellAck, DecodeError> {
        let number = self.header()?.number;
        CellAck::read(number, self.data())
    }

    fn write(&self, out: &mut [u8; CELL_PAYLOAD]) {
        out.copy_from_slice(self.bytes());
    }

    #[inline]
    fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes());
    }

    #[inline]
    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self {
        Self::filled(|body| body.copy_from_slice(bytes))
    }
}
