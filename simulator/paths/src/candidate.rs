//! What path selection asks of a relay.

use crate::population::{Flags, PopulationRelay};

/// A relay, as far as path selection depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which positions it may take.
    pub flags: Flags,
    /// How often it is chosen, in comparison with others of its flags.
    pub weight: u64,
    /// The family, if its operator declared one: no two relays of a family are in one path.
    pub family: Option<u32>,
    /// The network that its address is in, if that says who runs it: the upper 16 bits of an IPv4
    /// address or the upper 32 of an IPv6 address. No two relays of a network are in one path. The
    /// addresses of all relays are of one family here.
    pub network: Option<u32>,
    /// The same of an address of the other family, if it has one.
    pub other_network: Option<u32>,
}

impl Candidate {
    /// Whether the two must not be in one path (path-spec, "Path selection and constraints"),
    /// apart from being the same relay.
    pub(crate) fn is_kin_of(&self, other: &Self) -> bool {
        [
            (self.family, other.family),
            (self.network, other.network),
            (self.other_network, other.other_network),
        ]
        .into_iter()
        .any(|(own, others)| own.is_some() && own == others)
    }
}

impl From<&PopulationRelay> for Candidate {
    fn from(relay: &PopulationRelay) -> Self {
        Self {
            flags: relay.flags,
            weight: relay.weight,
            family: relay.family,
            network: relay.network.map(u32::from),
            other_network: None,
        }
    }
}
