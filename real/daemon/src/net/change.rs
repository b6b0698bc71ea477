//! What a relay's workers go by and what may change while they run.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use hopflow_engine::{KnownRelays, Limits};
use hopflow_units::Duration;
use tracing::warn;

use super::begins::Paces;
use super::descriptors::is_out;
use super::owners::Shares;
use super::reach::{lacks_family, source_towards};
use crate::config::RelayLimits;
use crate::directory::Directory;

/// The relays that circuits are extended to.
pub(super) type Known = Arc<KnownRelays>;

/// What a worker goes by from now on.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) directory: Arc<Directory>,
    pub(super) limits: Limits,
    /// Those of all workers together, for metrics.
    pub(super) told: RelayLimits,
    pub(super) extend_to: Known,
    pub(super) exit: ExitLimits,
    pub(super) overlay: Arc<Overlay>,
}

/// What an exit's worker spends on connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExitLimits {
    pub(super) begins: Paces,
    pub(super) shares: Shares,
    /// How long a name and a connection may take, all addresses together.
    pub(super) connect: Duration,
    /// How long a connection may carry nothing.
    pub(super) idle: Duration,
}

/// Addresses of the overlay itself, to which no exit connects: streams would enter it again from
/// there, or reach what its machines offer to themselves.
#[derive(Debug)]
pub(super) struct Overlay {
    /// Where relays take links.
    pub(super) relays: BTreeSet<SocketAddr>,
    /// The exit's own addresses, as the directory has them, where streams must not lead to its own machine.
    pub(super) own: BTreeSet<IpAddr>,
    /// Whether they must not.
    pub(super) refuses_own: bool,
    /// Whether the system tells which addresses are its own.
    pub(super) knows_own: Families,
    /// Whether it has an address.
    pub(super) can_bind: fn(IpAddr) -> io::Result<bool>,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            relays: BTreeSet::new(),
            own: BTreeSet::new(),
            refuses_own: false,
            knows_own: Families::default(),
            can_bind,
        }
    }
}

/// Whether something holds for addresses of IPv4, and of IPv6.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Families {
    v4: bool,
    v6: bool,
}

impl Families {
    const fn of(self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(_) => self.v4,
            IpAddr::V6(_) => self.v6,
        }
    }
}

impl Overlay {
    /// Whether a relay takes links there.
    pub(super) fn has(&self, address: SocketAddr) -> bool {
        self.relays.contains(&address)
    }

    /// Whether streams must not lead there because it is the exit's own machine, or beside it.
    ///
    /// # Errors
    /// If no descriptor is left by which the system says that. On any other error the address counts as its own.
    pub(super) fn is_own(&self, ip: IpAddr) -> io::Result<bool> {
        let ip = ip.to_canonical();
        if self.own.contains(&ip) || self.own.iter().any(|own| share_network(*own, ip)) {
            return Ok(true);
        }
        if !self.refuses_own {
            return Ok(false);
        }
        // An interface has the address if a socket can be bound to it. This asks for a descriptor in any case: without
        // one it is not known what the machine is beside.
        match (self.can_bind)(ip) {
            Err(error) if is_out(&error) => Err(error),
            bound if self.knows_own.of(ip) && !matches!(bound, Ok(false)) => Ok(true),
            _ => is_beside_this_machine(ip),
        }
    }
}

/// Whether packets to an address of IPv6 leave from one of its network: that is where other machines of the exit's
/// owner are. Networks that providers give to homes change, so it is asked each time.
fn is_beside_this_machine(ip: IpAddr) -> io::Result<bool> {
    if !ip.is_ipv6() {
        return Ok(false);
    }
    match source_towards(SocketAddr::new(ip, 9)) {
        Ok(own) => Ok(share_network(own, ip)),
        Err(error) if is_out(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether two addresses of IPv6 are of one network, whose prefix has 64 bits (RFC 4291, section 2.5.4).
const fn share_network(one: IpAddr, other: IpAddr) -> bool {
    match (one, other) {
        (IpAddr::V6(one), IpAddr::V6(other)) => one.to_bits() >> 64 == other.to_bits() >> 64,
        _ => false,
    }
}

/// Whether a socket can be bound to the address.
///
/// # Errors
/// If that cannot be said.
fn can_bind(ip: IpAddr) -> io::Result<bool> {
    match UdpSocket::bind((ip, 0)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable || lacks_family(&error) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Whether the system tells which addresses are its own; it does not where any can be bound.
pub(super) fn knows_own() -> Families {
    Families {
        v4: judge(can_bind(NOBODY)),
        // A system without IPv6 has no addresses of it.
        v6: can_bind(NOBODY_V6).map_or(true, |bound| judge(Ok(bound))),
    }
}

/// The same by whether an address could be bound that nobody has. Where that cannot be said, each address is asked
/// for.
fn judge(bound: io::Result<bool>) -> bool {
    match bound {
        Ok(false) => true,
        Ok(true) => {
            warn!(
                "the system lets sockets be bound to any address (net.ipv4.ip_nonlocal_bind, or that of ipv6): of its \
                 own addresses the exit refuses those alone that the directory lists; `reject` rules refuse others"
            );
            false
        }
        Err(error) => {
            warn!(%error, "it cannot be said whether any address can be bound: the exit refuses those that can be");
            true
        }
    }
}

/// Addresses that no interface has (RFC 5737, RFC 3849). Where they can be bound, all can.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const NOBODY_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_refuses_all_addresses_of_its_machine() {
        // Every system has them, and the directory lists none of them.
        let second = IpAddr::from([127, 0, 0, 2]);
        let mapped = Ipv4Addr::new(127, 0, 0, 2).to_ipv6_mapped().into();
        let mut overlay = Overlay {
            own: BTreeSet::from([[127, 0, 0, 1].into()]),
            refuses_own: true,
            knows_own: knows_own(),
            ..Overlay::default()
        };
        let is_own = |overlay: &Overlay, ip| overlay.is_own(ip).unwrap();
        let is = [second, mapped, NOBODY].map(|ip| is_own(&overlay, ip));
        assert_eq!(is, [true, true, false]);
        overlay.refuses_own = false;
        assert!(!is_own(&overlay, second) && is_own(&overlay, [127, 0, 0, 1].into()));
    }

    #[test]
    fn an_exit_refuses_its_own_network_of_ipv6() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let overlay = Overlay {
            own: BTreeSet::from([ip("2001:db8:0:7::1"), ip("198.51.100.1")]),
            ..Overlay::default()
        };
        assert!(overlay.is_own(ip("2001:db8:0:7:ffff::2")).unwrap());
        for other in ["2001:db8:0:8::1", "198.51.100.2", "::ffff:198.51.100.2"] {
            assert!(!overlay.is_own(ip(other)).unwrap(), "{other}");
        }
        // A machine without IPv6 is beside none.
        assert!(!is_beside_this_machine(ip("198.51.100.1")).unwrap());
    }

    #[test]
    fn who_cannot_say_which_addresses_are_its_own_refuses_those_that_may_be() {
        assert!(judge(Ok(false)) && !judge(Ok(true)));
        assert!(judge(Err(ErrorKind::Unsupported.into())));
        let knows = knows_own();
        assert!(knows.of(NOBODY) && knows.of(NOBODY_V6));
    }
}
