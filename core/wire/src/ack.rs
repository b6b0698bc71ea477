//! What the ends of a circuit tell each other about arrived cells, where they repair themselves.

use hopflow_units::StreamId;

use crate::{
    CELL_NUMBER, CELL_PAYLOAD, CellSeq, DecodeError, RELAY_HEADER, RelayCommand, RelayHeader,
};

/// Where the body starts: behind the header and the number.
const BODY: usize = RELAY_HEADER + CELL_NUMBER;

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
}

impl CellAck {
    /// Bytes behind the number.
    const LEN: usize = 14;

    /// Writes the relay header and what follows it.
    pub fn encode(&self, out: &mut [u8; CELL_PAYLOAD]) {
        let header = RelayHeader {
            len: Self::LEN as u16,
            number: self.next.to_wire(),
            ..RelayHeader::control(RelayCommand::Ack, StreamId::CIRCUIT)
        };
        header.encode(out);
        let edges = self.arrived.iter().flat_map(|(start, end)| [*start, *end]);
        let words = std::iter::once(self.window).chain(edges);
        for (place, word) in out[BODY..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }

    /// Reads what stands behind a relay header with this command.
    ///
    /// # Errors
    /// If the header is malformed or shorter than an acknowledgement.
    pub fn decode(bytes: &[u8; CELL_PAYLOAD]) -> Result<Self, DecodeError> {
        let header = RelayHeader::decode(bytes)?;
        if usize::from(header.len) != Self::LEN {
            return Err(DecodeError::Length(header.len));
        }
        let word = |n: usize| u16::from_be_bytes([bytes[BODY + 2 * n], bytes[BODY + 2 * n + 1]]);
        Ok(Self {
            next: CellSeq::from_wire(header.number),
            window: word(0),
            arrived: [(word(1), word(2)), (word(3), word(4)), (word(5), word(6))],
        })
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
        };
        let payload = RawPayload::acknowledgement(&ack);
        assert_eq!(payload.header().unwrap().command, RelayCommand::Ack);
        assert_eq!(payload.read_acknowledgement(), Ok(ack));
    }

    #[test]
    fn a_length_that_is_none_is_refused() {
        let mut bytes = [0; CELL_PAYLOAD];
        CellAck::default().encode(&mut bytes);
        bytes[9] = 13;
        assert_eq!(CellAck::decode(&bytes), Err(DecodeError::Length(13)));
    }
}
