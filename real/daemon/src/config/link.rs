//! A link of testbeds, emulated where there is none that is slow enough.

use std::fmt;
use std::str::FromStr;

use hopflow_config::packets;
use hopflow_netem::{LinkConfig, QueueConfig};
use hopflow_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

use super::require;
use crate::{InputError, read};

/// A node's access link: every packet that the node sends passes it, in the simulator's model and
/// in real time, before it reaches the socket; every packet that the node receives passes another
/// one that is alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct EmulatedLink {
    /// Rate at which packets are serialised; unlimited by default.
    #[serde(
        with = "read::as_optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub rate: Option<Rate>,
    /// One-way propagation delay; none by default.
    #[serde(with = "read::as_text")]
    pub delay: Duration,
    /// The queue in front of the link; "100 packets" by default.
    #[serde(with = "read::as_text")]
    pub queue: Queue,
    /// Probability that a packet is lost; 0 by default.
    pub loss: f64,
    /// Probability that a packet arrives twice; 0 by default.
    pub duplicate: f64,
    /// Extra delay of a packet, drawn uniformly from zero to this; none by default.
    #[serde(with = "read::as_text")]
    pub jitter: Duration,
    /// Whether jitter may reorder packets; false by default.
    pub reorder: bool,
}

/// A drop-tail queue, by the number of packets that wait at most; written as `100 packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub u32);

impl Default for Queue {
    fn default() -> Self {
        Self(100)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.0)
    }
}

impl FromStr for Queue {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        packets(text).map(Self)
    }
}

impl EmulatedLink {
    /// The link as the simulator models it.
    pub const fn model(&self) -> LinkConfig {
        LinkConfig {
            rate: self.rate,
            delay: self.delay,
            queue: QueueConfig::drop_tail(self.queue.0),
            loss: self.loss,
            duplicate: self.duplicate,
            jitter: self.jitter,
            reorder: self.reorder,
        }
    }

    pub(super) fn check(&self) -> Result<(), InputError> {
        let allowed = "a probability from 0 to below 1";
        for (key, value) in [("link.loss", self.loss), ("link.duplicate", self.duplicate)] {
            require((0.0..1.0).contains(&value), key, value, allowed)?;
        }
        Ok(())
    }
}
