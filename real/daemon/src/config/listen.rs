//! Where a relay takes links.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{check_port, require};
use crate::InputError;

/// Where a relay takes links: an address, or one of each family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "allowed is an address with a port, or a list of one or two of them"
)]
pub enum Listen {
    /// One address.
    At(SocketAddr),
    /// One IPv4 and one IPv6 address, in any order.
    Both(Vec<SocketAddr>),
}

impl Listen {
    /// All addresses; the first is the one that others hear of first.
    pub fn addresses(&self) -> &[SocketAddr] {
        match self {
            Self::At(address) => std::slice::from_ref(address),
            Self::Both(addresses) => addresses,
        }
    }

    pub(super) fn check(&self) -> Result<(), InputError> {
        let addresses = self.addresses();
        let of_two_families = match addresses {
            [first, second] => first.is_ipv6() != second.is_ipv6(),
            _ => addresses.len() == 1,
        };
        require(
            of_two_families,
            "listen",
            self,
            "one address, or one IPv4 and one IPv6 address",
        )?;
        let mut addresses = addresses.iter().copied();
        addresses.try_for_each(|address| check_port("listen", Some(address)))
    }
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::At(address)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.addresses().iter().map(SocketAddr::to_string);
        f.write_str(&addresses.collect::<Vec<_>>().join(" and "))
    }
}
