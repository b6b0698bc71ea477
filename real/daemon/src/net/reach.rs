//! By which of their addresses a client reaches relays.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustix::io::Errno;

use crate::config::Families;
use crate::directory::{Directory, Relay};

/// Chooses among the addresses of relays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    families: Families,
    has_route: fn(SocketAddr) -> bool,
}

impl Reach {
    /// By the addresses of these families to which this host has a route.
    pub(super) const fn new(families: Families) -> Self {
        Self {
            families,
            has_route,
        }
    }

    /// Where a relay is reached at present, if anywhere.
    pub(super) fn address(self, relay: &Relay) -> Option<SocketAddr> {
        let mut addresses = relay.addresses();
        addresses.find(|address| self.families.allow(*address) && (self.has_route)(*address))
    }

    /// Where a path that begins with a relay leads first: where the relay is reached at present, or else its first
    /// address of the families, to which no packet leaves while there is no route.
    pub(super) fn first_address(self, relay: &Relay) -> Option<SocketAddr> {
        let mut addresses = relay.addresses();
        let allowed = addresses.find(|address| self.families.allow(*address));
        self.address(relay).or(allowed)
    }

    /// The directory with those relays at the beginning of paths only, of so many relays, that can be
    /// reached. A host that has no route to any is taken for one that has none yet: then these are those
    /// of the families.
    pub(super) fn usable(self, directory: &Directory, length: u8) -> Directory {
        let allowed = |relay: &Relay| relay.addresses().any(|it| self.families.allow(it));
        let mut usable = directory.clone();
        let mut is_first = |is_usable: &dyn Fn(&Relay) -> bool| {
            let mut any = false;
            for (relay, listed) in usable.relays.iter_mut().zip(&directory.relays) {
                let is_usable = is_usable(listed);
                relay.guard = listed.guard && is_usable;
                relay.exit = listed.exit.clone().filter(|_| is_usable || length > 1);
                any |= relay.guard;
            }
            any
        };
        if !is_first(&|relay| self.address(relay).is_some()) {
            is_first(&allowed);
        }
        usable
    }
}

/// Whether packets to an address would leave this host; none is sent.
pub(crate) fn has_route(to: SocketAddr) -> bool {
    source_towards(to).is_ok()
}

/// From which of this host's addresses packets to an address would leave; none is sent.
///
/// # Errors
/// If none would, or the system cannot say.
pub(super) fn source_towards(to: SocketAddr) -> io::Result<IpAddr> {
    let from: SocketAddr = if to.is_ipv6() {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(from)?;
    socket.connect(to)?;
    Ok(socket.local_addr()?.ip())
}

/// Whether the system, or what it grants this process, lacks the family of an address.
pub(super) fn lacks_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Whether this host has an address.
pub(super) fn is_of_this_host(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    /// A relay of two addresses, and one of the first family only, on a host with these routes.
    fn chosen(families: Families, has_route: fn(SocketAddr) -> bool) -> [Option<SocketAddr>; 2] {
        let mut directory = network(2, 1, 1);
        directory.relays[0].other_address = Some("[2001:db8::1]:9001".parse().unwrap());
        let reach = Reach {
            families,
            has_route,
        };
        [0, 1].map(|relay| reach.address(&directory.relays[relay]))
    }

    #[test]
    fn the_first_address_with_a_route_is_taken_of_the_families_that_are_wanted() {
        let listed = network(2, 1, 1).relays;
        let [first, second] = [0, 1].map(|relay: usize| Some(listed[relay].address));
        let v6 = Some("[2001:db8::1]:9001".parse().unwrap());
        let all = |_| true;
        let only_v6 = |address: SocketAddr| address.is_ipv6();
        assert_eq!(chosen(Families::Any, all), [first, second]);
        assert_eq!(chosen(Families::Any, only_v6), [v6, None]);
        assert_eq!(chosen(Families::Ipv4, all), [first, second]);
        assert_eq!(chosen(Families::Ipv4, only_v6), [None, None]);
        assert_eq!(chosen(Families::Ipv6, all), [v6, None]);
    }

    #[test]
    fn who_cannot_be_reached_begins_no_path_unless_nobody_can() {
        let mut directory = network(2, 1, 1);
        directory.relays[0].other_address = Some("[2001:db8::1]:9001".parse().unwrap());
        let guards = |families, has_route| {
            let reach = Reach {
                families,
                has_route,
            };
            let usable = reach.usable(&directory, 3);
            [0, 1].map(|relay: usize| usable.relays[relay].guard)
        };
        assert_eq!(guards(Families::Any, |_| true), [true, true]);
        assert_eq!(guards(Families::Any, |it| it.is_ipv6()), [true, false]);
        assert_eq!(guards(Families::Any, |_| false), [true, true]);
        assert_eq!(guards(Families::Ipv6, |_| false), [true, false]);
    }

    #[test]
    fn a_path_begins_at_an_address_of_the_families_also_without_a_route() {
        let mut relay = network(1, 1, 1).relays.swap_remove(0);
        let v6 = "[2001:db8::1]:9001".parse().unwrap();
        let v4 = relay.address;
        let first = |relay: &Relay, families, has_route| {
            let reach = Reach {
                families,
                has_route,
            };
            reach.first_address(relay)
        };
        assert_eq!(first(&relay, Families::Ipv6, |_| true), None);
        relay.other_address = Some(v6);
        assert_eq!(first(&relay, Families::Ipv6, |_| false), Some(v6));
        assert_eq!(first(&relay, Families::Ipv6, |it| it.is_ipv4()), Some(v6));
        assert_eq!(first(&relay, Families::Any, |it| it.is_ipv6()), Some(v6));
        assert_eq!(first(&relay, Families::Any, |_| false), Some(v4));
    }

    #[test]
    fn this_host_reaches_itself() {
        assert!(has_route("127.0.0.1:9".parse().unwrap()));
    }
}
