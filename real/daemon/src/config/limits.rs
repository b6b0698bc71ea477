//! What others may make a relay hold and do.

use hopflow_engine::{Limits, Pace};
use serde::{Deserialize, Serialize};

use super::require;
use crate::InputError;

/// More would not fit into any machine's memory.
const MOST: u32 = 1_000_000;

/// What others may make a relay hold and do at most, all workers together. At a limit the network
/// that has most loses its oldest; a network is an IPv4 prefix of 24 bits or an IPv6 prefix of 48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RelayLimits {
    /// Links that others opened.
    pub links: u32,
    /// Of these, those whose handshake is not over.
    pub half_open_links: u32,
    /// Circuits through the relay.
    pub circuits: u32,
    /// Of these, those that carry no data yet.
    pub nascent_circuits: u32,
    /// How often a network may begin a circuit, in the long run; each worker counts on its own.
    pub creates_per_second: u32,
    /// How often at once after a pause.
    pub creates_burst: u32,
}

impl Default for RelayLimits {
    fn default() -> Self {
        let limits = Limits::default();
        let number = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
        Self {
            links: number(limits.links),
            half_open_links: number(limits.handshakes),
            circuits: number(limits.circuits),
            nascent_circuits: number(limits.nascent),
            creates_per_second: limits.creates.per_second,
            creates_burst: limits.creates.burst,
        }
    }
}

impl RelayLimits {
    pub(super) fn check(&self) -> Result<(), InputError> {
        for (key, value) in [
            ("limits.links", self.links),
            ("limits.half-open-links", self.half_open_links),
            ("limits.circuits", self.circuits),
            ("limits.nascent-circuits", self.nascent_circuits),
            ("limits.creates-per-second", self.creates_per_second),
            ("limits.creates-burst", self.creates_burst),
        ] {
            let fits = (1..=MOST).contains(&value);
            require(fits, key, value, "a number from 1 to 1000000")?;
        }
        Ok(())
    }

    /// The part of each of so many workers.
    pub(crate) fn share(&self, workers: usize) -> Limits {
        let whole = Limits {
            links: self.links as usize,
            handshakes: self.half_open_links as usize,
            circuits: self.circuits as usize,
            nascent: self.nascent_circuits as usize,
            creates: Pace {
                per_second: self.creates_per_second,
                burst: self.creates_burst,
            },
            ..Limits::default()
        };
        whole.share(workers)
    }
}
