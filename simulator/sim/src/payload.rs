//! What simulated cells carry.

use hopflow_units::{Bytes, Instant, StreamId};
use hopflow_wire::{
    CELL_PAYLOAD, CellAck, CellSeq, DecodeError, Payload, RelayCommand, RelayHeader,
};

/// A payload that stands for real bytes: the header, the offset of the data in its stream, and the
/// time of its packaging.
///
/// An acknowledgement keeps its content in the same fields, so that cells stay small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Simulated {
    command: RelayCommand,
    /// Of an acknowledgement the transmission that it answers.
    attempt: u8,
    /// The stream; of an acknowledgement, which is of none, the cell that it answers.
    stream: StreamId,
    len: u16,
    /// The window of an acknowledgement; of data the cell's mark.
    window: u16,
    number: u32,
    /// The stream offset of the first byte; of an acknowledgement the third range.
    offset: u32,
    /// When the data was packaged, in nanoseconds; of an acknowledgement the first two ranges.
    packaged: u64,
}

/// Application data that waits to be packaged: only its place in the stream matters, as offsets
/// modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataOffset {
    next: u32,
    /// Behind the last byte, as far as writers said how much they wrote.
    end: u32,
    /// Whether the cell with the last byte gets a mark.
    followed: bool,
}

impl DataOffset {
    /// So much data; of what is followed the last cell gets a mark.
    pub(crate) const fn of(len: Bytes, followed: bool) -> Self {
        Self {
            next: 0,
            end: len.get() as u32,
            followed,
        }
    }
}

impl Simulated {
    /// The stream offset of the first byte, modulo 2^32.
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Application bytes in the cell.
    pub const fn len(&self) -> u16 {
        self.len
    }

    /// Whether the cell carries no application data.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream offset behind the last byte, modulo 2^32.
    pub(crate) const fn end(&self) -> u32 {
        self.offset.wrapping_add(self.len as u32)
    }

    /// The mark of a cell of data by which recorders follow it: [`FIRST_MARK`](Self::FIRST_MARK) from
    /// its packaging on, then that of its latest transmission; 0 if it is not followed.
    pub(crate) const fn mark(&self) -> u16 {
        if self.is_empty() { 0 } else { self.window }
    }

    /// Gives a cell that is followed another mark.
    pub(crate) const fn set_mark(&mut self, mark: u16) {
        self.window = mark;
    }

    /// The mark of a cell that has not left its source.
    pub(crate) const FIRST_MARK: u16 = 1;

    /// When the data was packaged into the cell.
    pub const fn packaged(&self) -> Instant {
        Instant::from_nanos(self.packaged)
    }
}

impl Simulated {
    const fn new(header: RelayHeader, offset: u32, packaged: Instant) -> Self {
        Self {
            command: header.command,
            attempt: 0,
            stream: header.stream,
            len: header.len,
            window: 0,
            number: header.number,
            offset,
            packaged: packaged.as_nanos(),
        }
    }
}

impl Payload for Simulated {
    type Data = DataOffset;

    /// Adds a transfer. Users and servers write one when the one before has been delivered, so that
    /// each has a last cell of its own.
    fn append(data: &mut DataOffset, more: DataOffset) {
        debug_assert!(
            !data.followed || data.next == data.end,
            "a transfer is written before all of the one before is packaged"
        );
        data.end = data.end.wrapping_add(more.end);
        data.followed = more.followed;
    }

    #[inline]
    fn cut(header: RelayHeader, next: &mut DataOffset, now: Instant) -> Self {
        let offset = next.next;
        next.next = offset.wrapping_add(u32::from(header.len));
        let last = next.followed && next.next == next.end;
        Self {
            window: if last { Self::FIRST_MARK } else { 0 },
            ..Self::new(header, offset, now)
        }
    }

    fn control(header: RelayHeader, now: Instant) -> Self {
        Self::new(header, 0, now)
    }

    #[inline]
    fn header(&self) -> Result<RelayHeader, DecodeError> {
        let of_circuit = self.command == RelayCommand::Ack;
        Ok(RelayHeader {
            command: self.command,
            stream: if of_circuit {
                StreamId::CIRCUIT
            } else {
                self.stream
            },
            len: self.len,
            number: self.number,
        })
    }

    fn acknowledgement(ack: &CellAck) -> Self {
        let [first, second, third] = ack
            .arrived
            .map(|(start, end)| u32::from(start) << 16 | u32::from(end));
        Self {
            command: RelayCommand::Ack,
            attempt: ack.attempt,
            stream: StreamId::new(ack.answered),
            len: 0,
            window: ack.window,
            number: ack.next.to_wire(),
            offset: third,
            packaged: u64::from(first) << 32 | u64::from(second),
        }
    }

    fn read_acknowledgement(&self) -> Result<CellAck, DecodeError> {
        let ranges = [
            (self.packaged >> 32) as u32,
            self.packaged as u32,
            self.offset,
        ];
        Ok(CellAck {
            next: CellSeq::from_wire(self.number),
            window: self.window,
            arrived: ranges.map(|range| ((range >> 16) as u16, range as u16)),
            answered: self.stream.get(),
            attempt: self.attempt,
        })
    }

    fn write(&self, out: &mut [u8; CELL_PAYLOAD]) {
        let header = RelayHeader {
            command: self.command,
            stream: self.stream,
            len: self.len,
            number: self.number,
        };
        let used = header.encode(out);
        out[used..].fill(0);
        if let (RelayCommand::Ack, Ok(ack)) = (self.command, self.read_acknowledgement()) {
            ack.encode(out);
        }
    }

    /// Reads the header; offset, time of packaging and mark do not travel.
    fn read(bytes: &[u8; CELL_PAYLOAD]) -> Self {
        let none = RelayHeader::control(RelayCommand::End, StreamId::CIRCUIT);
        let header = RelayHeader::decode(bytes).unwrap_or(none);
        match (header.command, CellAck::decode(bytes)) {
            (RelayCommand::Ack, Ok(ack)) => Self::acknowledgement(&ack),
            _ => Self::new(header, 0, Instant::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cell_of_each_transfer_has_a_mark() {
        let mut data = DataOffset::default();
        let mut marks = Vec::new();
        for lens in [[498, 2], [1, 0]] {
            let len = Bytes::new(lens.iter().map(|len| u64::from(*len)).sum());
            Simulated::append(&mut data, DataOffset::of(len, true));
            for len in lens.into_iter().filter(|len| *len > 0) {
                let mut header = RelayHeader::control(RelayCommand::Data, StreamId::new(1));
                header.len = len;
                marks.push(Simulated::cut(header, &mut data, Instant::ZERO).mark());
            }
        }
        assert_eq!(marks, [0, Simulated::FIRST_MARK, Simulated::FIRST_MARK]);
    }

    #[test]
    fn an_acknowledgement_fits_into_a_cell_of_data() {
        assert_eq!(size_of::<Simulated>(), 24);
        let ack = CellAck {
            next: CellSeq::of(77),
            window: 9,
            arrived: [(5, 6), (2, 4), (u16::MAX - 1, u16::MAX)],
            answered: u16::MAX,
            attempt: 127,
        };
        let cell = Simulated::acknowledgement(&ack);
        assert!(cell.is_empty());
        assert_eq!(cell.header().unwrap().stream, StreamId::CIRCUIT);
        assert_eq!(cell.read_acknowledgement(), Ok(ack));
        let mut bytes = [0; CELL_PAYLOAD];
        cell.write(&mut bytes);
        assert_eq!(Simulated::read(&bytes), cell);
    }
}
