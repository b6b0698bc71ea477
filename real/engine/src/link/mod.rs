//! An engine's end of a link: its channel, the names of its circuits, and what waits to be sent.

mod inlet;
mod names;
mod outgoing;
mod table;

use std::net::SocketAddr;

use hopflow_channel::{DatagramChannel, Fingerprint, HANDSHAKE_TIMEOUT, State, StreamChannel};
use hopflow_onion::Introduction;
use hopflow_overlay::Multiplexing;
use hopflow_units::{CircuitId as Name, Duration, Instant};
use hopflow_wire::Carrier;

use crate::origin::Origin;
use crate::types::{CircuitKey, ConnId, OpenedLink, Target, Via};
pub(crate) use inlet::Arrived;
use inlet::Inlet;
pub(crate) use inlet::decode;
pub(crate) use names::{Named, Names};
use outgoing::Outgoing;
pub(crate) use table::{Doubted, LinkTable, Settled};

/// How often a neighbour may say which relay it is, and be wrong.
const MOST_INTRODUCTIONS: u8 = 3;
/// Frames that wait for a link's handshake at most; more are dropped, for all are repeated.
const MAX_WAITING: usize = 1024;
/// Bytes of frames that pass no queue of the node, sealed, that a link is given at most before it takes
/// more.
const MAX_BACKLOG: usize = 64 * 1024;
/// The same for a connection that did not take all that it was given before.
pub(crate) const MAX_BACKLOG_FULL: usize = 4 * 1024;
/// How long a connection may take to what it was given, less than 200 KiB.
const STUCK: Duration = Duration::from_secs(300);

/// How long a link is kept that has no circuit.
const IDLE: Duration = Duration::from_secs(60);
/// How long the neighbour keeps it, who leaves the first word to the one that opened it.
const IDLE_ACCEPTED: Duration = Duration::from_secs(120);
/// How long a neighbour on datagrams may be silent before it is asked whether it is there.
const QUIET: Duration = Duration::from_secs(15);
/// Time between answers to questions about circuits in set-up: less than between the two questions to a
/// neighbour that is doubted, so that one of these is answered whatever was asked before.
const ANSWERS: Duration = Duration::from_millis(100);
/// Bytes of answers about circuits that carry data, beyond what has arrived.
const MOST_CREDIT: usize = 64 * 1024;
/// Time between doubts about a link: somebody on the way can raise them all the time.
const DOUBTS: Duration = Duration::from_secs(2);
/// How long a neighbour on datagrams may be silent that was sent data or feedback a moment ago, before it is
/// asked whether it still has the link: who has lost it says so when it is asked.
const PAUSE: Duration = Duration::from_secs(1);
/// How long it may leave cells or such a question without any answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a neighbour on datagrams may be silent that opened the link, and so should ask.
const GONE: Duration = Duration::from_secs(60);

/// What secures a link.
#[derive(Debug)]
pub(crate) enum Channel {
    Datagram(Box<DatagramChannel>),
    Stream(Box<StreamChannel>, Inlet),
}

impl Channel {
    pub(crate) fn datagram(channel: DatagramChannel) -> Self {
        Self::Datagram(Box::new(channel))
    }

    pub(crate) fn stream(channel: StreamChannel) -> Self {
        Self::Stream(Box::new(channel), Inlet::default())
    }

    fn state(&self) -> &State {
        match self {
            Self::Datagram(channel) => channel.state(),
            Self::Stream(channel, _) => channel.state(),
        }
    }

    /// When the channel wants to hear the time.
    fn timeout(&self) -> Instant {
        match self {
            Self::Datagram(channel) => channel.poll_timeout(),
            Self::Stream(channel, _) => channel.poll_timeout(),
        }
    }

    /// Seals frames into a datagram, or onto the stream.
    #[inline]
    fn seal(&mut self, now: Instant, frames: &[u8], out: &mut Outgoing) {
        match self {
            Self::Datagram(channel) => out.push_datagram(|out| {
                channel.seal(now, frames, out);
            }),
            Self::Stream(channel, _) => out.push_bytes(|out| {
                channel.seal(now, frames, out);
            }),
        }
    }

