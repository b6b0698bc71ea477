//! Opening, finding and removing links.

use std::net::SocketAddr;

use hopflow_channel::{DatagramChannel, Fingerprint, State, StreamChannel};
use hopflow_onion::OnionPayload;
use hopflow_overlay::Multiplexing;
use hopflow_units::{Bytes, CircuitId as Name, Instant, LinkId};
use hopflow_wire::{Carrier, Destroy, Feedback, Frame, Reason, Setup};

use super::{Action, ConnId, Engine, Failure, LostLink, MOST_LOST, Transmit, Via};
use crate::circuit::{Body, CircuitKey, Side};
use crate::link::{Channel, Link, Peer};

impl Engine {
    /// A neighbour's connection was accepted. `None` if there are too many links, or this is no
    /// relay: the driver closes it.
    pub fn accept(&mut self, now: Instant) -> Option<ConnId> {
        let conn = self.new_conn();
        let channel = {
            let relay = self.config.relay.as_ref()?;
            Channel::Stream(Box::new(StreamChannel::accept(&relay.certificate)))
        };
        self.admit(now, Peer::Stream(conn), channel)?;
        Some(conn)
    }

    /// A connection that the engine asked for is there.
    pub fn connected(&mut self, now: Instant, conn: ConnId) {
        if let Some(&id) = self.by_peer.get(&Peer::Stream(conn)) {
            if let Some(link) = self.link_mut(id) {
                link.connected = true;
            }
            self.after_channel(now, id);
        }
    }

    /// A connection is gone, or could not be opened.
    pub fn closed(&mut self, now: Instant, conn: ConnId) {
        if let Some(&link) = self.by_peer.get(&Peer::Stream(conn)) {
            self.remove_link(now, link);
        }
    }

    /// Says how many bytes a connection takes at present.
    pub fn set_room(&mut self, now: Instant, conn: ConnId, room: usize) {
        if let Some(&id) = self.by_peer.get(&Peer::Stream(conn)) {
            if let Some(link) = self.link_mut(id) {
                link.room = room as i64;
            }
            self.host.set_room(now, id, Bytes::new(room as u64));
        }
    }

    fn new_conn(&mut self) -> ConnId {
        self.next_conn += 1;
        ConnId(self.next_conn)
    }

