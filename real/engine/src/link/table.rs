//! The links of an engine: by number, by neighbour, by what they have to do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use hopflow_channel::State;
use hopflow_units::{CircuitId as Name, Duration, Instant, LinkId};

use super::outgoing::Taken;
use super::{Doubt, LinkEnd, Named, Peer};
use crate::origin::Held;
use crate::types::{ConnId, Target, Transmit, Via};

/// How long a neighbour may take to show that it has a link after somebody said in its name that it does
/// not, before it is asked again and, if it has been, before the link is given up.
const DOUBT: Duration = Duration::from_millis(250);

/// Answers to strangers that wait at most.
const MOST_STRAYS: usize = 1024;

/// What is to be done about a link whose neighbour has not shown that it has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doubted {
    /// It is to be asked again.
    Ask(LinkId),
    /// The link is gone.
    Gone(LinkId),
}

/// All links.
#[derive(Debug, Default)]
pub(crate) struct LinkTable {
    /// By their numbers in the node.
    links: Vec<Option<LinkEnd>>,
    by_peer: BTreeMap<Peer, LinkId>,
    /// Links that we opened and that carry any number of circuits.
    by_target: BTreeMap<Target, LinkId>,
    /// Links whose channel wants to hear the time.
    timed: BTreeSet<(Instant, LinkId)>,
    /// How many links we opened.
    opened: usize,
    /// Links that others opened.
    accepted: Held<LinkId>,
    /// Of these, those whose handshake is not over.
    handshakes: Held<LinkId>,
    /// Links that we opened for one circuit each, by who began that.
    asked_for: Held<LinkId>,
    sending: SendQueue,
    /// Links whose neighbours said that they do not have them, in the order in which their doubts are looked
    /// at: when, and since when they are doubted.
    doubts: VecDeque<(Instant, LinkId, Instant)>,
    connections: u64,
}

/// What the driver takes next.
#[derive(Debug, Default)]
struct SendQueue {
    /// Links with something to send.
    links: VecDeque<LinkId>,
    /// Which of them stand in the queue, by their numbers.
    queued: Vec<bool>,
    /// Datagrams of no link: the last ones of links that are gone, and answers to strangers.
    strays: VecDeque<(Transmit, Vec<u8>)>,
    /// The one that the driver took last.
    said: Vec<u8>,
}

impl SendQueue {
    fn push(&mut self, link: LinkId) {
        if self.queued.len() <= link.index() {
            self.queued.resize(link.index() + 1, false);
        }
        if !std::mem::replace(&mut self.queued[link.index()], true) {
            self.links.push_back(link);
        }
    }

    /// Lets a datagram of no link wait.
    fn push_stray(&mut self, via: Via, to: SocketAddr, bytes: &[u8]) {
        let segment = bytes.len();
        let transmit = Transmit { to, via, segment };
        self.strays.push_back((transmit, bytes.to_vec()));
    }

    fn pop(&mut self) {
        if let Some(link) = self.links.pop_front() {
            self.queued[link.index()] = false;
        }
    }
}

/// How a link is after something arrived or time passed.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    /// It goes on.
    Lives,
    /// Its handshake is over: these frames waited for that and have been sealed.
    Opened(Vec<Vec<u8>>),
    /// Its channel is closed: it is to be removed.
    Closed,
}

/// Bytes that the driver takes: of a link, or of none.
#[derive(Debug)]
pub(crate) enum Batch {
    Stray,
    Of(LinkId, Taken),
}

impl LinkTable {
    pub(crate) fn len(&self) -> usize {
        self.by_peer.len()
    }

    /// How many links we opened.
    pub(crate) const fn opened(&self) -> usize {
        self.opened
    }

    /// Links that others opened.
    pub(crate) const fn accepted(&self) -> &Held<LinkId> {
        &self.accepted
    }

    /// Of these, those whose handshake is not over.
    pub(crate) const fn handshakes(&self) -> &Held<LinkId> {
        &self.handshakes
    }