    /// Takes what the channel itself has to send.
    #[inline]
    fn take_handshake(&mut self, now: Instant, out: &mut Outgoing) {
        match self {
            Self::Datagram(channel) => {
                let mut more = true;
                while more {
                    out.push_datagram(|out| more = channel.poll_transmit(now, out));
                }
            }
            Self::Stream(channel, _) => out.push_bytes(|out| {
                channel.poll_transmit(now, out);
            }),
        }
    }
}

/// Where a link leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Peer {
    /// Datagrams from and to an address, by one of our sockets.
    Datagram(Via, SocketAddr),
    /// A connection.
    Stream(ConnId),
}

/// Our end of a link.
#[derive(Debug)]
pub(crate) struct LinkEnd {
    pub(crate) peer: Peer,
    channel: Channel,
    /// Whom we asked for, if we opened the link.
    pub(crate) opened_to: Option<Target>,
    /// Who opened the link, or began the only circuit that we opened it for.
    pub(crate) origin: Option<Origin>,
    pub(crate) names: Names,
    /// Whether the carrier takes anything: a connection that we open does not at once.
    pub(crate) connected: bool,
    /// Whether the handshake is over.
    pub(crate) open: bool,
    control: Control,
    out: Outgoing,
    /// What a connection was given since it took all.
    given: Given,
    contact: Contact,
    /// When the engine lets the channel hear the time.
    alarm: Instant,
}

/// Which relay opened a link.
#[derive(Debug, Default)]
enum Introduced {
    /// Nobody has said it.
    #[default]
    Not,
    /// Our node, which says so in its CREATEs.
    Us(Introduction),
    /// The neighbour said so often what it could not prove.
    Failed(u8),
    /// The one with this fingerprint.
    Neighbour(Fingerprint),
}

/// Frames that pass no queue of the node.
#[derive(Debug, Default)]
struct Control {
    introduced: Introduced,
    /// Those that wait for the channel's handshake.
    waiting: Vec<Vec<u8>>,
    /// Bytes of those that were sealed since the connection took all; of datagrams nothing reads it.
    sealed: usize,
}

/// What becomes of a frame that passes no queue of the node.
#[derive(Debug)]
pub(crate) enum Sending {
    /// It is on its way.
    Sealed(Vec<u8>),
    /// It waits for the channel's handshake.
    Waits,
    /// It is lost.
    Dropped,
}

/// What a connection was given since it took all that it had.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    /// Since when; `None` if it has nothing.
    since: Option<Instant>,
    /// How much: the driver holds that at most.
    bytes: usize,
}

/// How a link and its neighbour are of use.
#[derive(Clone, Copy, Debug)]
struct Contact {
    /// When the link last had a circuit.
    used: Instant,
    /// When something arrived last.
    heard: Instant,
    /// When something left first, since then, that the neighbour must answer.
    asked: Option<Instant>,
    /// When a probe may be answered again that nothing has paid for.
    answers: Instant,
    /// Bytes of answers to probes that what arrived has paid for.
    credit: usize,
    /// Whether the link served one circuit only, which is gone.
    spent: bool,
    /// Whether something of the node left since the last pause.
    lively: bool,
    /// That the neighbour seemed not to have the link, if nothing of it came since then.
    doubt: Option<Doubt>,
    /// When it may be doubted again.
    doubts: Instant,
}

impl Contact {
    /// Notes that so many bytes arrived.
    #[inline]
    fn earn(&mut self, len: usize) {
        self.credit = (self.credit + len).min(MOST_CREDIT);
    }
}

/// A doubt whether the neighbour has the link.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    since: Instant,
    asked_again: bool,
}

/// What is to be done about a neighbour on datagrams, whose end nobody tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is there, or will show whether it is.
    Wait,
    /// It is to be asked about this circuit.
    Ask(Name),
    /// The same, and no answer means nothing.
    Wonder(Name),
    /// It is gone.
    Gone,
}

impl LinkEnd {
    /// A link that a neighbour opened.
    pub(crate) fn accepted(peer: Peer, channel: Channel, by: Origin, now: Instant) -> Self {
        Self {
            origin: Some(by),
            ..Self::new(peer, channel, now)
        }
    }

