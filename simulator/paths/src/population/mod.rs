//! The relays that paths are chosen from, with what the choice depends on.

mod apportion;
mod builtin;
mod error;
mod flags;
mod reconstruct;
mod scale;
mod table;
mod weights;

use hopflow_units::Rate;

pub use error::PopulationError;
pub use flags::{Flags, Position};
pub use weights::BandwidthWeights;

use crate::Relay;

/// A relay with what path selection wants to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PopulationRelay {
    /// The relay itself.
    pub relay: Relay,
    /// Which positions it may take.
    pub flags: Flags,
    /// How often it is chosen, in comparison with others of its flags: the consensus weight.
    ///
    /// The unit does not matter, as long as all relays have the same.
    pub weight: u64,
    /// The family, if its operator declared one: no two relays of a family are in one path.
    pub family: Option<u32>,
    /// The upper 16 bits of its IPv4 address, if known: no two relays of such a network are in
    /// one path.
    pub network: Option<u16>,
}

impl PopulationRelay {
    /// The flags and the weight.
    pub(crate) const fn share(&self) -> (Flags, u64) {
        (self.flags, self.weight)
    }
}

/// All relays of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    /// The relays; paths are indices into them.
    pub relays: Vec<PopulationRelay>,
    /// How often a relay is chosen for a position it shares with others of other flags.
    pub weights: BandwidthWeights,
}

impl Population {
    /// A network of these relays, whose bandwidth weights balance the load over the positions.
    pub fn new(relays: Vec<PopulationRelay>) -> Self {
        let weights = BandwidthWeights::balancing(&relays.iter().map(PopulationRelay::share));
        Self { relays, weights }
    }

    /// The same relays, with no consensus weight above `cap`, and bandwidth weights to match.
    ///
    /// Weights must be in bytes per second for this. Tor clients capped the bandwidth that a
    /// relay advertised at 10 MB/s where no authority had measured it (path-spec, "Computing
    /// consensus bandwidth": `MAX_BELIEVABLE_BANDWIDTH`).
    #[must_use]
    pub fn with_weight_cap(mut self, cap: Rate) -> Self {
        for relay in &mut self.relays {
            relay.weight = relay.weight.min(cap.bytes_per_sec());
        }
        Self::new(self.relays)
    }
}

#[cfg(test)]
mod tests;
