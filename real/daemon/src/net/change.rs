//! What a relay's workers go by and what may change while they run.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use hopflow_channel::Fingerprint;
use hopflow_engine::Limits;
use hopflow_units::Duration;

use super::owners::Shares;
use crate::config::RelayLimits;
use crate::directory::Directory;

/// The relays that circuits are extended to.
pub(super) type Known = Arc<BTreeSet<(SocketAddr, Fingerprint)>>;

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
    pub(super) shares: Shares,
    /// How long a name and a connection may take, all addresses together.
    pub(super) connect: Duration,
    /// How long a connection may carry nothing.
    pub(super) idle: Duration,
}

/// Addresses of the overlay itself, to which no exit connects: streams would enter it again from
/// there, or reach what its machines offer to themselves.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// Where relays take links.
    pub(super) relays: BTreeSet<SocketAddr>,
    /// The exit's own addresses, as the directory has them, where streams must not lead to its own machine.
    pub(super) own: BTreeSet<IpAddr>,
    /// Whether they must not, and the system tells which addresses are its own.
    pub(super) refuses_own: bool,
}

impl Overlay {
    pub(super) fn has(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        self.relays.contains(&address)
            || self.own.contains(&ip)
            || self.refuses_own && is_of_this_machine(ip)
    }
}

/// Whether an interface of this machine has the address: only to those a socket can be bound. Where that
/// cannot be said, for instance because no descriptor is left, it may have.
pub(super) fn is_of_this_machine(ip: IpAddr) -> bool {
    let bound = UdpSocket::bind((ip, 0));
    !bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
}

/// An address that no interface has (RFC 5737). Where it can be bound, all can.
pub(super) const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_refuses_all_addresses_of_its_machine() {
        // Every system has them, and the directory lists none of them.
        let second = SocketAddr::from(([127, 0, 0, 2], 80));
        let mapped = SocketAddr::new(Ipv4Addr::new(127, 0, 0, 2).to_ipv6_mapped().into(), 80);
        let other = SocketAddr::new(NOBODY, 80);
        let mut overlay = Overlay {
            own: BTreeSet::from([[127, 0, 0, 1].into()]),
            refuses_own: true,
            ..Overlay::default()
        };
        assert!(overlay.has(second) && overlay.has(mapped) && !overlay.has(other));
        overlay.refuses_own = false;
        assert!(!overlay.has(second));
    }
}
