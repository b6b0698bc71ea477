//! The bytes of streams, from one end to the other.

use std::collections::VecDeque;

use hopflow_overlay::StreamHandle;
use hopflow_units::{Bytes, Instant};

use crate::Counted;
use crate::rng::mix;

/// The two ends of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Where the circuits begin.
    Client,
    /// Where they end.
    Exit,
}

/// A stream of a [`Chain`](super::Chain), by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamNo(pub(super) usize);

/// What both ends of a stream wrote and read.
#[derive(Debug)]
pub(super) struct StreamState {
    number: usize,
    /// The client's and the exit's.
    pub(super) ends: [(usize, StreamHandle); 2],
    /// Bytes that each end wrote, and that arrived from it.
    written: [u64; 2],
    arrived: [u64; 2],
    last_arrival: Instant,
}

impl End {
    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Exit,
            Self::Exit => Self::Client,
        }
    }
}

impl StreamState {
    pub(super) const fn new(number: usize, ends: [(usize, StreamHandle); 2]) -> Self {
        Self {
            number,
            ends,
            written: [0; 2],
            arrived: [0; 2],
            last_arrival: Instant::ZERO,
        }
    }

    /// The byte at `offset` of what `from` sends: each stream and direction has its own pattern.
    const fn byte(&self, from: End, offset: u64) -> u8 {
        let key = ((self.number as u64) << 1 | from as u64) << 40;
        (mix(key ^ (offset / 8)) >> (8 * (offset % 8))) as u8
    }

    /// Writes `len` bytes more at an end, and returns them.
    pub(super) fn write(&mut self, from: End, len: Bytes) -> VecDeque<u8> {
        let start = self.written[from as usize];
        self.written[from as usize] += len.get();
        (start..start + len.get())
            .map(|offset| self.byte(from, offset))
            .collect()
    }

    /// Compares what arrives at an end with what the other end wrote.
    pub(super) fn take(&mut self, now: Instant, at: End, payload: &Counted) {
        let data = payload.data().expect("delivered cells can be read");
        let from = at.other();
        for &byte in data {
            let offset = self.arrived[from as usize];
            assert!(
                offset < self.written[from as usize],
                "more arrives than was written"
            );
            assert_eq!(
                byte,
                self.byte(from, offset),
                "byte {offset} of stream {} from {from:?}",
                self.number
            );
            self.arrived[from as usize] += 1;
        }
        self.last_arrival = now;
    }

    /// Bytes that `from` has sent and the other end has got.
    pub(super) const fn arrived(&self, from: End) -> u64 {
        self.arrived[from as usize]
    }

    pub(super) const fn last_arrival(&self) -> Instant {
        self.last_arrival
    }

    /// Whether everything that was written has arrived.
    pub(super) fn all_arrived(&self) -> bool {
        self.written == self.arrived
    }
}
