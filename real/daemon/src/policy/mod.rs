//! What an exit connects to.
//!
//! Two things are asked of each address: that it is an ordinary public one, unless the operator
//! allows others, and that the first rule that fits accepts it. Names are looked up first, and the
//! addresses found are what is judged, so that no name leads to the exit's own network.

mod rule;
mod special;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::{Host, Target};

pub use rule::{NoRule, Rule};
pub use special::is_special;

/// What an exit connects to; what no rule fits is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExitPolicy {
    /// The rules; the first that fits decides.
    #[serde(rename = "policy")]
    pub rules: Vec<Rule>,
    /// Whether private and special addresses may be accepted too.
    #[serde(default)]
    pub allow_private: bool,
}

/// Why an exit does not connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyRefusal {
    /// The address is private or special.
    Private,
    /// A rule rejects it, or none accepts it.
    Policy,
}

impl fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Private => "the address is private or special",
            Self::Policy => "the exit policy rejects the address and port",
        })
    }
}

impl ExitPolicy {
    /// Judges one address.
    ///
    /// # Errors
    /// If the exit must not connect to it.
    pub fn check(&self, address: SocketAddr) -> Result<(), PolicyRefusal> {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        if !self.allow_private && is_special(ip) {
            return Err(PolicyRefusal::Private);
        }
        match self.rules.iter().find(|rule| rule.fits(ip, port)) {
            Some(rule) if rule.accepts() && port != 0 => Ok(()),
            _ => Err(PolicyRefusal::Policy),
        }
    }

    /// The addresses that are allowed of those that a name was found to have, in their order.
    ///
    /// # Errors
    /// If none is allowed: why the first is not.
    pub fn allowed(&self, addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, PolicyRefusal> {
        let fits = |address: &SocketAddr| self.check(*address).is_ok();
        let allowed: Vec<_> = addresses.iter().copied().filter(fits).collect();
        match addresses.first() {
            Some(first) if allowed.is_empty() => self.check(*first).map(|()| allowed),
            _ => Ok(allowed),
        }
    }

    /// What somebody who asks for a name may learn of its addresses: not those that are private or special, unless
    /// they may be accepted.
    pub fn shown(&self, mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
        addresses.retain(|address| self.allow_private || !is_special(address.to_canonical()));
        addresses
    }

    /// Whether the exit may connect to `target`, as far as can be said before names are looked up.
    pub fn may_allow(&self, target: &Target) -> bool {
        match target.host {
            Host::Address(ip) => self.check(SocketAddr::new(ip, target.port)).is_ok(),
            Host::Name(_) => self.may_allow_port(target.port),
        }
    }

    /// Whether some address may be accepted at `port`.
    pub fn may_allow_port(&self, port: u16) -> bool {
        let fitting = self.rules.iter().filter(|rule| rule.fits_port(port));
        let decisive = fitting
            .into_iter()
            .find(|rule| rule.accepts() || rule.fits_all_addresses());
        decisive.is_some_and(Rule::accepts)
    }

    /// Whether some public address of IPv6, or of IPv4, may be accepted.
    pub fn may_allow_family(&self, v6: bool) -> bool {
        let mut fitting = self.rules.iter().filter(|rule| rule.fits_some_of(v6));
        let decisive = fitting.find(|rule| rule.accepts() || rule.fits_all_of(v6));
        decisive.is_some_and(Rule::accepts)
    }
}

#[cfg(test)]
mod tests;