    /// Links that we opened for one circuit each, by who began that.
    pub(crate) const fn asked_for(&self) -> &Held<LinkId> {
        &self.asked_for
    }

    #[inline]
    pub(crate) fn get(&self, id: LinkId) -> Option<&LinkEnd> {
        self.links.get(id.index())?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: LinkId) -> Option<&mut LinkEnd> {
        self.links.get_mut(id.index())?.as_mut()
    }

    /// The link to a neighbour.
    #[inline]
    pub(crate) fn find(&self, peer: &Peer) -> Option<LinkId> {
        self.by_peer.get(peer).copied()
    }

    /// A link that we opened to a relay and that takes further circuits.
    pub(crate) fn find_target(&self, target: &Target) -> Option<LinkId> {
        self.by_target.get(target).copied()
    }

    /// The circuit of this name on a link.
    #[inline]
    pub(crate) fn named(&self, link: LinkId, circuit: Name) -> Option<Named> {
        self.get(link)?.names.get(circuit)
    }

    /// All links, in the order of their neighbours.
    pub(crate) fn ids(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.by_peer.values().copied()
    }

    /// All links with their numbers, in the order of their neighbours.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LinkId, &LinkEnd)> + '_ {
        self.ids().filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Gives back the memory of buffers in which nothing waits.
    pub(crate) fn shrink(&mut self) {
        for link in self.links.iter_mut().flatten() {
            link.out.shrink();
        }
    }

    /// The memory that links take beside what each of them has, in bytes: names of circuits, and what
    /// waits to be sent.
    pub(crate) fn memory(&self) -> u64 {
        self.links.iter().flatten().map(LinkEnd::memory).sum()
    }

    /// A name for a connection.
    pub(crate) const fn new_connection(&mut self) -> ConnId {
        self.connections += 1;
        ConnId(self.connections)
    }

    /// Adds a link; if it is `shared`, further circuits to the same relay may find it.
    pub(crate) fn insert(&mut self, id: LinkId, link: LinkEnd, shared: bool) {
        if self.links.len() <= id.index() {
            self.links.resize_with(id.index() + 1, || None);
        }
        self.by_peer.insert(link.peer, id);
        if let Some(target) = link.opened_to.filter(|_| shared) {
            self.by_target.insert(target, id);
        }
        match (link.origin, link.opened_to) {
            (Some(origin), None) => {
                self.accepted.insert(origin, id);
                self.handshakes.insert(origin, id);
            }
            (asked, _) => {
                self.opened += 1;
                if let Some(origin) = asked {
                    self.asked_for.insert(origin, id);
                }
            }
        }
        self.links[id.index()] = Some(link);
    }

    /// Takes a link out.
    pub(crate) fn remove(&mut self, id: LinkId) -> Option<LinkEnd> {
        let link = self.links.get_mut(id.index())?.take()?;
        self.by_peer.remove(&link.peer);
        self.timed.remove(&(link.alarm, id));
        self.opened -= usize::from(link.opened_to.is_some());
        if let Some(origin) = link.origin {
            for held in [
                &mut self.accepted,
                &mut self.handshakes,
                &mut self.asked_for,
            ] {
                held.remove(origin, id);
            }
        }
        if let Some(target) = link.opened_to
            && self.by_target.get(&target) == Some(&id)
        {
            self.by_target.remove(&target);
        }
        Some(link)
    }

    /// Says goodbye to the neighbour on a link that was taken out; on connections the end says it.
    pub(crate) fn part(&mut self, now: Instant, mut link: LinkEnd) {
        let Peer::Datagram(via, to) = link.peer else {
            return;
        };
        link.close(now);
        // Frames that wait mean nothing behind the goodbye, which comes last. It is short, and there are as many as
        // there were links.
        if let Some(goodbye) = link.out.last_datagram() {
            self.sending.push_stray(via, to, goodbye);
        }
    }

