//! What travels between two endpoints.

use hopflow_units::{Bytes, Instant};

use crate::ranges::Range;

/// Most SACK blocks that fit beside timestamps (RFC 2018, section 3).
pub(crate) const MAX_SACK_BLOCKS: usize = 3;

/// IPv4 and TCP headers without options.
const BASE_HEADER: u64 = 40;
/// The timestamps option with its padding (RFC 7323, appendix A).
const TIMESTAMPS: u64 = 12;
/// The other options of a SYN: maximum segment size, SACK permitted, window scale, padding.
const SYN_OPTIONS: u64 = 8;

/// What a segment is besides its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    pub(crate) const SYN: Self = Self(1);
    pub(crate) const ACK: Self = Self(2);
    pub(crate) const FIN: Self = Self(4);
    /// Asks for an acknowledgement; stands for the out-of-window segment that Linux probes with.
    pub(crate) const PROBE: Self = Self(8);
    /// Nothing was left to send behind the segment.
    pub(crate) const PUSH: Self = Self(16);

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Ranges above the cumulative acknowledgement that have arrived (RFC 2018), newest first.
///
/// Kept relative to the acknowledgement: half the size, and a segment is copied often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    pub(crate) const fn len(&self) -> usize {
        self.count as usize
    }

    /// Appends a block above `ack`; one block too many is left out.
    pub(crate) fn push(&mut self, ack: u64, block: Range) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = ((block.start - ack) as u32, (block.end - ack) as u32);
            self.count += 1;
        }
    }

    /// The blocks as offsets, given the segment's acknowledgement.
    pub(crate) fn ranges(&self, ack: u64) -> impl Iterator<Item = Range> {
        self.blocks[..self.len()]
            .iter()
            .map(move |(start, end)| Range::new(ack + u64::from(*start), ack + u64::from(*end)))
    }
}

/// A TCP segment without its bytes.
///
/// The driver carries the content beside it: [`payload`](Self::payload) bytes of the sender's
/// stream from [`offset`](Self::offset) on. Offsets are 64 bits wide and never wrap; SYN takes no
/// sequence number, FIN takes one behind the last byte. Timestamps are exact, where Linux's tick
/// in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub(crate) seq: u64,
    pub(crate) ack: u64,
    /// When the segment was sent (RFC 7323, `TSval`).
    pub(crate) timestamp: Instant,
    /// The timestamp that the other side is to measure by (RFC 7323, `TSecr`).
    pub(crate) echo: Instant,
    pub(crate) len: u32,
    pub(crate) window: u32,
    pub(crate) sack: SackBlocks,
    pub(crate) flags: Flags,
}

impl Segment {
    /// A segment with data, as its receiver is to see it, for drivers that carry segments in a form
    /// of their own. The timestamp is opaque to the receiver: any number does that grows with every
    /// transmission and by which the sender knows it again.
    pub fn with_data(offset: Bytes, len: Bytes, timestamp: Instant) -> Self {
        Self {
            seq: offset.get(),
            timestamp,
            len: len.get() as u32,
            ..Self::bare(Flags::default())
        }
    }

    /// A segment that acknowledges all below `next` and echoes the timestamp of the segment that it
    /// answers, as the sender of the data is to see it.
    pub fn acknowledging(next: Bytes, window: Bytes, echo: Instant) -> Self {
        Self {
            ack: next.get(),
            echo,
            window: window.get().min(u64::from(u32::MAX)) as u32,
            ..Self::bare(Flags::ACK)
        }
    }

    /// The same with one more range that has arrived, above what is acknowledged. A fourth range is
    /// left out.
    #[must_use]
    pub fn and_arrived(mut self, start: Bytes, end: Bytes) -> Self {
        self.sack.push(self.ack, Range::new(start.get(), end.get()));
        self
    }

    /// A segment without data that asks for an acknowledgement.
    pub fn asking() -> Self {
        Self::bare(Flags::PROBE)
    }