    /// A link that we open, where we introduce ourselves if we are a relay.
    pub(crate) fn opened(
        target: Target,
        (peer, channel): (Peer, Channel),
        introduction: Option<Introduction>,
        now: Instant,
    ) -> Self {
        Self {
            control: Control {
                introduced: introduction.map_or(Introduced::Not, Introduced::Us),
                ..Control::default()
            },
            opened_to: Some(target),
            connected: matches!(peer, Peer::Datagram(..)),
            ..Self::new(peer, channel, now)
        }
    }

    fn new(peer: Peer, channel: Channel, now: Instant) -> Self {
        Self {
            peer,
            channel,
            opened_to: None,
            origin: None,
            names: Names::default(),
            connected: true,
            open: false,
            control: Control::default(),
            out: Outgoing::default(),
            given: Given::default(),
            contact: Contact {
                used: now,
                heard: now,
                asked: None,
                answers: now,
                credit: MOST_CREDIT,
                spent: false,
                lively: false,
                doubt: None,
                doubts: now,
            },
            alarm: Instant::FAR_FUTURE,
        }
    }

    /// How the driver knows the link, if we opened it.
    pub(crate) fn opened_link(&self) -> Option<OpenedLink> {
        let (to, _) = self.opened_to?;
        let conn = match self.peer {
            Peer::Datagram(..) => None,
            Peer::Stream(conn) => Some(conn),
        };
        Some(OpenedLink { to, conn })
    }

    /// What says which relay we are, if we opened the link.
    pub(crate) fn introduction(&self) -> Option<Introduction> {
        match &self.control.introduced {
            Introduced::Us(introduction) => Some(introduction.clone()),
            _ => None,
        }
    }

    /// The relay that opened the link, if it has proven that.
    pub(crate) const fn opened_by(&self) -> Option<Fingerprint> {
        match self.control.introduced {
            Introduced::Neighbour(fingerprint) => Some(fingerprint),
            _ => None,
        }
    }

    /// Hears from the neighbour that opened the link which relay it is, if `proven` says so; that is work, so it
    /// is asked a few times only.
    pub(crate) fn introduce(&mut self, proven: impl FnOnce() -> Option<Fingerprint>) {
        let introduced = &mut self.control.introduced;
        let failed = match introduced {
            Introduced::Not if self.opened_to.is_none() => 0,
            Introduced::Failed(times) if *times < MOST_INTRODUCTIONS => *times,
            _ => return,
        };
        *introduced = proven().map_or(Introduced::Failed(failed + 1), Introduced::Neighbour);
    }

    /// How far the channel is.
    pub(crate) fn state(&self) -> &State {
        self.channel.state()
    }

    /// Reads the frames of the first datagrams, of `segment` bytes each but the last: of as many as
    /// [`DatagramChannel::joined`] says. Returns their bytes, and how many records held something that
    /// was no frame.
    pub(crate) fn receive_datagrams(
        &mut self,
        now: Instant,
        (segment, data): (usize, &[u8]),
        arrived: &mut Vec<Arrived>,
    ) -> (usize, u64) {
        let Channel::Datagram(channel) = &mut self.channel else {
            return (data.len(), 0);
        };
        let taken = channel.joined(segment, data);
        self.contact.earn(taken);
        let mut garbage = 0;
        channel.receive(now, &data[..taken], &mut |plain| {
            garbage += u64::from(decode(plain, Carrier::Datagram, arrived).is_err());
        });
        if !arrived.is_empty() {
            // What ends a pause may be the answer to a question.
            self.contact.lively &= now.saturating_since(self.contact.heard) < PAUSE;
            self.contact.heard = now;
            self.contact.asked = None;
            self.contact.doubt = None;
        }
        (taken, garbage)
    }