    pub(super) fn link_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(link.index())?.as_mut()
    }

    /// Takes a link that a neighbour opens, if there is room for it.
    pub(super) fn admit(&mut self, now: Instant, peer: Peer, channel: Channel) -> Option<LinkId> {
        let limits = self.config.limits;
        if self.by_peer.len() >= limits.links {
            self.counters.links_refused += 1;
            return None;
        }
        if self.handshaking >= limits.handshakes {
            // Who forges many first messages finishes none of them: the oldest goes.
            self.counters.links_refused += 1;
            let oldest = self.oldest_handshake()?;
            self.remove_link(now, oldest);
        }
        Some(self.add_link(Link::new(peer, channel, now)))
    }

    fn oldest_handshake(&self) -> Option<LinkId> {
        let accepted = self.by_peer.values().filter_map(|&id| {
            let link = self.links.get(id.index())?.as_ref()?;
            (!link.open && link.opened_to.is_none()).then_some((link.used, id))
        });
        accepted.min().map(|(_, id)| id)
    }

    fn add_link(&mut self, link: Link) -> LinkId {
        let id = self.host.add_link();
        if self.links.len() <= id.index() {
            self.links.resize_with(id.index() + 1, || None);
        }
        self.by_peer.insert(link.peer, id);
        self.links[id.index()] = Some(link);
        self.handshaking += 1;
        id
    }

    /// The link to a relay for a new circuit, opened if need be. `None` if another relay is said
    /// to be at that address.
    pub(super) fn link_to(
        &mut self,
        now: Instant,
        target: (SocketAddr, Fingerprint),
    ) -> Option<LinkId> {
        let (to, fingerprint) = target;
        let shared = self.plan.multiplexing == Multiplexing::Shared;
        if shared && let Some(&link) = self.by_target.get(&target) {
            return Some(link);
        }
        let (peer, channel) = match self.plan.carrier {
            Carrier::Datagram => {
                let peer = Peer::Datagram(Via::Outgoing, to);
                if self.by_peer.contains_key(&peer) {
                    return None;
                }
                let channel = DatagramChannel::connect(fingerprint, self.config.epoch);
                (peer, Channel::Datagram(Box::new(channel)))
            }
            Carrier::Stream => {
                let conn = self.new_conn();
                self.actions.push_back(Action::Connect { conn, to });
                let channel = StreamChannel::connect(fingerprint);
                (Peer::Stream(conn), Channel::Stream(Box::new(channel)))
            }
        };
        let mut link = Link::new(peer, channel, now);
        link.opened_to = Some(target);
        link.connected = self.plan.carrier == Carrier::Datagram;
        let id = self.add_link(link);
        if shared {
            self.by_target.insert(target, id);
        }
        self.after_channel(now, id);
        Some(id)
    }

    /// Takes what a channel has to send and looks at its state.
    pub(super) fn after_channel(&mut self, now: Instant, id: LinkId) {
        let Some(link) = self.links.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        link.take_handshake(now);
        if matches!(link.state(), State::Closed(_)) {
            return self.remove_link(now, id);
        }
        if *link.state() == State::Open && !std::mem::replace(&mut link.open, true) {
            for frame in std::mem::take(&mut link.waiting) {
                link.seal(now, &frame);
            }
            self.handshaking -= 1;
        }
        let timeout = link.timeout();
        if timeout != link.alarm {
            self.timed.remove(&(link.alarm, id));
            link.alarm = timeout;
            if timeout < Instant::FAR_FUTURE {
                self.timed.insert((timeout, id));
            }
        }
        self.queue_link(id);
    }

    /// Forgets a link and closes its circuits.
    pub(super) fn remove_link(&mut self, now: Instant, id: LinkId) {
        let place = self.links.get_mut(id.index());
        let Some(mut link) = place.and_then(Option::take) else {
            return;
        };
        self.by_peer.remove(&link.peer);
        self.timed.remove(&(link.alarm, id));
        self.handshaking -= usize::from(!link.open);
        if let Some(target) = link.opened_to
            && self.by_target.get(&target) == Some(&id)
        {
            self.by_target.remove(&target);
        }
        let circuits: Vec<CircuitKey> = link.names.circuits().collect();
        if !link.open || !circuits.is_empty() {
            self.note_lost(&link);
        }
        match link.peer {
            Peer::Stream(conn) => self.actions.push_back(Action::Close { conn }),
            Peer::Datagram(via, to) => {
                link.close(now);
                let mut bytes = Vec::new();
                while let Some(segment) = link.out.take_datagrams(&mut bytes) {
                    let transmit = Transmit { to, via, segment };
                    self.farewells
                        .push_back((transmit, std::mem::take(&mut bytes)));
                }
            }
        }
        for key in circuits {
            // The only link of a circuit that we build leads to its first hop.
            let building = self.building_hop(key).is_some();
            let why = if building {
                Failure::Hop { hop: 0 }
            } else {
                Failure::Closed(Reason::Unreachable)
            };
            self.end_circuit(now, key, Reason::Unreachable, Some(id), why);
        }
        self.host.remove_link(id);
    }

    /// Notes that a link failed that we opened.
    fn note_lost(&mut self, link: &Link) {
        let Some((_, to)) = link.opened_to.filter(|_| self.lost.len() < MOST_LOST) else {
            return;
        };
        let why = match link.state() {
            State::Closed(why) => Some(why.clone()),
            _ => None,
        };
        self.lost.push_back(LostLink { to, why });
    }

    /// Gives a circuit's name on a link back; a link that served this circuit only is closed.
    pub(super) fn free_name(&mut self, now: Instant, side: Side) {
        let alone = self.plan.multiplexing == Multiplexing::PerCircuit;
        let Some(link) = self.link_mut(side.link) else {
            return;
        };
        link.names.remove(side.name);
        link.used = now;
        if alone && link.opened_to.is_some() {
            // The neighbour still has to hear why; the upkeep closes the link.
            link.spent = true;
        }
    }

    /// Sends a set-up message.
    pub(super) fn send_setup(&mut self, now: Instant, link: LinkId, circuit: Name, body: &Body) {
        let mut bytes = Vec::with_capacity(Setup::LEN);
        let body = body.clone();
        Setup { circuit, body }.encode(&mut bytes);
        self.send_beside(now, link, bytes);
    }

    /// Tells a neighbour that a circuit that carries no data is closed.
    pub(super) fn send_destroy(
        &mut self,
        now: Instant,
        link: LinkId,
        circuit: Name,
        reason: Reason,
    ) {
        let destroy = Frame::Destroy(Destroy { circuit, reason });
        self.send_frame(now, link, &destroy);
    }

    /// Answers a probe of a circuit that carries no data yet.
    pub(super) fn answer_probe(&mut self, now: Instant, link: LinkId, circuit: Name) {
        let feedback = Feedback {
            circuit,
            ..Feedback::default()
        };
        self.send_frame(now, link, &Frame::Feedback(feedback));
    }

    /// Notes that the neighbour itself must answer what was sent last.
    pub(super) fn expect_answer(&mut self, now: Instant, link: LinkId) {
        if let Some(link) = self.link_mut(link).filter(|link| link.open) {
            link.asked.get_or_insert(now);
        }
    }

    /// Asks the neighbour about a circuit, so that it shows whether it is still there.
    pub(super) fn send_probe(&mut self, now: Instant, link: LinkId, circuit: Name) {
        self.send_frame(now, link, &Frame::Probe(circuit));
        self.expect_answer(now, link);
    }

    /// Sends a frame of the node's kind that the node knows nothing of.
    fn send_frame(&mut self, now: Instant, link: LinkId, frame: &Frame<OnionPayload>) {
        let mut bytes = Vec::new();
        frame.encode(self.plan.carrier, &mut bytes);
        self.send_beside(now, link, bytes);
    }

    /// Sends a frame on a link, in a datagram of its own, or lets it wait for the handshake.
    fn send_beside(&mut self, now: Instant, id: LinkId, frame: Vec<u8>) {
        if let Some(link) = self.link_mut(id) {
            link.send_beside(now, frame);
            self.queue_link(id);
        }
    }

    /// Puts a link among those that have something to send, if it has.
    pub(super) fn queue_link(&mut self, id: LinkId) {
        let Some(link) = self.link_mut(id) else {
            return;
        };
        if link.connected && !link.out.is_empty() && !link.out.queued {
            link.out.queued = true;
            self.sending.push_back(id);
        }
    }

    /// Whether circuits may be extended to a relay.
    pub(super) fn may_extend(&self, target: &(SocketAddr, Fingerprint)) -> bool {
        let known = self.config.extend_to.as_ref();
        known.is_none_or(|known| known.contains(target))
    }
}
