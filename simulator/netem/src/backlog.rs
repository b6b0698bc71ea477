//! The queue of a drop-tail link, derived from departure times.

use std::collections::VecDeque;

use hopflow_units::Instant;

/// Packets whose serialisation has not begun, as times and sizes only.
///
/// A packet that finds the transmitter free is never noted here, so an uncongested link does no
/// work for its queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    /// When serialisation begins, and bytes; in order of time.
    starts: VecDeque<(Instant, u32)>,
    /// Bytes of all packets in `starts`.
    bytes: u64,
}

impl Backlog {
    /// Forgets the packets whose serialisation began by `now`.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant) {
        while let Some(&(start, size)) = self.starts.front() {
            if start > now {
                return;
            }
            self.bytes -= u64::from(size);
            self.starts.pop_front();
        }
        // The next one comes to where memory is in the cache.
        self.starts.clear();
    }

    /// Notes a packet of `size` bytes that waits until `start`.
    #[inline]
    pub(crate) fn push(&mut self, start: Instant, size: u32) {
        self.starts.push_back((start, size));
        self.bytes += u64::from(size);
    }

    /// Packets and bytes noted at the last [`settle`](Self::settle) and since.
    #[inline]
    pub(crate) fn load(&self) -> (usize, u64) {
        (self.starts.len(), self.bytes)
    }

    /// Packets and bytes that wait at `now`.
    pub(crate) fn load_at(&self, now: Instant) -> (usize, u64) {
        let gone = self.starts.partition_point(|&(start, _)| start <= now);
        let gone_bytes: u64 = self.starts.range(..gone).map(|s| u64::from(s.1)).sum();
        (self.starts.len() - gone, self.bytes - gone_bytes)
    }

    /// When serialisation of the next packet begins, after `now`.
    pub(crate) fn next_start(&self, now: Instant) -> Option<Instant> {
        let gone = self.starts.partition_point(|&(start, _)| start <= now);
        self.starts.get(gone).map(|&(start, _)| start)
    }
}
