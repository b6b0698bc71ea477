//! What a cell carries, as the circuit's ends see it.

use std::fmt;

use bytes::{Buf, BytesMut};
use hopflow_units::{Instant, StreamId};
use hopflow_wire::{CELL_NUMBER, CELL_PAYLOAD, DecodeError, Payload, RelayCommand, RelayHeader};

use crate::TAG;

/// Bytes of the header behind the tag: command 1, stream 2, length 2.
const HEADER: usize = 5;

/// A payload of 509 bytes: tag 16, command 1, stream 2, length 2, the number 4 of a numbered cell,
/// data, zeros.
///
/// At the circuit's ends it is plain and its tag is zero; everywhere else it is sealed and means
/// nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct OnionPayload(Box<[u8; CELL_PAYLOAD]>);

impl fmt::Debug for OnionPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnionPayload(..)")
    }
}

impl OnionPayload {
    /// The application bytes of a plain payload; none if its header is malformed.
    pub fn data(&self) -> &[u8] {
        match self.header() {
            Ok(header) => &self.0[data_start(header.command)..][..header.len as usize],
            Err(_) => &[],
        }
    }

    /// All bytes.
    pub const fn bytes(&self) -> &[u8; CELL_PAYLOAD] {
        &self.0
    }

    /// All bytes, to seal, open or layer in place.
    pub const fn bytes_mut(&mut self) -> &mut [u8; CELL_PAYLOAD] {
        &mut self.0
    }

    /// A payload with this header and nothing behind it.
    fn with_header(header: RelayHeader) -> Self {
        let mut bytes = Box::new([0; CELL_PAYLOAD]);
        bytes[TAG] = header.command as u8;
        bytes[TAG + 1..TAG + 3].copy_from_slice(&header.stream.get().to_be_bytes());
        bytes[TAG + 3..TAG + 5].copy_from_slice(&header.len.to_be_bytes());
        if header.command.is_numbered() {
            let number = &mut bytes[TAG + HEADER..TAG + HEADER + CELL_NUMBER];
            number.copy_from_slice(&header.number.to_be_bytes());
        }
        Self(bytes)
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
        let mut payload = Self::with_header(header);
        let start = data_start(header.command);
        payload.0[start..start + len].copy_from_slice(&data[..len]);
        data.advance(len);
        payload
    }

    fn capacity(command: RelayCommand) -> usize {
        CELL_PAYLOAD - data_start(command)
    }

    fn control(header: RelayHeader, _: Instant) -> Self {
        Self::with_header(header)
    }

    fn header(&self) -> Result<RelayHeader, DecodeError> {
        let bytes = &self.0[TAG..];
        let command = RelayCommand::ALL
            .into_iter()
            .find(|command| *command as u8 == bytes[0])
            .ok_or(DecodeError::UnknownCommand(bytes[0]))?;
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

    fn write(&self, out: &mut [u8; CELL_PAYLOAD]) {
        out.copy_from_slice(&*self.0);
    }

    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self {
        Self(Box::new(*bytes))
    }
}
