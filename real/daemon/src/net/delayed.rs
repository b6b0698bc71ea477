//! The emulated link for connections: bytes that have arrived are held back.

use std::collections::VecDeque;

use hopflow_netem::LinkConfig;
use hopflow_units::{Bytes, Duration, Instant, Rate};

/// Bytes of a TCP segment on an Ethernet.
const SEGMENT: usize = 1448;

/// Bytes on their way over two access links, which the kernel has brought already.
///
/// The kernel's own congestion control sees the loopback device, so that its slow start takes no
/// time: what is emulated is rate and delay, not loss.
#[derive(Debug)]
pub(super) struct Delayed {
    delay: Duration,
    rate: Option<Rate>,
    free_at: Instant,
    under_way: VecDeque<(Instant, Vec<u8>)>,
}

impl Delayed {
    /// The way that a link's two directions make up together: the sender's and ours are alike.
    pub(super) fn new(link: &LinkConfig) -> Self {
        Self {
            delay: link.delay.saturating_mul(2),
            rate: link.rate,
            free_at: Instant::ZERO,
            under_way: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, now: Instant, bytes: &[u8]) {
        self.free_at = self.free_at.max(now);
        let Some(rate) = self.rate else {
            let arrival = self.free_at + self.delay;
            return self.under_way.push_back((arrival, bytes.to_vec()));
        };
        // Segment by segment, as the first of many arrives long before the last.
        for segment in bytes.chunks(SEGMENT) {
            self.free_at += rate.time_for(Bytes::new(segment.len() as u64));
            self.under_way
                .push_back((self.free_at + self.delay, segment.to_vec()));
        }
    }

    /// Bytes that have arrived by `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (at, _) = self.under_way.front()?;
        if *at > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, bytes)| bytes)
    }

    /// When the next bytes arrive.
    pub(super) fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(at, _)| *at)
    }
}
