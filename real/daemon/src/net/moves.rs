//! Whether a client has moved to another network: then its packets leave from another address, which relays
//! do not know.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use hopflow_engine::OpenedLink;
use hopflow_wire::Carrier;

use super::reach::{is_of_this_host, source_towards};

/// From which of the client's addresses packets to relays leave.
#[derive(Debug)]
pub(super) struct Moves {
    source: fn(SocketAddr) -> Option<IpAddr>,
    /// Whether an address from which packets leave no more still serves the links that have it.
    serves: fn(IpAddr) -> bool,
    /// The addresses of links that have none of their own.
    seen: BTreeMap<OpenedLink, IpAddr>,
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

    /// Those of these links whose address is another one than that from which packets to the relay leave, and does not
    /// serve them any more. A link's own address comes with it; of one without, the address counts from which packets
    /// left when this was asked last. Where there is no route for a while, the address that there is afterwards counts.
    pub(super) fn look(
        &mut self,
        links: impl Iterator<Item = (OpenedLink, Option<IpAddr>)>,
    ) -> Vec<OpenedLink> {
        let links: BTreeMap<OpenedLink, Option<IpAddr>> = links.collect();
        self.seen.retain(|link, _| links.contains_key(link));
        let (source, mut sources) = (self.source, BTreeMap::new());
        let mut moved = Vec::new();
        for (link, own) in links {
            // There may be many links to a relay.
            let to = link.to;
            let Some(source) = *sources.entry(to).or_insert_with(|| source(to)) else {
                continue;
            };
            let before = own.unwrap_or_else(|| *self.seen.entry(link).or_insert(source));
            if before != source && !(self.serves)(before) {
                self.seen.insert(link, source);
                moved.push(link);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{engine, identity};
    use hopflow_units::Instant;
    use std::net::Ipv4Addr;

    /// A link without an address of its own.
    fn link(last: u8) -> OpenedLink {
        let to = SocketAddr::from(([10, 0, 0, last], 9001));
        OpenedLink { to, conn: None }
    }

    /// What is moved of the links to these relays.
    fn look(moves: &mut Moves, relays: &[u8]) -> Vec<OpenedLink> {
        moves.look(relays.iter().map(|last| (link(*last), None)))
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
        let relays = [1, 2];
        assert!(look(&mut moves, &relays).is_empty());
        moves.source = |_| None;
        assert!(look(&mut moves, &relays).is_empty());
        moves.source = home;
        assert!(look(&mut moves, &relays).is_empty());
        moves.source = away;
        assert_eq!(look(&mut moves, &relays), [link(2)]);
        assert!(look(&mut moves, &relays).is_empty());
    }

    #[test]
    fn connections_stay_with_an_address_for_as_long_as_this_host_has_it() {
        let mut moves = Moves {
            source: |_| Some(IpAddr::from([192, 168, 0, 1])),
            serves: |_| true,
            seen: BTreeMap::new(),
        };
        look(&mut moves, &[1]);
        moves.source = |_| Some(IpAddr::from([192, 168, 1, 1]));
        assert!(look(&mut moves, &[1]).is_empty());
        moves.serves = |_| false;
        assert_eq!(look(&mut moves, &[1]), [link(1)]);
        assert!(look(&mut moves, &[1]).is_empty());
    }

    const OLD: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
    const NEW: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 1));

    #[test]
    fn of_several_connections_to_a_relay_those_have_moved_whose_address_is_gone() {
        let mut client = engine("pctcp", None);
        let hop = identity(link(1).to).1;
        for _ in 0..2 {
            client.build(Instant::from_nanos(1), vec![hop.clone()]);
        }
        let opened: Vec<OpenedLink> = client.opened_links().collect();
        let links = [(opened[0], Some(OLD)), (opened[1], Some(NEW))];
        let look = |source: fn(SocketAddr) -> Option<IpAddr>, serves: fn(IpAddr) -> bool| {
            let seen = BTreeMap::new();
            let mut moves = Moves {
                source,
                serves,
                seen,
            };
            moves.look(links.into_iter())
        };
        assert!(look(|_| Some(NEW), |_| true).is_empty());
        assert_eq!(look(|_| Some(NEW), |own| own == NEW), [opened[0]]);
        assert_eq!(look(|_| Some(OLD), |own| own == OLD), [opened[1]]);
        assert!(
            look(|_| None, |_| false).is_empty(),
            "the address may come back"
        );
    }

    #[test]
    fn a_relay_without_links_is_forgotten() {
        let mut moves = Moves {
            source: |_| Some(IpAddr::from([192, 168, 0, 1])),
            serves: |_| false,
            seen: BTreeMap::new(),
        };
        look(&mut moves, &[1]);
        look(&mut moves, &[]);
        moves.source = |_| Some(IpAddr::from([192, 168, 1, 1]));
        assert!(look(&mut moves, &[1]).is_empty());
    }

    #[test]
    fn packets_to_this_host_leave_from_it() {
        for carrier in [Carrier::Stream, Carrier::Datagram] {
            let mut moves = Moves::new(carrier);
            let to = SocketAddr::from(([127, 0, 0, 1], 9));
            let here = OpenedLink { to, conn: None };
            assert!(moves.look([(here, None)].into_iter()).is_empty());
            assert_eq!(moves.seen.get(&here), Some(&to.ip()));
        }
        assert!(is_of_this_host([127, 0, 0, 1].into()));
        assert!(!is_of_this_host([192, 0, 2, 1].into()));
    }
}
