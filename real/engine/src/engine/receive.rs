//! What arrives: datagrams and bytes become frames, and frames go where they belong.

use std::net::SocketAddr;

use hopflow_channel::{DatagramChannel, Knock};
use hopflow_onion::OnionPayload;
use hopflow_trace::Way;
use hopflow_trace::link::Seen;
use hopflow_units::{CircuitId as Name, Instant, LinkId};
use hopflow_wire::{Carrier, Cell, Destroy, Frame, Reason};

use super::Engine;
use super::observe::without_payload;
use crate::circuit::Phase;
use crate::crypt::{Crypt, Numbering};
use crate::link::{Arrived, Channel, LinkEnd, Peer, Settled};
use crate::types::{CircuitKey, ConnId, Failure, Via};

impl Engine {
    /// Takes a datagram.
    pub fn receive_datagram(&mut self, now: Instant, via: Via, from: SocketAddr, data: &[u8]) {
        self.receive_datagrams(now, via, from, data.len(), data);
    }

    /// Takes datagrams that came from one address one after the other, all of `segment` bytes but the
    /// last, which may be shorter. It costs less than to take each by itself. Returns the bytes by which
    /// neighbours with a link said something, which nobody else can have sent.
    pub fn receive_datagrams(
        &mut self,
        now: Instant,
        via: Via,
        from: SocketAddr,
        segment: usize,
        data: &[u8],
    ) -> u64 {
        let peer = Peer::Datagram(via, from);
        let (mut rest, mut heard) = (data, 0);
        while !rest.is_empty() {
            let (first, _) = rest.split_at(segment.clamp(1, rest.len()));
            // An observer hears of each datagram.
            let joined = if self.observer.is_some() { first } else { rest };
            let (taken, spoken) = match self.link_of(now, peer, first) {
                Some(id) => self.receive_joined(now, id, (first.len(), joined)),
                None => (first.len(), false),
            };
            heard += if spoken { taken as u64 } else { 0 };
            rest = &rest[taken..];
        }
        heard
    }

    /// The link that a datagram is of; a new one if the neighbour calls with it.
    #[inline]
    fn link_of(&mut self, now: Instant, peer: Peer, datagram: &[u8]) -> Option<LinkId> {
        let known = self.links.find(&peer);
        let is_of = |id| self.links.get(id).is_some_and(|link| link.is_of(datagram));
        if known.is_some_and(is_of) {
            return known;
        }
        self.admit_datagrams(now, peer, datagram)
    }

    /// Takes as many datagrams as a link takes together; returns their bytes, and whether the neighbour said
    /// anything by them.
    #[inline]
    fn receive_joined(
        &mut self,
        now: Instant,
        id: LinkId,
        datagrams: (usize, &[u8]),
    ) -> (usize, bool) {
        let mut arrived = std::mem::take(&mut self.buffers.arrived);
        let (taken, garbage) = match self.links.get_mut(id) {
            Some(link) => link.receive_datagrams(now, datagrams, &mut arrived),
            None => (datagrams.1.len(), 0),
        };
        self.counters.garbage += garbage;
        if let Some(link) = self.links.get_mut(id)
            && link.take_lost()
        {
            self.doubt_link(now, id);
        }
        self.after_channel(now, id);
        let spoken = !arrived.is_empty();
        self.take_arrived(now, id, arrived);
        (taken, spoken)
    }

    /// Takes a neighbour that calls, perhaps in place of the link that it had. Nothing is kept of who
    /// has not proven its address, nor does it change what is there.
    fn admit_datagrams(&mut self, now: Instant, peer: Peer, data: &[u8]) -> Option<LinkId> {
        let Peer::Datagram(via @ Via::Listening(_), from) = peer else {
            return None;
        };
        let carrier = self.plan.link.carrier == Carrier::Datagram;
        let relay = self.config.relay.clone().filter(|_| carrier)?;
        match self.admission.knock(now, from, data) {
            Knock::Strange => return None,
            // Of another worker, which began anew, or of a neighbour whose address changed.
            Knock::Lost(answer) => {
                if self.links.find(&peer).is_none() && self.admission.allows_answer(now, from.ip())
                {
                    self.links.answer_stranger((via, from), &answer);
                }
                return None;
            }
            Knock::Unproven(answer) => {
                self.links.answer_stranger((via, from), &answer);
                return None;
            }
            Knock::Proven => {}
        }
        let old = self.links.find(&peer);
        if let Some(old) = old
            && !self.links.get(old).is_some_and(|old| old.gives_way(now))
        {
            // If the neighbour began anew, it does not answer, and repeats its opening.
            self.doubt_link(now, old);
            return None;
        }
        let epoch = self.config.epoch;
        self.admit(now, peer, (from.ip(), old), || {
            Channel::datagram(DatagramChannel::accept(&relay.certificate, epoch))
        })
    }

