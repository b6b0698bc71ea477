//! Who makes the engine hold something: networks, as far as addresses tell; and who may do so.

mod admission;
mod backlog;
mod held;
mod meter;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hopflow_channel::Fingerprint;
use hopflow_units::Instant;

pub(crate) use admission::{Admission, Asks};
pub(crate) use held::Held;
pub use meter::Meter;

/// Bits that a network's IPv4 addresses share.
const V4_BITS: u32 = 24;
/// Bits that a network's IPv6 addresses share: what providers give to one customer at most.
const V6_BITS: u32 = 48;

/// How many times as much as a network a relay of the directory may ask for and have: it does so for many
/// clients.
const RELAY_SHARE: usize = 8;

/// For whom something counts. Who has one address often has its neighbours, too; but who is in the network of
/// a relay that the directory lists takes nothing of what that relay may have. Where several have the same part of
/// their shares, the last in this order loses: a network, for a relay serves many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Prefix {
    /// A relay of the directory, which has proven that it is the one with this fingerprint.
    Relay(Fingerprint),
    /// The address of a relay of the directory: of that, or of somebody who shares the address.
    At(IpAddr),
    /// A network: an IPv4 prefix of 24 bits or an IPv6 prefix of 48.
    Network(IpAddr),
}

impl Prefix {
    /// The network of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self::Network(match address.to_canonical() {
            IpAddr::V4(v4) => {
                let mask = u32::MAX << (u32::BITS - V4_BITS);
                Ipv4Addr::from_bits(v4.to_bits() & mask).into()
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX << (u128::BITS - V6_BITS);
                Ipv6Addr::from_bits(v6.to_bits() & mask).into()
            }
        })
    }

    /// How much more than a network it may ask for and have.
    pub(crate) const fn share(self) -> usize {
        match self {
            Self::Network(_) => 1,
            Self::Relay(_) | Self::At(_) => RELAY_SHARE,
        }
    }

    /// The same without belief in addresses: who has a relay's has proven nothing.
    pub(crate) fn proven(self) -> Self {
        match self {
            Self::At(address) => Self::of(address),
            other => other,
        }
    }

    /// How much so many are of it, beside what others have: for each share that it has.
    pub(crate) const fn weight(self, count: usize) -> usize {
        count.div_ceil(self.share())
    }
}

/// Who made the engine hold something, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    pub(crate) prefix: Prefix,
    pub(crate) since: Instant,
}

#[cfg(test)]
impl Origin {
    /// Something of the network of an address.
    pub(crate) fn new(address: IpAddr, now: Instant) -> Self {
        Self {
            prefix: Prefix::of(address),
            since: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(address: &str) -> Prefix {
        Prefix::of(address.parse().expect("an address"))
    }

    #[test]
    fn neighbouring_addresses_are_of_one_network() {
        assert_eq!(prefix("192.0.2.1"), prefix("192.0.2.255"));
        assert_ne!(prefix("192.0.2.1"), prefix("192.0.3.1"));
        assert_eq!(prefix("2001:db8:7:1::1"), prefix("2001:db8:7:ffff::"));
        assert_ne!(prefix("2001:db8:7::"), prefix("2001:db8:8::"));
    }

    #[test]
    fn an_ipv4_address_counts_as_such_however_it_is_written() {
        assert_eq!(prefix("::ffff:192.0.2.1"), prefix("192.0.2.9"));
        assert_ne!(prefix("::ffff:192.0.2.1"), prefix("::ffff:198.51.100.1"));
    }
}
