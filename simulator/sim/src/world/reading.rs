//! Nodes that pay for what they read: a relay whose bucket is empty leaves data in its sockets, so
//! that it piles up there and at the relays before it (tor's `RelayBandwidthRate`;
//! `connection_bucket_read_limit` in tor 0.4.9, `connection.c`).

use std::collections::VecDeque;

use hopflow_overlay::{BucketConfig, TokenBucket};
use hopflow_units::{Bytes, Instant};

use super::address::ConnectionEnd;

/// Bytes that one read takes at least and at most, if there are tokens: 4 and 32 cells.
const SHARE: (i64, i64) = (4 * 514, 32 * 514);

/// A node's bucket for reading, and the connections that wait for it.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    bucket: TokenBucket,
    /// Connections with unread data, in the order of their turns.
    waiting: VecDeque<ConnectionEnd>,
    /// When there will be tokens, if a connection waits for them.
    ready_at: Option<Instant>,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// A connection may be read, up to so many bytes.
    Read(ConnectionEnd, Bytes),
    /// There will be tokens at this time.
    Wait(Instant),
    /// No connection waits.
    Idle,
}

impl Reading {
    pub(crate) fn new(config: BucketConfig) -> Self {
        Self {
            bucket: TokenBucket::new(config),
            waiting: VecDeque::new(),
            ready_at: None,
        }
    }

    /// Changes the bucket. Who waits for tokens must ask again.
    pub(crate) fn set_bucket(&mut self, now: Instant, config: BucketConfig) {
        self.bucket.change(now, config);
        self.ready_at = None;
    }

    /// When there will be tokens, if a connection waits for them.
    pub(crate) const fn ready_at(&self) -> Option<Instant> {
        self.ready_at
    }

    /// Whether the wait for tokens is over; if so, forgets it.
    pub(crate) fn take_ready(&mut self, now: Instant) -> bool {
        self.ready_at.take_if(|at| *at <= now).is_some()
    }

    /// Lets a connection with data wait for its turn.
    pub(crate) fn enqueue(&mut self, end: ConnectionEnd) {
        if !self.waiting.contains(&end) {
            self.waiting.push_back(end);
        }
    }

    /// Takes the connection whose turn it is, if there are tokens.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        let Some(&end) = self.waiting.front() else {
            return Next::Idle;
        };
        let tokens = self.bucket.tokens(now);
        let share = (tokens / 8).clamp(SHARE.0, SHARE.1).min(tokens);
        if share <= 0 {
            let at = self.bucket.ready_at(Bytes::new(1));
            self.ready_at = Some(at);
            return Next::Wait(at);
        }
        self.waiting.pop_front();
        Next::Read(end, Bytes::new(share as u64))
    }

    /// Pays for what was read of a connection's share. If it used all of its share it may have
    /// more, and waits for another turn.
    pub(crate) fn pay(&mut self, end: ConnectionEnd, share: Bytes, read: Bytes) {
        self.bucket.pay(read);
        if read == share {
            self.waiting.push_back(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::{Duration, Rate};

    use super::*;

    #[test]
    fn connections_take_turns_until_there_are_no_tokens() {
        let mut reading = Reading::new(BucketConfig {
            rate: Rate::from_kilobytes_per_sec(1000),
            depth: Bytes::new(6000),
            interval: Duration::from_millis(10),
            phase: Duration::ZERO,
        });
        let [first, second] = [0, 2].map(ConnectionEnd::new);
        assert_eq!(reading.next(Instant::ZERO), Next::Idle);
        reading.enqueue(first);
        reading.enqueue(second);
        reading.enqueue(first);
        let mut order = Vec::new();
        let wait = loop {
            match reading.next(Instant::ZERO) {
                Next::Read(end, share) => {
                    order.push(end);
                    // The second connection has little data.
                    let read = if end == second {
                        Bytes::new(100)
                    } else {
                        share
                    };
                    reading.pay(end, share, read);
                }
                Next::Wait(at) => break at,
                Next::Idle => panic!("the first connection never ends"),
            }
        };
        assert_eq!(order[..3], [first, second, first]);
        assert!(order[3..].iter().all(|end| *end == first));
        assert!(!reading.take_ready(Instant::ZERO));
        assert!(reading.take_ready(wait));
        assert_eq!(reading.ready_at(), None);
    }
}
