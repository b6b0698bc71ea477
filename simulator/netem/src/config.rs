//! What a link is like.

use hopflow_units::{Bytes, Duration, Rate};

/// A one-way link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Serialisation rate; `None`: packets take no time to serialise and never queue.
    pub rate: Option<Rate>,
    /// Propagation delay, from the last bit sent to the last bit received.
    pub delay: Duration,
    /// The queue in front of the link.
    pub queue: QueueConfig,
    /// Probability that a packet is lost after it was serialised.
    pub loss: f64,
    /// Probability that a packet that is not lost is followed by a copy of itself.
    pub duplicate: f64,
    /// Extra delay of a packet, drawn uniformly from zero to this, both included.
    pub jitter: Duration,
    /// Whether jitter may reorder packets; otherwise it delays a packet at least until the arrival
    /// of the packet before it.
    pub reorder: bool,
}

impl LinkConfig {
    /// A link of infinite rate without impairments.
    pub const fn pure_delay(delay: Duration) -> Self {
        Self {
            rate: None,
            delay,
            queue: QueueConfig::UNLIMITED,
            loss: 0.0,
            duplicate: 0.0,
            jitter: Duration::ZERO,
            reorder: false,
        }
    }

    /// A link of finite rate with an unlimited queue and without impairments.
    pub const fn with_rate(rate: Rate, delay: Duration) -> Self {
        let mut config = Self::pure_delay(delay);
        config.rate = Some(rate);
        config
    }
}

/// The queue in front of a link: packets whose serialisation has not begun.
///
/// A packet that finds the transmitter free does not queue; another one that would exceed a limit
/// is dropped (drop-tail).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Packets that wait at most.
    pub packets: u32,
    /// Bytes that wait at most.
    pub bytes: Bytes,
    /// Active queue management next to the limits.
    pub codel: Option<CoDelConfig>,
}

impl QueueConfig {
    /// A queue that takes everything.
    pub const UNLIMITED: Self = Self {
        packets: u32::MAX,
        bytes: Bytes::MAX,
        codel: None,
    };

    /// A drop-tail queue of at most `packets` packets.
    pub const fn drop_tail(packets: u32) -> Self {
        Self {
            packets,
            ..Self::UNLIMITED
        }
    }
}

/// Controlled delay (RFC 8289): drops from the head of a queue that stands for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// Sojourn time that is acceptable for long (section 4.4).
    pub target: Duration,
    /// Time in which the sojourn time must fall below the target once (section 4.3).
    pub interval: Duration,
}

impl Default for CoDelConfig {
    /// A target of 5 ms and an interval of 100 ms (RFC 8289, sections 4.3 and 4.4).
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
        }
    }
}
