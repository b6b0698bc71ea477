//! Opening, finding and removing links.

use std::net::IpAddr;

use hopflow_channel::{DatagramChannel, State, StreamChannel};
use hopflow_onion::Introduction;
use hopflow_onion::setup::Refusal;
use hopflow_overlay::Multiplexing;
use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::{Carrier, Reason};

use super::Engine;
use crate::circuit::Side;
use crate::link::{Channel, LinkEnd, Peer};
use crate::origin::{Origin, Prefix};
use crate::types::{Action, CircuitKey, ConnId, Failure, LostLink, OpenedLink, Target, Via};

/// Lost links that are kept until the driver asks for them.
const MOST_LOST: usize = 64;

impl Engine {
    /// A neighbour's connection from this address was accepted. `None` if there are too many links,
    /// or too many a moment ago, or this is no relay: the driver closes it.
    pub fn accept(&mut self, now: Instant, from: IpAddr) -> Option<ConnId> {
        let conn = self.links.new_connection();
        let relay = self.config.relay.clone()?;
        self.admit(now, Peer::Stream(conn), (from, None), || {
            Channel::stream(StreamChannel::accept(&relay.certificate))
        })?;
        Some(conn)
    }

    /// The same where the system has no room for one more: somebody else goes for it, as at the limit on
    /// links, or nobody is taken.
    pub fn accept_instead(&mut self, now: Instant, from: IpAddr) -> Option<ConnId> {
        let links = self.config.limits.links;
        self.config.limits.links = links.min(self.links.accepted().len());
        let accepted = self.accept(now, from);
        self.config.limits.links = links;
        accepted
    }

    /// A connection that the engine asked for is there.
    pub fn connected(&mut self, now: Instant, conn: ConnId) {
        if let Some(id) = self.links.find(&Peer::Stream(conn)) {
            if let Some(link) = self.links.get_mut(id) {
                link.connected = true;
            }
            self.after_channel(now, id);
        }
    }

    /// A connection is gone, or could not be opened.
    pub fn closed(&mut self, now: Instant, conn: ConnId) {
        if let Some(link) = self.links.find(&Peer::Stream(conn)) {
            self.remove_link(now, link);
        }
    }

    /// A connection that the engine asked for cannot be opened for a reason of this host: the neighbour is not to
    /// blame.
    pub fn cannot_connect(&mut self, now: Instant, conn: ConnId) {
        if let Some(link) = self.links.find(&Peer::Stream(conn)) {
            self.remove_link_for(now, link, Some(Failure::NoRoute));
        }
    }

    /// Says how many bytes a connection takes at present, once it has taken all that it was given.
    pub fn set_room(&mut self, now: Instant, conn: ConnId, room: usize) {
        if let Some(id) = self.links.find(&Peer::Stream(conn)) {
            if let Some(link) = self.links.get_mut(id) {
                link.on_room();
            }
            self.host.set_room(now, id, Bytes::new(room as u64));
        }
    }

