//! What packets hold.

use hopflow_units::Bytes;
use hopflow_wire::{Carrier, Frame, Frames};

use crate::Counted;

/// The frames of a packet.
#[derive(Clone, Debug)]
pub(super) enum Cargo {
    Values(Vec<Frame<Counted>>),
    Encoded(Vec<u8>),
}

impl Cargo {
    /// Encodes frames into a packet of `len` bytes; checks the length that each frame says.
    pub(super) fn encode(frames: &[Frame<Counted>], carrier: Carrier, len: Bytes) -> Self {
        let mut bytes = Vec::new();
        for frame in frames {
            let start = bytes.len() as u64;
            frame.encode(carrier, &mut bytes);
            assert_eq!(
                bytes.len() as u64 - start,
                frame.wire_len(carrier).get(),
                "a frame has another length than promised"
            );
        }
        assert!(bytes.len() as u64 <= len.get());
        Self::Encoded(bytes)
    }

    pub(super) fn into_frames(self, carrier: Carrier) -> Vec<Frame<Counted>> {
        match self {
            Self::Values(frames) => frames,
            Self::Encoded(bytes) => Frames::new(&bytes, carrier)
                .map(|frame| frame.expect("our own encoding decodes"))
                .collect(),
        }
    }
}
