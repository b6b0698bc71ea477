//! What links in memory are like.

use hopflow_units::{Bytes, Duration, Instant, Rate};

use crate::Rng;

/// A link's properties, alike in both directions.
///
/// A datagram link delays, loses, repeats and reorders. A stream keeps bytes and order, and takes
/// only as many bytes as its buffer has room for.
#[derive(Clone, Copy, Debug)]
pub struct Medium {
    /// Time from one end to the other.
    pub delay: Duration,
    /// Extra delay of each datagram, up to this: reorders.
    pub jitter: Duration,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that a datagram arrives twice.
    pub duplicate: f64,
    /// Bytes per second; what comes faster waits. `None`: any number.
    pub rate: Option<Rate>,
    /// Bytes that a stream holds between writing and acknowledgement.
    pub buffer: Bytes,
}

impl Medium {
    /// A link that only delays.
    pub const fn delay(delay: Duration) -> Self {
        Self {
            delay,
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            rate: None,
            buffer: Bytes::new(1 << 18),
        }
    }

    /// The same link with a limited rate.
    pub const fn with_rate(self, rate: Rate) -> Self {
        Self {
            rate: Some(rate),
            ..self
        }
    }

    /// The same link, harmed: loses, repeats and reorders datagrams.
    pub const fn harmed(self, loss: f64, duplicate: f64, jitter: Duration) -> Self {
        Self {
            jitter,
            loss,
            duplicate,
            ..self
        }
    }

    /// The same link with a smaller stream buffer.
    pub const fn with_buffer(self, buffer: Bytes) -> Self {
        Self { buffer, ..self }
    }
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    medium: Medium,
    /// Where it leads: a node and its name for the link.
    pub(crate) to: (usize, hopflow_units::LinkId),
    /// Whether it carries a stream.
    stream: bool,
    busy_until: Instant,
    last_arrival: Instant,
    /// Bytes of a stream that are not acknowledged.
    filled: Bytes,
}

impl Pipe {
    pub(crate) const fn new(
        medium: Medium,
        to: (usize, hopflow_units::LinkId),
        stream: bool,
    ) -> Self {
        Self {
            medium,
            to,
            stream,
            busy_until: Instant::ZERO,
            last_arrival: Instant::ZERO,
            filled: Bytes::ZERO,
        }
    }

    pub(crate) const fn is_stream(&self) -> bool {
        self.stream
    }

    /// Bytes that a stream takes at present.
    pub(crate) const fn room(&self) -> Bytes {
        self.medium.buffer.saturating_sub(self.filled)
    }

    /// When a packet or write of `len` bytes arrives: never, once or twice.
    pub(crate) fn send(&mut self, now: Instant, len: Bytes, rng: &mut Rng) -> Vec<Instant> {
        let Medium {
            delay,
            jitter,
            loss,
            duplicate,
            rate,
            ..
        } = self.medium;
        self.busy_until = self.busy_until.max(now);
        if let Some(rate) = rate {
            self.busy_until += rate.time_for(len);
        }
        let arrival = self.busy_until + delay;
        if self.stream {
            self.filled += len;
            self.last_arrival = self.last_arrival.max(arrival);
            return vec![self.last_arrival];
        }
        if rng.chance(loss) {
            return Vec::new();
        }
        let copies = 1 + usize::from(rng.chance(duplicate));
        (0..copies).map(|_| arrival + rng.time(jitter)).collect()
    }

    /// Gives back the room of `len` bytes, and tells when the sender learns of it.
    pub(crate) fn acknowledge(&mut self, now: Instant, len: Bytes) -> Instant {
        self.filled = self.filled.saturating_sub(len);
        now + self.medium.delay
    }
}