    /// Whether the neighbour said since the last call that it does not have the link.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> bool {
        match &mut self.channel {
            Channel::Datagram(channel) => channel.take_lost(),
            Channel::Stream(..) => false,
        }
    }

    /// Reads the frames in bytes of a connection; false if some of it was no frame.
    pub(crate) fn receive_bytes(
        &mut self,
        now: Instant,
        data: &[u8],
        arrived: &mut Vec<Arrived>,
    ) -> bool {
        self.contact.earn(data.len());
        let Channel::Stream(channel, inlet) = &mut self.channel else {
            return true;
        };
        channel.receive(now, data, &mut |plain| inlet.read(plain, arrived));
        !inlet.is_broken()
    }

    /// Whether a datagram may be of this link, and does not begin another one.
    #[inline]
    pub(crate) fn is_of(&self, data: &[u8]) -> bool {
        match &self.channel {
            Channel::Datagram(channel) => channel.is_of(data),
            Channel::Stream(..) => false,
        }
    }

    /// Whether a neighbour that begins anew from the same address, which it has proven, has its way:
    /// it has lost what it knew (RFC 9147, section 4.2.8). A link whose circuits spoke a moment ago
    /// stays, for who sees the neighbour's opening can repeat it.
    pub(crate) fn gives_way(&self, now: Instant) -> bool {
        let quiet = now.saturating_since(self.contact.heard) >= QUIET;
        self.opened_to.is_none() && (!self.open || self.names.len() == 0 || quiet)
    }

    /// Whether the link is doubted if its neighbour seems not to have it.
    pub(crate) fn may_be_doubted(&mut self, now: Instant) -> bool {
        let may = now >= self.contact.doubts;
        if may {
            self.contact.doubts = now + DOUBTS;
        }
        may
    }

    /// Seals the node's frames into a datagram, or onto the stream.
    #[inline]
    pub(crate) fn seal_of_node(&mut self, now: Instant, frames: &[u8]) {
        self.contact.lively = true;
        self.seal(now, frames);
    }

    #[inline]
    fn seal(&mut self, now: Instant, frames: &[u8]) {
        self.channel.seal(now, frames, &mut self.out);
    }

    /// Seals a frame that passes no queue of the node, or lets it wait for the handshake. Like a
    /// datagram it may be lost: a neighbour that takes nothing cannot make us keep what it asks
    /// for.
    pub(crate) fn send_control(&mut self, now: Instant, frame: Vec<u8>) -> Sending {
        let control = &mut self.control;
        if !self.open {
            // What is repeated while it waits need not be said twice.
            if control.waiting.len() >= MAX_WAITING || control.waiting.contains(&frame) {
                return Sending::Dropped;
            }
            control.waiting.push(frame);
            return Sending::Waits;
        }
        let before = self.out.len();
        let (waits, most) = match self.channel {
            Channel::Stream(..) if self.given.bytes > 0 => (control.sealed, MAX_BACKLOG_FULL),
            Channel::Stream(..) => (control.sealed, MAX_BACKLOG),
            Channel::Datagram(_) => (before, MAX_BACKLOG),
        };
        if waits >= most {
            return Sending::Dropped;
        }
        self.seal(now, &frame);
        self.control.sealed += self.out.len() - before;
        Sending::Sealed(frame)
    }

    /// Whether answers about circuits that are not there may leave: a connection that has not taken what it
    /// was given gets few.
    pub(crate) const fn takes_answers(&self) -> bool {
        self.given.bytes < MAX_BACKLOG_FULL
    }

    /// The connection took all that it was given.
    pub(crate) fn on_room(&mut self) {
        self.control.sealed = 0;
        self.given = Given::default();
    }

    /// Takes what waits for the connection.
    fn take_bytes(&mut self, now: Instant) -> outgoing::Taken {
        self.given.since.get_or_insert(now);
        self.given.bytes += self.out.len();
        self.out.take_bytes()
    }

    /// The memory of names, of what waits to be sent here and, of a connection, at the driver, and of what arrived
    /// there without its end.
    pub(crate) fn memory(&self) -> u64 {
        let waiting = self.control.waiting.iter().map(Vec::capacity);
        let waiting = self.out.capacity() + self.given.bytes + waiting.sum::<usize>();
        let partial = match &self.channel {
            Channel::Datagram(_) => 0,
            Channel::Stream(channel, inlet) => channel.buffered() + inlet.memory(),
        };
        self.names.memory() + (waiting + partial) as u64
    }

    /// Whether a connection has not taken what it was given long ago.
    pub(crate) fn is_stuck(&self, now: Instant) -> bool {
        let since = self.given.since;
        since.is_some_and(|since| now.saturating_since(since) >= STUCK)
    }

    /// The handshake is over: sends what waited for it, and returns that.
    fn on_open(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.open = true;
        let waiting = std::mem::take(&mut self.control.waiting);
        for frame in &waiting {
            self.seal(now, frame);
        }
        waiting
    }

    /// Lets the channel hear the time.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.channel {
            Channel::Datagram(channel) => channel.handle_timeout(now),
            Channel::Stream(channel, _) => channel.handle_timeout(now),
        }
    }

    /// Says goodbye.
    fn close(&mut self, now: Instant) {
        match &mut self.channel {
            Channel::Datagram(channel) => channel.close(),
            Channel::Stream(channel, _) => channel.close(),
        }
        self.channel.take_handshake(now, &mut self.out);
    }

    /// Whether a probe of a circuit in set-up is answered now. A neighbour asks every
    /// [`QUIET`] time; more often it would have us send more than it does.
    pub(crate) fn may_answer(&mut self, now: Instant) -> bool {
        let may = now >= self.contact.answers;
        if may {
            self.contact.answers = now + ANSWERS;
        }
        may
    }

    /// Whether a probe of a circuit that carries data is answered now, by `len` bytes at most. Probes are short,
    /// and may be of many circuits: all answers together take no more than what arrived, or are as few as those about
    /// circuits in set-up. Who probes because it waits does so again.
    pub(crate) fn affords_answer(&mut self, now: Instant, len: usize) -> bool {
        if let Some(left) = self.contact.credit.checked_sub(len) {
            self.contact.credit = left;
            return true;
        }
        self.may_answer(now)
    }

    /// Notes that the neighbour itself must answer what was sent last.
    #[inline]
    pub(crate) fn expect_answer(&mut self, now: Instant) {
        self.contact.asked.get_or_insert(now);
    }

    /// Gives a circuit's name back.
    pub(crate) fn free(&mut self, now: Instant, name: Name, multiplexing: Multiplexing) {
        self.names.remove(name);
        self.contact.used = now;
        if multiplexing == Multiplexing::PerCircuit && self.opened_to.is_some() {
            // The neighbour still has to hear why; the upkeep closes the link.
            self.contact.spent = true;
        }
    }

    /// Whether nobody needs the link, or nobody finishes its handshake.
    pub(crate) fn is_expired(&self, now: Instant, multiplexing: Multiplexing) -> bool {
        let alone = multiplexing == Multiplexing::PerCircuit;
        let patience = match (self.open, self.opened_to) {
            (false, _) => HANDSHAKE_TIMEOUT,
            (true, Some(_)) if alone && self.contact.spent => Duration::ZERO,
            (true, Some(_)) => IDLE,
            (true, None) => IDLE_ACCEPTED,
        };
        let unused = self.names.len() == 0 || !self.open;
        unused && now.saturating_since(self.contact.used) >= patience
    }

    /// What is to be done about the neighbour; `is_open` says whether a circuit carries data. Who
    /// opened a link asks.
    pub(crate) fn verdict(&self, now: Instant, is_open: impl Fn(CircuitKey) -> bool) -> Verdict {
        let since = |at: Instant| now.saturating_since(at);
        let silence = since(self.contact.heard);
        let asked = self.contact.asked;
        if asked.is_some_and(|asked| since(asked) >= PATIENCE) {
            return Verdict::Gone;
        }
        let pauses = self.contact.lively && silence >= PAUSE;
        if !self.open || silence < QUIET && !pauses {
            return Verdict::Wait;
        }
        let carries = self.names.iter().find(|(_, key)| is_open(*key));
        match carries {
            Some((name, _)) if self.opened_to.is_some() && silence < QUIET => Verdict::Wonder(name),
            Some((name, _)) if self.opened_to.is_some() => Verdict::Ask(name),
            Some(_) if silence >= GONE => Verdict::Gone,
            _ => Verdict::Wait,
        }
    }
}