    fn bare(flags: Flags) -> Self {
        Self {
            seq: 0,
            ack: 0,
            timestamp: Instant::ZERO,
            echo: Instant::ZERO,
            len: 0,
            window: 0,
            sack: SackBlocks::default(),
            flags,
        }
    }

    /// The segment's own timestamp: when it was sent.
    pub const fn timestamp(&self) -> Instant {
        self.timestamp
    }

    /// The timestamp of the segment that this one answers.
    pub const fn echo(&self) -> Instant {
        self.echo
    }

    /// Bytes that the other side may send beyond what is acknowledged.
    pub const fn window(&self) -> Bytes {
        Bytes::new(self.window as u64)
    }

    /// Ranges above what is acknowledged that have arrived, newest first: where they start and end.
    pub fn arrived(&self) -> impl Iterator<Item = (Bytes, Bytes)> {
        self.sack
            .ranges(self.ack)
            .map(|range| (Bytes::new(range.start), Bytes::new(range.end)))
    }

    /// Bytes on the wire from the IPv4 header on, without the link layer's framing.
    pub fn wire_len(&self) -> Bytes {
        let sack = match self.sack.len() as u64 {
            0 => 0,
            blocks => 4 + 8 * blocks,
        };
        let syn = if self.is_syn() { SYN_OPTIONS } else { 0 };
        Bytes::new(BASE_HEADER + TIMESTAMPS + sack + syn + u64::from(self.len))
    }

    /// Bytes of the sender's stream that the segment carries.
    pub const fn payload(&self) -> Bytes {
        Bytes::new(self.len as u64)
    }

    /// Where in the sender's stream the payload starts.
    pub const fn offset(&self) -> Bytes {
        Bytes::new(self.seq)
    }

    /// Everything below this offset of the receiver's own stream has arrived at the other side.
    pub const fn acknowledged(&self) -> Bytes {
        Bytes::new(self.ack)
    }

    /// Whether the segment opens the connection.
    pub const fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    /// Whether the segment acknowledges; all but the first one of a connection do.
    pub const fn is_ack(&self) -> bool {
        self.flags.has(Flags::ACK)
    }

    /// Whether nothing was left to send behind the segment.
    pub const fn is_push(&self) -> bool {
        self.flags.has(Flags::PUSH)
    }

    /// Whether the sender's stream ends behind the segment.
    pub const fn is_fin(&self) -> bool {
        self.flags.has(Flags::FIN)
    }

    /// The sequence numbers that the segment takes: its payload and FIN.
    pub(crate) const fn range(&self) -> Range {
        Range::new(self.seq, self.seq + self.len as u64 + self.is_fin() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare() -> Segment {
        Segment {
            seq: 0,
            ack: 100,
            timestamp: Instant::ZERO,
            echo: Instant::ZERO,
            len: 0,
            window: 0,
            sack: SackBlocks::default(),
            flags: Flags::ACK,
        }
    }

    #[test]
    fn a_full_segment_fills_an_ethernet_frame() {
        let full = Segment {
            len: 1448,
            ..bare()
        };
        assert_eq!(full.wire_len(), Bytes::new(1500));
    }

    #[test]
    fn headers_are_those_of_linux() {
        assert_eq!(bare().wire_len(), Bytes::new(52));
        let syn = Segment {
            flags: Flags::SYN,
            ..bare()
        };
        assert_eq!(syn.wire_len(), Bytes::new(60));
        let mut dup = bare();
        dup.sack.push(100, Range::new(200, 300));
        assert_eq!(dup.wire_len(), Bytes::new(64));
        assert_eq!(
            dup.sack.ranges(100).collect::<Vec<_>>(),
            [Range::new(200, 300)]
        );
    }

    #[test]
    fn a_segment_is_small() {
        assert!(size_of::<Segment>() <= 80, "{}", size_of::<Segment>());
    }
}