    /// Takes bytes of a connection.
    pub fn receive_bytes(&mut self, now: Instant, conn: ConnId, data: &[u8]) {
        let Some(id) = self.links.find(&Peer::Stream(conn)) else {
            return;
        };
        let mut arrived = std::mem::take(&mut self.buffers.arrived);
        let sound = self
            .links
            .get_mut(id)
            .is_none_or(|link| link.receive_bytes(now, data, &mut arrived));
        self.after_channel(now, id);
        self.take_arrived(now, id, arrived);
        if !sound {
            self.counters.garbage += 1;
            self.remove_link(now, id);
        }
    }

    /// Takes what a channel has to send and looks at its state.
    #[inline]
    pub(super) fn after_channel(&mut self, now: Instant, id: LinkId) {
        match self.links.settle(now, id) {
            Settled::Opened(said) => {
                for frames in &said {
                    self.after_control(now, id, frames);
                }
            }
            Settled::Lives => {}
            Settled::Closed => self.remove_link(now, id),
        }
    }

    fn take_arrived(&mut self, now: Instant, link: LinkId, arrived: Vec<Arrived>) {
        if self.observer.is_some() {
            self.take_frames::<true>(now, link, arrived);
        } else {
            self.take_frames::<false>(now, link, arrived);
        }
    }

    /// Takes frames that arrived together, and tells the observer if there is one.
    fn take_frames<const OBSERVED: bool>(
        &mut self,
        now: Instant,
        link: LinkId,
        mut arrived: Vec<Arrived>,
    ) {
        // A link that goes because of what arrived had its number before.
        let (mut number, mut seen) = (0, Vec::new());
        if self.links.get(link).is_some() {
            if OBSERVED && !arrived.is_empty() {
                number = self.observed_link(link);
            }
            let mut batch = std::mem::take(&mut self.buffers.frames);
            for frame in arrived.drain(..) {
                match frame {
                    Arrived::Frame(frame) if OBSERVED => {
                        let noted = without_payload(&frame, false);
                        let kept = self.filter(now, link, frame);
                        seen.push(self.observe_arrived(now, link, noted, kept.as_ref()));
                        batch.extend(kept);
                    }
                    Arrived::Frame(frame) => batch.extend(self.filter(now, link, frame)),
                    Arrived::Setup(setup) => {
                        if OBSERVED {
                            seen.push(Seen::Setup(setup.circuit));
                        }
                        self.host.receive(now, link, &mut batch);
                        self.take_events(now);
                        self.take_setup(now, link, &setup);
                    }
                }
            }
            if !batch.is_empty() {
                self.host.receive(now, link, &mut batch);
            }
            batch.clear();
            self.buffers.frames = batch;
            // Circuits that are gone must be known to be before others get their names.
            self.take_events(now);
        }
        if OBSERVED {
            self.observe_packet(now, number, Way::Received, seen);
        }
        arrived.clear();
        self.buffers.arrived = arrived;
    }

    /// Filters frames that the node must not see, and opens cells that end here.
    #[inline]
    fn filter(
        &mut self,
        now: Instant,
        link: LinkId,
        frame: Frame<OnionPayload>,
    ) -> Option<Frame<OnionPayload>> {
        match frame {
            Frame::Cell(cell) => self.take_cell(now, link, cell),
            Frame::Destroy(destroy) => self.take_destroy(now, link, destroy),
            Frame::Feedback(ref feedback) => {
                let circuit = feedback.circuit;
                self.unless_in_setup(link, circuit, frame)
            }
            Frame::Sack(ref sack) => {
                let circuit = sack.feedback.circuit;
                self.unless_in_setup(link, circuit, frame)
            }
            Frame::Message(ref message) => {
                let circuit = message.circuit;
                self.unless_in_setup(link, circuit, frame)
            }
            Frame::Probe(circuit) => self.take_probe(now, link, circuit),
        }
    }

