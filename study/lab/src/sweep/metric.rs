//! What is measured at each point of the design space.

use crate::scenario::{InputError, allowed};

/// A quantity by which points are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Bytes of data that all circuits deliver per second.
    Goodput,
    /// Those of bulk users' circuits.
    BulkGoodput,
    /// Those of web users' circuits.
    WebGoodput,
    /// Median time to first byte of web users' downloads.
    Ttfb,
    /// Median time to last byte of the same.
    Ttlb,
    /// Mean time from the packaging of a cell to its delivery, over all cells of the run, the warm-up
    /// included.
    Latency,
    /// The share of goodput that keeps to the max-min fair rates: F, over circuits whose users
    /// take all that they get (`PredicTor`, section 5).
    Fairness,
    /// Jain's index of such circuits at the same bottleneck, mean over bottlenecks.
    Jain,
    /// Packets that links dropped and cells that relays dropped, for a thousand cells sent, in the whole
    /// run, the warm-up included.
    Loss,
    /// What a TCP connection of another application gets, relative to its max-min fair share.
    Friendliness,
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Large ones.
    Higher,
    /// Small ones.
    Lower,
}

impl Metric {
    /// All metrics, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Goodput,
        Self::BulkGoodput,
        Self::WebGoodput,
        Self::Ttfb,
        Self::Ttlb,
        Self::Latency,
        Self::Fairness,
        Self::Jain,
        Self::Loss,
        Self::Friendliness,
    ];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::BulkGoodput => "bulk-goodput",
            Self::WebGoodput => "web-goodput",
            Self::Ttfb => "ttfb",
            Self::Ttlb => "ttlb",
            Self::Latency => "latency",
            Self::Fairness => "fairness",
            Self::Jain => "jain",
            Self::Loss => "loss",
            Self::Friendliness => "friendliness",
        }
    }

    /// The name for readers.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Goodput => "Goodput",
            Self::BulkGoodput => "Goodput, bulk",
            Self::WebGoodput => "Goodput, web",
            Self::Ttfb => "Time to first byte, web",
            Self::Ttlb => "Time to last byte, web",
            Self::Latency => "Latency of a cell",
            Self::Fairness => "Fairness F",
            Self::Jain => "Jain’s index",
            Self::Loss => "Loss",
            Self::Friendliness => "Friendliness",
        }
    }

    /// The unit; empty for plain numbers.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Goodput | Self::BulkGoodput | Self::WebGoodput => "MB/s",
            Self::Ttfb | Self::Ttlb => "s",
            Self::Latency => "ms",
            Self::Loss => "per 1000 cells",
            Self::Fairness | Self::Jain | Self::Friendliness => "",
        }
    }

    /// Which values are better.
    pub const fn better(self) -> Better {
        match self {
            Self::Ttfb | Self::Ttlb | Self::Latency | Self::Loss => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// The metric of this name.
    ///
    /// # Errors
    /// If there is none; the error belongs to the option `--front`.
    pub fn find(name: &str) -> Result<Self, InputError> {
        let found = Self::ALL.into_iter().find(|metric| metric.name() == name);
        found.ok_or_else(|| {
            let allowed = allowed(name, Self::ALL.map(Self::name));
            InputError::at("--front", format!("\"{name}\" is unknown; {allowed}"))
        })
    }
}
