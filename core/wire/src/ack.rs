//! What the ends of a circuit tell each other about arrived cells, where they repair themselves.

use hopflow_units::StreamId;

use crate::{
    CELL_NUMBER, CELL_PAYLOAD, CellSeq, DecodeError, RELAY_HEADER, RelayCommand, RelayHeader,
};

/// The content of a cell with [`RelayCommand::Ack`]: an acknowledgement as in TCP, counted in cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellAck {
    /// The next cell expected: all before it have arrived.
    pub next: CellSeq,
    /// Cells from the expected one on that the receiver has room for.
    pub window: u16,
    /// Ranges of cells that have arrived beyond the expected one, newest first (RFC 2018): where
    /// they start and end, counted from it. `(0, 0)` is none.
    pub arrived: [(u16, u16); 3],
    /// The cell that is answered, counted back from the expected one.
    pub answered: u16,
    /// How often that cell had been sent before the transmission that is answered.
    pub attempt: u8,
}

impl CellAck {
    /// Bytes behind the number.
    pub const LEN: usize = 17;

    /// The relay header.
    pub const fn header(&self) -> RelayHeader {
        RelayHeader {
            len: Self::LEN as u16,
            number: self.next.to_wire(),
            ..RelayHeader::control(RelayCommand::Ack, StreamId::CIRCUIT)
        }
    }

    /// What follows the header and its number.
    pub fn body(&self) -> [u8; Self::LEN] {
        let edges = self.arrived.iter().flat_map(|(start, end)| [*start, *end]);
        let words = std::iter::once(self.window).chain(edges);
        let mut body = [0; Self::LEN];
        body[Self::LEN - 1] = self.attempt;
        let places = body.chunks_exact_mut(2);
        for (place, word) in places.zip(words.chain([self.answered])) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        body
    }

    /// Reads an acknowledgement whose header has this number.
    ///
    /// # Errors
    /// If the body has another length than those of acknowledgements.
    pub fn read(number: u32, body: &[u8]) -> Result<Self, DecodeError> {
        let body: &[u8; Self::LEN] = body
            .try_into()
            .map_err(|_| DecodeError::Length(body.len() as u16))?;
        let word = |n: usize| u16::from_be_bytes([body[2 * n], body[2 * n + 1]]);
        Ok(Self {
            next: CellSeq::from_wire(number),
            window: word(0),
            arrived: [(word(1), word(2)), (word(3), word(4)), (word(5), word(6))],
            answered: word(7),
            attempt: body[Self::LEN - 1],
        })
    }

    /// Writes the relay header and what follows it, as simulated and raw payloads have them.
    pub fn encode(&self, out: &mut [u8; CELL_PAYLOAD]) {
        self.header().encode(out);
        out[RELAY_HEADER + CELL_NUMBER..][..Self::LEN].copy_from_slice(&self.body());
    }

    /// Reads what [`encode`](Self::encode) writes.
    ///
    /// # Errors
    /// If the header is malformed, or the body has another length than those of acknowledgements.
    pub fn decode(bytes: &[u8; CELL_PAYLOAD]) -> Result<Self, DecodeError> {
        let header = RelayHeader::decode(bytes)?;
        let body = &bytes[RELAY_HEADER + CELL_NUMBER..];
        let body = body.get(..header.len.into());
        Self::read(header.number, body.ok_or(DecodeError::Length(header.len))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Payload, RawPayload};

    #[test]
    fn an_acknowledgement_comes_back_as_it_was_written() {
        let ack = CellAck {
            next: CellSeq::of(0x0102_0304),
            window: 2105,
            arrived: [(7, 9), (2, 5), (0, 0)],
            answered: 0x0506,
            attempt: 3,
        };
        let payload = RawPayload::acknowledgement(&ack);
        assert_eq!(payload.header().unwrap().command, RelayCommand::Ack);
        assert_eq!(payload.read_acknowledgement(), Ok(ack));
    }

    #[test]
    fn a_length_that_is_none_is_refused() {
        let mut bytes = [0; CELL_PAYLOAD];
        CellAck::default().encode(&mut bytes);
        for len in [16, 18] {
            bytes[9] = len;
            assert_eq!(
                CellAck::decode(&bytes),
                Err(DecodeError::Length(len.into()))
            );
        }
    }
}
