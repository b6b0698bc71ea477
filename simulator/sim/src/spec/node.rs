//! Machines, as a specification describes them.

use hopflow_netem::{CoDelConfig, LinkConfig, QueueConfig};
use hopflow_units::{Bytes, Duration, Rate};

use super::error::SpecError;

/// An overlay node and its access link to its router.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The name in results.
    pub name: String,
    /// The access link, alike in both directions.
    pub access: AccessSpec,
    /// The token bucket; a node without one sends as fast as its access link.
    pub bucket: Option<BucketSpec>,
}

impl NodeSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let Self { name, access, .. } = self;
        for (what, share) in [("loss", access.loss), ("duplicate", access.duplicate)] {
            if !(0.0..1.0).contains(&share) {
                return Err(SpecError(format!(
                    "{what} of {name} is {share}; allowed is 0 to below 1"
                )));
            }
        }
        if !(access.stated > 0.0 && access.stated.is_finite()) {
            return Err(SpecError(format!(
                "the stated rate of {name} is {} times the rate; allowed is above 0",
                access.stated
            )));
        }
        Ok(())
    }
}

/// A full-duplex access link between a node and its router.
#[derive(Clone, Debug)]
pub struct AccessSpec {
    /// Serialisation rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Duration,
    /// The queue in front of each direction.
    pub queue: QueueSpec,
    /// Probability that a packet is lost, in each direction.
    pub loss: f64,
    /// Probability that a packet arrives twice, in each direction.
    pub duplicate: f64,
    /// Extra delay of a packet, drawn uniformly from zero to this.
    pub jitter: Duration,
    /// Whether jitter may reorder packets.
    pub reorder: bool,
    /// What the node's operator states for the rate, as a multiple of it: transports that ask for the
    /// rate are told this.
    pub stated: f64,
}

impl AccessSpec {
    /// A link that loses, doubles and delays nothing on top, whose rate is stated as it is.
    pub const fn new(rate: Rate, delay: Duration, queue: QueueSpec) -> Self {
        Self {
            rate,
            delay,
            queue,
            loss: 0.0,
            duplicate: 0.0,
            jitter: Duration::ZERO,
            reorder: false,
            stated: 1.0,
        }
    }

    /// The rate that the node's operator states.
    pub(crate) fn stated_rate(&self) -> Rate {
        let stated = (self.rate.as_f64() * self.stated).round().max(1.0);
        Rate::from_bytes_per_sec(stated as u64).unwrap_or(self.rate)
    }
}

impl From<&AccessSpec> for LinkConfig {
    /// One direction of an access link.
    fn from(spec: &AccessSpec) -> Self {
        Self {
            rate: Some(spec.rate),
            delay: spec.delay,
            queue: spec.queue.into(),
            loss: spec.loss,
            duplicate: spec.duplicate,
            jitter: spec.jitter,
            reorder: spec.reorder,
        }
    }
}

/// A queue in front of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSpec {
    /// Takes at most this many packets and drops what comes on top.
    DropTail {
        /// Packets that wait at most.
        packets: u32,
    },
    /// Controlled delay (RFC 8289) with a drop-tail limit behind it.
    CoDel {
        /// Sojourn time that is acceptable for long.
        target: Duration,
        /// Time in which the sojourn time must fall below the target once.
        interval: Duration,
        /// Packets that wait at most.
        packets: u32,
    },
}

impl From<QueueSpec> for QueueConfig {
    fn from(spec: QueueSpec) -> Self {
        match spec {
            QueueSpec::DropTail { packets } => Self::drop_tail(packets),
            QueueSpec::CoDel {
                target,
                interval,
                packets,
            } => Self {
                codel: Some(CoDelConfig { target, interval }),
                ..Self::drop_tail(packets)
            },
        }
    }
}

/// A token bucket as a node's operator sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSpec {
    /// Tokens per second.
    pub rate: Rate,
    /// Tokens that the bucket holds, and starts with; `None`: one second of the rate.
    pub depth: Option<Bytes>,
    /// Time between refills; `None`: the transport's own.
    pub interval: Option<Duration>,
    /// Whether the node pays when it reads rather than when it sends, so that data waits in its
    /// sockets. Over datagrams, which cannot be left unread, nodes pay when they send.
    pub reading: bool,
}
