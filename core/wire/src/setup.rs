//! Set-up frames: what builds a circuit before it has queues.

use hopflow_units::CircuitId;

use crate::{CELL_PAYLOAD, DecodeError};

/// A frame that belongs to a circuit under construction. It passes no queue and no window; what
/// its body means is for the two drivers, and nodes never see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The circuit, as the two neighbours name it.
    pub circuit: CircuitId,
    /// The body, of one size whatever it says.
    pub body: Box<[u8; CELL_PAYLOAD]>,
}

impl Setup {
    /// Encoded bytes: circuit 2, type 1, body 509.
    pub const LEN: usize = 3 + CELL_PAYLOAD;
    const TYPE: u8 = 14;

    /// Appends the frame's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.circuit.get().to_be_bytes());
        out.push(Self::TYPE);
        out.extend_from_slice(&*self.body);
    }

    /// Whether a set-up frame stands at the front of `bytes`.
    pub fn leads(bytes: &[u8]) -> bool {
        bytes.get(2) == Some(&Self::TYPE)
    }

    /// Reads a set-up frame off the front of `bytes` and returns it with the bytes behind it;
    /// `None` if another frame stands there.
    ///
    /// # Errors
    /// If the bytes end within the frame. Never panics.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, &[u8])>, DecodeError> {
        let Some((&[hi, lo, kind], rest)) = bytes.split_first_chunk::<3>() else {
            return Err(DecodeError::Truncated);
        };
        if kind != Self::TYPE {
            return Ok(None);
        }
        let (body, rest) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        let setup = Self {
            circuit: CircuitId::new(u16::from_be_bytes([hi, lo])),
            body: Box::new(*body),
        };
        Ok(Some((setup, rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_up_frame_survives_and_others_are_left_alone() {
        let setup = Setup {
            circuit: CircuitId::new(0x0102),
            body: Box::new([7; CELL_PAYLOAD]),
        };
        let mut bytes = Vec::new();
        setup.encode(&mut bytes);
        assert_eq!((bytes.len(), bytes[2]), (Setup::LEN, 14));
        bytes.push(9);
        assert_eq!(Setup::decode(&bytes), Ok(Some((setup, &[9][..]))));
        assert_eq!(Setup::decode(&bytes[..511]), Err(DecodeError::Truncated));
        assert_eq!(Setup::decode(&[0, 1, 13]), Ok(None));
        assert_eq!(Setup::decode(&[0, 1]), Err(DecodeError::Truncated));
    }
}
