//! Whether a client has moved to another network: then its packets leave from another address, which relays
//! do not know.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use hopflow_wire::Carrier;

use super::reach::{is_of_this_host, source_towards};

/// From which of the client's addresses packets to relays leave.
#[derive(Debug)]
pub(super) struct Moves {
    source: fn(SocketAddr) -> Option<IpAddr>,
    /// Whether an address that is left for another one still serves the links that have it.
    serves: fn(IpAddr) -> bool,
    seen: BTreeMap<SocketAddr, IpAddr>,
}

impl Moves {
    /// As the system's routes say. Connections keep their address while this host has it; datagrams leave
    /// from the other one at once.
    pub(super) const fn new(carrier: Carrier) -> Self {
        Self {
            source: |to| source_towards(to).ok(),
            serves: match carrier {
                Carrier::Stream => is_of_this_host,
                Carrier::Datagram => |_| false,
            },
            seen: BTreeMap::new(),
        }
    }

    /// Those of these relays to which packets leave from another address than when this was asked last, and
    /// which the old one does not serve. Where there is no route for a while, the address that there is
    /// afterwards counts.
    pub(super) fn look(&mut self, relays: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
        let relays: BTreeSet<SocketAddr> = relays.collect();
        self.seen.retain(|relay, _| relays.contains(relay));
        let mut moved = Vec::new();
        for relay in relays {
            let Some(source) = (self.source)(relay) else {
                continue;
            };
            let before = *self.seen.entry(relay).or_insert(source);
            if before != source && !(self.serves)(before) {
                self.seen.insert(relay, source);
                moved.push(relay);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 9001))
    }

    #[test]
    fn who_leaves_from_another_address_has_moved() {
        let home = |_| Some(IpAddr::from([192, 168, 0, 1]));
        let away = |to: SocketAddr| {
            let other = to.ip() == IpAddr::from([10, 0, 0, 2]);
            Some(IpAddr::from([192, 168, u8::from(other), 1]))
        };
        let mut moves = Moves {
            source: home,
            serves: |_| false,
            seen: BTreeMap::new(),
        };
        let relays = [1, 2].map(address);
        assert!(moves.look(relays.into_iter()).is_empty());
        moves.source = |_| None;
        assert!(moves.look(relays.into_iter()).is_empty());
        moves.source = home;
        assert!(moves.look(relays.into_iter()).is_empty());
        moves.source = away;
        assert_eq!(moves.look(relays.into_iter()), [address(2)]);
        assert!(moves.look(relays.into_iter()).is_empty());
    }

    #[test]
    fn connections_stay_with_an_address_for_as_long_as_this_host_has_it() {
        let here = address(1);
        let mut moves = Moves {
            source: |_| Some(IpAddr::from([192, 168, 0, 1])),
            serves: |_| true,
            seen: BTreeMap::new(),
        };
        moves.look([here].into_iter());
        moves.source = |_| Some(IpAddr::from([192, 168, 1, 1]));
        assert!(moves.look([here].into_iter()).is_empty());
        moves.serves = |_| false;
        assert_eq!(moves.look([here].into_iter()), [here]);
        assert!(moves.look([here].into_iter()).is_empty());
    }

    #[test]
    fn a_relay_without_links_is_forgotten() {
        let mut moves = Moves {
            source: |_| Some(IpAddr::from([192, 168, 0, 1])),
            serves: |_| false,
            seen: BTreeMap::new(),
        };
        moves.look([address(1)].into_iter());
        moves.look(std::iter::empty());
        moves.source = |_| Some(IpAddr::from([192, 168, 1, 1]));
        assert!(moves.look([address(1)].into_iter()).is_empty());
    }

    #[test]
    fn packets_to_this_host_leave_from_it() {
        for carrier in [Carrier::Stream, Carrier::Datagram] {
            let mut moves = Moves::new(carrier);
            let here = SocketAddr::from(([127, 0, 0, 1], 9));
            assert!(moves.look([here].into_iter()).is_empty());
            assert_eq!(moves.seen.get(&here), Some(&here.ip()));
        }
        assert!(is_of_this_host([127, 0, 0, 1].into()));
        assert!(!is_of_this_host([192, 0, 2, 1].into()));
    }
}
