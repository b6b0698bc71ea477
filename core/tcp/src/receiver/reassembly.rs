//! The reassembly queue: which offsets have arrived, and how far they were read.

use crate::ranges::{Range, RangeSet};

/// Where the data of a segment went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// None of it is new, or none of it fits the window.
    Nothing,
    /// Above a hole; this is the contiguous range that it belongs to.
    OutOfOrder(Range),
    /// At the end of what had arrived in order; `hole`: other data waited above a hole.
    InOrder { hole: bool },
}

/// What has arrived of the other side's stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// Everything below has arrived (RFC 9293, `RCV.NXT`).
    nxt: u64,
    /// Everything below was read.
    read: u64,
    /// What has arrived above a hole.
    early: RangeSet,
    /// Offset of FIN, once known.
    fin: Option<u64>,
}

impl Reassembly {
    pub(super) const fn nxt(&self) -> u64 {
        self.nxt
    }

    pub(super) const fn read_up_to(&self) -> u64 {
        self.read
    }

    /// Bytes that have arrived in order and were not read.
    pub(super) fn readable(&self) -> u64 {
        self.fin.map_or(self.nxt, |fin| fin.min(self.nxt)) - self.read
    }

    /// Whether everything up to FIN has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Takes out `len` bytes, at most what is readable.
    pub(super) fn read(&mut self, len: u64) {
        self.read += len.min(self.readable());
    }

    /// Notes that the stream ends with FIN at this offset.
    pub(super) const fn end_at(&mut self, fin: u64) {
        self.fin = Some(fin);
    }

    /// Takes in what arrived; it may be empty or overlap with what is there.
    pub(super) fn insert(&mut self, range: Range) -> Placement {
        let range = Range::new(range.start.max(self.nxt), range.end);
        if range.start >= range.end {
            Placement::Nothing
        } else if range.start > self.nxt {
            Placement::OutOfOrder(self.early.insert(range))
        } else {
            self.advance(range.end)
        }
    }

    fn advance(&mut self, end: u64) -> Placement {
        self.nxt = end;
        let hole = !self.early.is_empty();
        if hole {
            self.early.remove_below(self.nxt);
            if let Some(next) = self.early.first().filter(|r| r.start == self.nxt) {
                self.nxt = next.end;
                self.early.remove_below(self.nxt);
            }
        }
        Placement::InOrder { hole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_above_a_hole_waits_until_the_hole_is_filled() {
        let mut stream = Reassembly::default();
        let early = Range::new(10, 20);
        assert_eq!(stream.insert(early), Placement::OutOfOrder(early));
        assert_eq!((stream.nxt(), stream.readable()), (0, 0));
        let filled = stream.insert(Range::new(0, 12));
        assert_eq!(filled, Placement::InOrder { hole: true });
        assert_eq!((stream.nxt(), stream.readable()), (20, 20));
    }

    #[test]
    fn what_has_arrived_before_is_nothing_new() {
        let mut stream = Reassembly::default();
        let first = stream.insert(Range::new(0, 10));
        assert_eq!(first, Placement::InOrder { hole: false });
        assert_eq!(stream.insert(Range::new(5, 10)), Placement::Nothing);
        assert_eq!(stream.insert(Range::new(30, 10)), Placement::Nothing);
    }

    #[test]
    fn fin_ends_the_stream_and_cannot_be_read() {
        let mut stream = Reassembly::default();
        stream.end_at(10);
        assert!(!stream.is_finished());
        stream.insert(Range::new(0, 11));
        assert!(stream.is_finished());
        stream.read(99);
        assert_eq!((stream.readable(), stream.read_up_to()), (0, 10));
    }
}