    /// Sends a datagram to somebody to whom there is no link, unless many wait.
    pub(crate) fn answer_stranger(&mut self, (via, to): (Via, SocketAddr), bytes: &[u8]) {
        if self.sending.strays.len() < MOST_STRAYS {
            self.sending.push_stray(via, to, bytes);
        }
    }

    /// Takes what a link's channel has to send and looks at its state.
    pub(crate) fn settle(&mut self, now: Instant, id: LinkId) -> Settled {
        let Some(link) = self.links.get_mut(id.index()).and_then(Option::as_mut) else {
            return Settled::Lives;
        };
        link.channel.take_handshake(now, &mut link.out);
        let mut settled = Settled::Lives;
        match link.state() {
            State::Closed(_) => return Settled::Closed,
            State::Open if !link.open => {
                settled = Settled::Opened(link.on_open(now));
                if let Some(origin) = link.origin {
                    self.handshakes.remove(origin, id);
                }
            }
            _ => {}
        }
        let timeout = link.channel.timeout();
        if timeout != link.alarm {
            self.timed.remove(&(link.alarm, id));
            link.alarm = timeout;
            if timeout < Instant::FAR_FUTURE {
                self.timed.insert((timeout, id));
            }
        }
        self.queue(id);
        settled
    }

    /// When a channel wants to hear the time; `None` if none does.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.timed.first().map(|(at, _)| *at)
    }

    /// The links whose channels want to hear the time by now.
    pub(crate) fn due(&self, now: Instant) -> Vec<LinkId> {
        let due = self.timed.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, id)| *id).collect()
    }

    /// Notes that a link's neighbour said that it does not have it, and gives it some time to show
    /// otherwise; false if it has that already.
    pub(crate) fn doubt(&mut self, now: Instant, id: LinkId) -> bool {
        let link = self.get_mut(id);
        let Some(link) = link.filter(|link| link.contact.doubt.is_none()) else {
            return false;
        };
        link.contact.doubt = Some(Doubt {
            since: now,
            asked_again: false,
        });
        self.doubts.push_back((now + DOUBT, id, now));
        true
    }

    /// When the first of these links is to be looked at; `None` if there are none.
    pub(crate) fn doubt_timeout(&self) -> Option<Instant> {
        self.doubts.front().map(|(at, ..)| *at)
    }

    /// The next link whose neighbour did not show in time that it has it. It is asked twice: one datagram may be
    /// lost, or not be answered because another was a moment ago.
    pub(crate) fn take_doubted(&mut self, now: Instant) -> Option<Doubted> {
        while let Some(&(at, id, since)) = self.doubts.front()
            && at <= now
        {
            self.doubts.pop_front();
            let link = self.get_mut(id);
            let doubt = link.and_then(|link| link.contact.doubt.as_mut());
            // It may have shown that, and be doubted anew since.
            let Some(doubt) = doubt.filter(|doubt| doubt.since == since) else {
                continue;
            };
            if doubt.asked_again {
                return Some(Doubted::Gone(id));
            }
            doubt.asked_again = true;
            self.doubts.push_back((now + DOUBT, id, since));
            return Some(Doubted::Ask(id));
        }
        None
    }

    /// Puts a link among those that have something to send, if it has.
    #[inline]
    pub(crate) fn queue(&mut self, id: LinkId) {
        if self
            .get(id)
            .is_some_and(|link| link.connected && !link.out.is_empty())
        {
            self.sending.push(id);
        }
    }

    /// Takes datagrams for one neighbour.
    pub(crate) fn take_datagrams(&mut self) -> Option<(Transmit, Batch)> {
        if let Some((transmit, bytes)) = self.sending.strays.pop_front() {
            self.sending.said = bytes;
            return Some((transmit, Batch::Stray));
        }
        while let Some(&id) = self.sending.links.front() {
            if let Some(link) = self.get_mut(id)
                && let Peer::Datagram(via, to) = link.peer
                && let Some((segment, taken)) = link.out.take_datagrams()
            {
                return Some((Transmit { to, via, segment }, Batch::Of(id, taken)));
            }
            self.sending.pop();
        }
        None
    }

    /// Takes the bytes for one connection.
    pub(crate) fn take_bytes(&mut self, now: Instant) -> Option<(ConnId, Batch)> {
        while let Some(&id) = self.sending.links.front() {
            self.sending.pop();
            if let Some(link) = self.get_mut(id)
                && let Peer::Stream(conn) = link.peer
                && !link.out.is_empty()
            {
                return Some((conn, Batch::Of(id, link.take_bytes(now))));
            }
        }
        None
    }

    /// The bytes that were taken last.
    pub(crate) fn bytes(&self, batch: &Batch) -> &[u8] {
        match batch {
            Batch::Stray => &self.sending.said,
            Batch::Of(id, taken) => self.get(*id).map_or(&[], |link| link.out.get(taken)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Channel;
    use crate::origin::Origin;
    use hopflow_channel::{DatagramChannel, Fingerprint, StreamChannel};

    const START: Instant = Instant::from_nanos(1);

    fn target(port: u16) -> Target {
        let address = SocketAddr::from(([10, 0, 0, 1], port));
        (address, Fingerprint::from_bytes([port as u8; 32]))
    }

    /// A link that we open by datagrams.
    fn datagrams(port: u16) -> LinkEnd {
        #[expect(
            clippy::disallowed_methods,
            reason = "the origin's value does not matter"
        )]
        let epoch = std::time::Instant::now();
        let (to, fingerprint) = target(port);
        let channel = Channel::datagram(DatagramChannel::connect(fingerprint, epoch));
        let peer = Peer::Datagram(Via::Outgoing, to);
        LinkEnd::opened((to, fingerprint), (peer, channel), None, START)
    }

    /// A link that we open by a connection.
    fn connection(table: &mut LinkTable, port: u16) -> LinkEnd {
        let channel = Channel::stream(StreamChannel::connect(target(port).1));
        let peer = Peer::Stream(table.new_connection());
        LinkEnd::opened(target(port), (peer, channel), None, START)
    }

    #[test]
    fn a_link_is_found_by_neighbour_and_relay_until_it_is_removed() {
        let mut table = LinkTable::default();
        let id = LinkId::new(3);
        let link = datagrams(5);
        let peer = link.peer;
        table.insert(id, link, true);
        assert_eq!((table.accepted().len(), table.opened()), (0, 1));
        assert_eq!(table.find(&peer), Some(id));
        assert_eq!(table.find_target(&target(5)), Some(id));
        assert!(table.remove(id).is_some());
        assert!(table.remove(id).is_none());
        assert_eq!((table.len(), table.opened()), (0, 0));
        assert_eq!(
            (table.find(&peer), table.find_target(&target(5))),
            (None, None)
        );
    }

    #[test]
    fn a_link_of_one_circuit_is_not_found_for_another() {
        let mut table = LinkTable::default();
        table.insert(LinkId::new(0), datagrams(5), false);
        assert_eq!(table.find_target(&target(5)), None);
    }

    #[test]
    fn what_a_channel_has_to_say_is_taken_once_and_repeated_in_time() {
        let mut table = LinkTable::default();
        let id = LinkId::new(0);
        table.insert(id, datagrams(5), true);
        assert_eq!(table.settle(START, id), Settled::Lives);
        let (transmit, batch) = table.take_datagrams().expect("a first flight");
        assert_eq!(transmit.to, target(5).0);
        assert_eq!(table.bytes(&batch).len(), transmit.segment);
        assert!(table.take_datagrams().is_none());
        let at = table.timeout().expect("it is repeated");
        assert!(table.due(START).is_empty());
        assert_eq!(table.due(at), [id]);
        table.get_mut(id).unwrap().handle_timeout(at);
        assert_eq!(table.settle(at, id), Settled::Lives);
        assert!(table.take_datagrams().is_some());
        let late = START + Duration::from_secs(3600);
        table.get_mut(id).unwrap().handle_timeout(late);
        assert_eq!(table.settle(late, id), Settled::Closed);
    }

    #[test]
    fn a_connection_sends_nothing_before_it_is_there() {
        let mut table = LinkTable::default();
        let id = LinkId::new(0);
        let link = connection(&mut table, 5);
        table.insert(id, link, true);
        table.settle(START, id);
        assert!(table.take_bytes(START).is_none());
        table.get_mut(id).unwrap().connected = true;
        table.settle(START, id);
        let (_, batch) = table.take_bytes(START).expect("a first flight");
        assert!(!table.bytes(&batch).is_empty());
        assert!(table.take_bytes(START).is_none());
    }

    /// Adds a link that a neighbour of a network opened so many seconds after the start.
    fn accept(table: &mut LinkTable, id: u32, mut link: LinkEnd, network: u8, after: u64) {
        let from = [10, 0, network, 1].into();
        let now = START + Duration::from_secs(after);
        link = LinkEnd::accepted(link.peer, link.channel, Origin::new(from, now), now);
        table.insert(LinkId::new(id), link, false);
    }

    #[test]
    fn handshakes_and_links_count_for_who_opened_them() {
        let mut table = LinkTable::default();
        for (id, network) in [(0, 1), (1, 2), (2, 2)] {
            let link = connection(&mut table, id as u16);
            accept(&mut table, id, link, network, id.into());
        }
        table.insert(LinkId::new(7), datagrams(7), true);
        for held in [table.handshakes(), table.accepted()] {
            assert_eq!(held.first_to_go(), Some(LinkId::new(1)));
            assert_eq!(held.len(), 3);
        }
        assert_eq!((table.opened(), table.asked_for().len()), (1, 0));
        table.remove(LinkId::new(1));
        assert_eq!((table.handshakes().len(), table.accepted().len()), (2, 2));
    }

    #[test]
    fn a_link_for_one_circuit_counts_for_who_asked() {
        let mut table = LinkTable::default();
        let mut link = connection(&mut table, 5);
        link.origin = Some(Origin::new([10, 0, 3, 1].into(), START));
        let id = LinkId::new(4);
        table.insert(id, link, false);
        assert_eq!((table.opened(), table.accepted().len()), (1, 0));
        assert_eq!(table.asked_for().first_to_go(), Some(id));
        table.remove(id);
        assert_eq!((table.opened(), table.asked_for().len()), (0, 0));
    }

    #[test]
    fn all_links_say_goodbye_and_nothing_else() {
        let mut table = LinkTable::default();
        for port in 0..2 * MOST_STRAYS as u16 {
            let (id, mut link) = (LinkId::new(u32::from(port)), datagrams(port));
            link.out.push_datagram(|out| out.extend([7; 1400]));
            link.out.push_datagram(|out| out.extend([8; 30]));
            table.insert(id, link, false);
            let link = table.remove(id).expect("it was inserted");
            table.part(START, link);
        }
        let bytes: usize = table
            .sending
            .strays
            .iter()
            .map(|(_, said)| said.len())
            .sum();
        assert_eq!(
            (table.sending.strays.len(), bytes),
            (2 * MOST_STRAYS, 30 * 2 * MOST_STRAYS)
        );
    }

    #[test]
    fn answers_to_strangers_are_bounded() {
        let mut table = LinkTable::default();
        for _ in 0..2 * MOST_STRAYS {
            table.answer_stranger((Via::Listening(None), target(5).0), &[1, 2, 3]);
        }
        let taken = std::iter::from_fn(|| table.take_datagrams()).count();
        assert_eq!(taken, MOST_STRAYS);
    }
}