    /// Lets the node answer a probe of a circuit that carries data, if that is not too much, or of one that is gone;
    /// answers others.
    #[cold]
    fn take_probe(
        &mut self,
        now: Instant,
        link: LinkId,
        circuit: Name,
    ) -> Option<Frame<OnionPayload>> {
        let frame = Frame::Probe(circuit);
        let known = self.named(link, circuit);
        let is_open = known.is_some_and(|key| self.circuits.is_open(key));
        if is_open || known.is_none() {
            // Of a circuit that is gone it is said so, which is shorter.
            let len = self.plan.feedback_len().get() as usize;
            let link = self.links.get_mut(link)?;
            let may = if self.host.owes_much(now) {
                // On connections nothing is lost, so that nobody has to ask.
                self.plan.link.carrier == Carrier::Datagram && link.may_answer(now)
            } else {
                link.affords_answer(now, len)
            };
            if !may || is_open {
                return may.then_some(frame);
            }
        }
        let frame = self.unless_in_setup(link, circuit, frame);
        if frame.is_none() && known.is_some() {
            self.answer_probe(now, link, circuit);
        }
        frame
    }

    /// Frames about the cells of circuits that have none yet mean nothing.
    #[inline]
    fn unless_in_setup(
        &self,
        link: LinkId,
        circuit: Name,
        frame: Frame<OnionPayload>,
    ) -> Option<Frame<OnionPayload>> {
        let passes = match self.named(link, circuit) {
            Some(key) => self.circuits.is_open(key),
            None => self.answers_strays(link),
        };
        passes.then_some(frame)
    }

    /// Whether the node may tell a neighbour that it has no such circuit.
    fn answers_strays(&self, link: LinkId) -> bool {
        let link = self.links.get(link);
        link.is_some_and(LinkEnd::takes_answers)
    }

    fn take_destroy(
        &mut self,
        now: Instant,
        link: LinkId,
        destroy: Destroy,
    ) -> Option<Frame<OnionPayload>> {
        let key = self.named(link, destroy.circuit)?;
        if self.circuits.is_open(key) {
            return Some(Frame::Destroy(destroy));
        }
        let hop = self.building_hop(key);
        let why = hop.map_or(Failure::Closed(destroy.reason), Failure::of_asked);
        self.refuse_or_end(now, key, link, destroy.reason, why);
        None
    }

    #[inline]
    fn take_cell(
        &mut self,
        now: Instant,
        link: LinkId,
        mut cell: Cell<OnionPayload>,
    ) -> Option<Frame<OnionPayload>> {
        let Some(key) = self.named(link, cell.circuit) else {
            return self.answers_strays(link).then_some(Frame::Cell(cell));
        };
        if !self.circuits.is_open(key) && !self.become_open(now, link, key) {
            return None;
        }
        let numbered = self.plan.link.carrier == Carrier::Datagram;
        let tag = numbered.then_some((cell.flags, cell.seq));
        if let Some(open) = self.circuits.opened(key)
            && open.crypt.ends_here()
            && open.crypt.incoming(tag, cell.payload.bytes_mut()).is_err()
        {
            self.counters.forged += 1;
            self.end_circuit(now, key, Reason::Protocol, None, Failure::Forged);
            return None;
        }
        Some(Frame::Cell(cell))
    }

    /// The first cell of a circuit fixes who its last hop is.
    fn become_open(&mut self, now: Instant, link: LinkId, key: CircuitKey) -> bool {
        let Some(circuit) = self.circuits.get_mut(key) else {
            return false;
        };
        let from_client = circuit.comes_from(link);
        let phase = std::mem::replace(&mut circuit.phase, Phase::Closing);
        match phase {
            Phase::Nascent(nascent) if from_client && !nascent.waits() => {
                let last = circuit.next.is_none();
                let numbering = Numbering::of(&self.plan);
                let crypt = Crypt::relay(nascent.into_keys(), last, numbering);
                self.open_circuit(key, crypt);
                true
            }
            phase => {
                circuit.phase = phase;
                let why = Failure::Closed(Reason::Protocol);
                self.end_circuit(now, key, Reason::Protocol, None, why);
                false
            }
        }
    }

    #[inline]
    pub(super) fn named(&self, link: LinkId, circuit: Name) -> Option<CircuitKey> {
        Some(self.links.named(link, circuit)?.circuit)
    }
}