    /// Takes a link that a neighbour opens, in place of the `old` one that it had, if there is room
    /// for it; only then its channel is made.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        peer: Peer,
        (from, old): (IpAddr, Option<LinkId>),
        channel: impl FnOnce() -> Channel,
    ) -> Option<LinkId> {
        if self.admission.is_draining() {
            self.counters.refused_at_rest += 1;
            return None;
        }
        let by = self.admission.origin(now, from);
        if !self.may_open_link(now, by.prefix, old) {
            self.counters.links_refused += 1;
            return None;
        }
        let id = self.host.add_link();
        let link = LinkEnd::accepted(peer, channel(), by, now);
        self.links.insert(id, link, false);
        Some(id)
    }

    /// Whether a network may open one more link, for which room is made; not if it has most of them,
    /// and not more often than it may begin circuits. The `old` link that it had goes. Nobody loses a
    /// link to who gets none.
    fn may_open_link(&mut self, now: Instant, by: Prefix, old: Option<LinkId>) -> bool {
        let limits = self.config.limits;
        let accepted = self.links.accepted();
        let full = accepted.len() - usize::from(old.is_some()) >= limits.links;
        let may = !(full && accepted.is_heaviest(by));
        if !may || !self.admission.allows_link(now, by, limits.creates) {
            return false;
        }
        if let Some(old) = old {
            self.remove_link(now, old);
        }
        let handshakes = self.links.handshakes();
        if handshakes.len() >= limits.handshakes
            && let Some(id) = handshakes.first_to_go()
        {
            self.evict_link(now, id);
        }
        let accepted = self.links.accepted();
        if accepted.len() >= limits.links {
            let Some(id) = accepted.first_to_go() else {
                return false;
            };
            self.evict_link(now, id);
        }
        true
    }

    fn evict_link(&mut self, now: Instant, id: LinkId) {
        self.counters.links_evicted += 1;
        self.remove_link(now, id);
    }

    /// The link to a relay for a new circuit that `by` began, opened if need be.
    ///
    /// # Errors
    /// If there are too many links that we opened, or another relay is said to be at that address.
    pub(super) fn link_to(
        &mut self,
        now: Instant,
        target: Target,
        by: Option<Origin>,
    ) -> Result<LinkId, Refusal> {
        let shared = self.plan.link.multiplexing == Multiplexing::Shared;
        if shared && let Some(link) = self.links.find_target(&target) {
            return Ok(link);
        }
        // Links that many circuits share are as many as relays: nobody's in particular.
        let by = by.filter(|_| !shared);
        if self.links.opened() >= self.config.limits.opened {
            let asked_for = self.links.asked_for();
            let lighter = by.is_some_and(|by| !asked_for.is_heaviest(by.prefix));
            let Some(gone) = asked_for.first_to_go().filter(|_| lighter) else {
                self.counters.links_refused += 1;
                return Err(Refusal::Busy);
            };
            self.evict_link(now, gone);
        }
        let begun = self.begin_channel(target).ok_or(Refusal::Identity)?;
        let id = self.host.add_link();
        let mut link = LinkEnd::opened(target, begun, self.introduction_to(&target), now);
        link.origin = by.map(|by| Origin { since: now, ..by });
        self.links.insert(id, link, shared);
        self.after_channel(now, id);
        Ok(id)
    }

    /// What says to a relay which relay we are, if we are one and know its key.
    fn introduction_to(&self, to: &Target) -> Option<Introduction> {
        let own = self.config.relay.as_ref()?;
        let key = self.config.extend_to.as_ref()?.get(to)?;
        let fingerprint = own.certificate.fingerprint().to_bytes();
        let introduction = Introduction::new((&own.onion, &fingerprint), (key, &to.1.to_bytes()));
        Some(introduction)
    }

    /// Believes the neighbour that opened a link that it is the relay that it says, if it proves that.
    pub(super) fn on_introduction(&mut self, id: LinkId, introduction: Option<&Introduction>) {
        let claimed = introduction.and_then(|it| Some((it, self.admission.claimed(it)?)));
        let (Some((introduction, (fingerprint, key))), Some(own)) = (claimed, &self.config.relay)
        else {
            return;
        };
        let of_own = own.certificate.fingerprint().to_bytes();
        if let Some(link) = self.links.get_mut(id) {
            link.introduce(|| {
                let from = (&key, &fingerprint.to_bytes());
                let sound = introduction.is_of(from, (&own.onion, &of_own));
                sound.then_some(fingerprint)
            });
        }
    }

    /// Who begins circuits on a link that a neighbour opened: a relay that has proven to be it, or else a network.
    pub(super) fn who_begins(&self, link: LinkId) -> Option<Prefix> {
        let link = self.links.get(link).filter(|it| it.opened_to.is_none())?;
        let relay = link.opened_by().filter(|it| self.admission.knows(it));
        let relay = relay.map(Prefix::Relay);
        relay.or_else(|| Some(link.origin?.prefix.proven()))
    }

    /// Our end of a new channel to a relay, and where it leads.
    fn begin_channel(&mut self, (to, fingerprint): Target) -> Option<(Peer, Channel)> {
        match self.plan.link.carrier {
            Carrier::Datagram => {
                let peer = Peer::Datagram(Via::Outgoing, to);
                if self.links.find(&peer).is_some() {
                    return None;
                }
                let channel = DatagramChannel::connect(fingerprint, self.config.epoch);
                Some((peer, Channel::datagram(channel)))
            }
            Carrier::Stream => {
                let conn = self.links.new_connection();
                let connect = Action::Connect { conn, to };
                self.reports.actions.push_back(connect);
                let channel = StreamChannel::connect(fingerprint);
                Some((Peer::Stream(conn), Channel::stream(channel)))
            }
        }
    }

    /// Forgets a link whose neighbour is gone, and closes its circuits.
    pub(super) fn remove_link(&mut self, now: Instant, id: LinkId) {
        self.remove_link_for(now, id, None);
    }

    /// Forgets a link and closes its circuits because of `why`, if that is not the neighbour.
    fn remove_link_for(&mut self, now: Instant, id: LinkId, why: Option<Failure>) {
        let Some(link) = self.links.remove(id) else {
            return;
        };
        let circuits: Vec<CircuitKey> = link.names.iter().map(|(_, key)| key).collect();
        if why != Some(Failure::Moved) && (!link.open || !circuits.is_empty()) {
            self.note_lost(&link);
        }
        if let Peer::Stream(conn) = link.peer {
            self.reports.actions.push_back(Action::Close { conn });
        }
        self.links.part(now, link);
        if let Some(observing) = &mut self.observer {
            observing.forget_link(id);
        }
        for key in circuits {
            // The only link of a circuit that we build leads to its first hop.
            let building = self.building_hop(key).is_some();
            let failed = if building {
                Failure::Hop { hop: 0 }
            } else {
                Failure::Closed(Reason::Unreachable)
            };
            let why = why.unwrap_or(failed);
            self.refuse_or_end(now, key, id, Reason::Unreachable, why);
        }
        self.host.remove_link(now, id);
    }

    /// The neighbour seems not to have a link any more: it said so, or it begins anew; it lost what it knew, or
    /// our address is another one for it. Somebody on the way can say so in its name: if it is there after
    /// all, it answers a probe.
    pub(super) fn doubt_link(&mut self, now: Instant, id: LinkId) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        if !link.may_be_doubted(now) {
            return;
        }
        if link.names.len() == 0 {
            // Nobody loses anything.
            self.remove_link(now, id);
        } else if self.links.doubt(now, id) {
            self.ask_doubted(now, id);
        }
    }

    /// Asks a neighbour that is doubted.
    pub(super) fn ask_doubted(&mut self, now: Instant, id: LinkId) {
        let Some(link) = self.links.get(id) else {
            return;
        };
        // Probes of circuits in set-up are not always answered.
        let open = |(_, key): &(_, CircuitKey)| self.circuits.is_open(*key);
        let circuit = link.names.iter().find(open);
        if let Some((name, _)) = circuit.or_else(|| link.names.iter().next()) {
            self.send_probes(now, id, &[name]);
        }
    }

    /// The links that we opened.
    pub fn opened_links(&self) -> impl Iterator<Item = OpenedLink> + '_ {
        self.links.iter().filter_map(|(_, link)| link.opened_link())
    }

    /// Gives up those of the links that we opened, and their circuits ([`Failure::Moved`]): our own address is another
    /// one, so that the relays do not know us.
    pub fn leave(&mut self, now: Instant, links: &[OpenedLink]) {
        let opened = self.links.iter();
        let left =
            opened.filter(|(_, link)| link.opened_link().is_some_and(|it| links.contains(&it)));
        let left: Vec<LinkId> = left.map(|(id, _)| id).collect();
        for id in left {
            self.remove_link_for(now, id, Some(Failure::Moved));
        }
    }

    /// Notes that a link failed that we opened.
    fn note_lost(&mut self, link: &LinkEnd) {
        let lost = &mut self.reports.lost;
        let Some((_, to)) = link.opened_to.filter(|_| lost.len() < MOST_LOST) else {
            return;
        };
        let why = match link.state() {
            State::Closed(why) => Some(why.clone()),
            _ => None,
        };
        lost.push_back(LostLink { to, why });
    }

    /// Gives a circuit's name on a link back.
    pub(super) fn free_name(&mut self, now: Instant, side: Side) {
        if let Some(link) = self.links.get_mut(side.link) {
            link.free(now, side.name, self.plan.link.multiplexing);
        }
    }

    /// Whether circuits that `by` began may be extended to a relay: to one that is known, not to ourselves, and not
    /// back.
    pub(super) fn may_extend(&self, target: &Target, by: Option<Prefix>) -> bool {
        let known = self.config.extend_to.as_ref();
        let own = self.config.relay.as_ref();
        let own = own.is_some_and(|own| own.certificate.fingerprint() == target.1);
        let back = by == Some(Prefix::Relay(target.1));
        !own && !back && known.is_none_or(|known| known.contains_key(target))
    }
}
