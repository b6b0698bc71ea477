//! Nodes that pay for what they read: a relay whose bucket is empty leaves data in its sockets, so
//! that it piles up there and at the relays before it (tor's `RelayBandwidthRate`;
//! `connection_bucket_read_limit` in tor 0.4.9, `connection.c`).

use std::collections::VecDeque;

use hopflow_overlay::{BucketConfig, TokenBucket};
use hopflow_units::{Bytes, Instant};

use super::streams::ConnectionEnd;
use super::{Source, World};

/// Bytes that one read takes at least and at most, if there are tokens: 4 and 32 cells.
const SHARE: (i64, i64) = (4 * 514, 32 * 514);

/// A node's bucket for reading, and who waits for it.
#[derive(Debug)]
pub(super) struct Reading {
    bucket: TokenBucket,
    /// Connections with data that was not read, in the order of their turns.
    waiting: VecDeque<ConnectionEnd>,
    /// When there will be tokens, if somebody waits for them.
    pub(super) ready_at: Option<Instant>,
}

impl Reading {
    pub(super) fn new(config: BucketConfig) -> Self {
        Self {
            bucket: TokenBucket::new(config),
            waiting: VecDeque::new(),
            ready_at: None,
        }
    }

    /// What the next read may take; nothing while there are no tokens.
    fn share(&mut self, now: Instant) -> Bytes {
        let tokens = self.bucket.tokens(now);
        let share = (tokens / 8).clamp(SHARE.0, SHARE.1).min(tokens);
        Bytes::new(share.max(0) as u64)
    }
}

impl World {
    /// Lets a connection with data wait for its turn to be read.
    pub(super) fn await_reading(&mut self, node: usize, end: ConnectionEnd) {
        if let Some(reading) = &mut self.nodes[node].reading
            && !reading.waiting.contains(&end)
        {
            reading.waiting.push_back(end);
        }
        self.serve_reading(node);
    }

    /// Reads from the connections that wait, in turn, as long as there are tokens.
    pub(super) fn serve_reading(&mut self, node: usize) {
        let now = self.now;
        while let Some(reading) = &mut self.nodes[node].reading
            && let Some(&end) = reading.waiting.front()
        {
            let share = reading.share(now);
            if share.is_zero() {
                let at = reading.bucket.ready_at(Bytes::new(1));
                reading.ready_at = Some(at);
                let slot = self.slot(Source::Node(node));
                let next = self.agenda.time_of(slot).map_or(at, |time| time.min(at));
                return self.agenda.set(slot, Some(next));
            }
            reading.waiting.pop_front();
            let read = self.read(end, share);
            if let Some(reading) = &mut self.nodes[node].reading {
                reading.bucket.pay(read);
                if read == share {
                    reading.waiting.push_back(end);
                }
            }
        }
    }
}
