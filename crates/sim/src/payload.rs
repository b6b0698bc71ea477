//! What simulated cells carry.

use hopflow_units::Instant;
use hopflow_wire::{CELL_PAYLOAD, DecodeError, Payload, RelayHeader};

/// A payload that stands for real bytes: the header, and where and when the data was cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Simulated {
    header: RelayHeader,
    offset: u32,
    packaged: Instant,
}

/// Application data that waits to be cut: only its place in the stream matters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(u32);

impl Simulated {
    /// The stream offset of the first byte, modulo 2^32.
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Application bytes in the cell.
    pub const fn len(&self) -> u16 {
        self.header.len
    }

    /// Whether the cell carries no application data.
    pub const fn is_empty(&self) -> bool {
        self.header.len == 0
    }

    /// When the data was cut into the cell.
    pub const fn packaged(&self) -> Instant {
        self.packaged
    }
}

impl Payload for Simulated {
    type Data = Place;

    fn append(_: &mut Place, _: Place) {}

    #[inline]
    fn cut(header: RelayHeader, place: &mut Place, now: Instant) -> Self {
        let offset = place.0;
        place.0 = offset.wrapping_add(u32::from(header.len));
        Self {
            header,
            offset,
            packaged: now,
        }
    }

    fn control(header: RelayHeader, now: Instant) -> Self {
        Self {
            header,
            offset: 0,
            packaged: now,
        }
    }

    #[inline]
    fn header(&self) -> Result<RelayHeader, DecodeError> {
        Ok(self.header)
    }

    fn write(&self, out: &mut [u8; CELL_PAYLOAD]) {
        let used = self.header.encode(out);
        out[used..].fill(0);
    }

    /// Reads the header; where and when the data was cut does not travel.
    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self {
        let header = RelayHeader::decode(bytes).unwrap_or_else(|_| {
            RelayHeader::control(
                hopflow_wire::RelayCommand::End,
                hopflow_units::StreamId::new(0),
            )
        });
        Self {
            header,
            offset: 0,
            packaged: Instant::ZERO,
        }
    }
}
