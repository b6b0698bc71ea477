//! What arrives: datagrams and bytes become frames, and frames go where they belong.

use std::net::SocketAddr;

use hopflow_channel::DatagramChannel;
use hopflow_onion::OnionPayload;
use hopflow_units::{CircuitId as Name, Instant, LinkId};
use hopflow_wire::{Carrier, Cell, DecodeError, Feedback, Frame, Reason, Setup};

use super::{ConnId, Engine, Failure, Via};
use crate::circuit::{CircuitKey, Phase};
use crate::crypt::Crypt;
use crate::link::{Channel, Peer};

/// A frame that arrived.
#[derive(Debug)]
enum Arrived {
    Frame(Frame<OnionPayload>),
    Setup(Setup),
}

/// Reads the frames at the front of `bytes`; returns how many bytes they have.
///
/// # Errors
/// If what follows them is no frame. That it may only be cut short does not count on a stream.
fn decode(
    bytes: &[u8],
    carrier: Carrier,
    arrived: &mut Vec<Arrived>,
) -> Result<usize, DecodeError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let result = Setup::decode(rest).and_then(|setup| match setup {
            Some((setup, rest)) => Ok((Arrived::Setup(setup), rest)),
            None => Frame::decode(rest, carrier).map(|(frame, rest)| (Arrived::Frame(frame), rest)),
        });
        match result {
            Ok((frame, behind)) => {
                arrived.push(frame);
                rest = behind;
            }
            Err(DecodeError::Truncated) if carrier == Carrier::Stream => break,
            Err(error) => return Err(error),
        }
    }
    Ok(bytes.len() - rest.len())
}

impl Engine {
    /// Takes a datagram.
    pub fn receive_datagram(&mut self, now: Instant, via: Via, from: SocketAddr, data: &[u8]) {
        let peer = Peer::Datagram(via, from);
        let known = self.by_peer.get(&peer).copied();
        if let Some(link) = known.filter(|&link| self.begins_anew(link, data)) {
            self.remove_link(now, link);
        }
        let known = self.by_peer.get(&peer).copied();
        let Some(id) = known.or_else(|| self.admit_datagrams(now, peer, data)) else {
            return;
        };
        let mut arrived = Vec::new();
        let mut garbage = false;
        if let Some(link) = self.link_mut(id)
            && let Channel::Datagram(channel) = &mut link.channel
        {
            channel.receive(now, data, &mut |plain| {
                garbage |= decode(plain, Carrier::Datagram, &mut arrived).is_err();
            });
        }
        self.counters.garbage += u64::from(garbage);
        if !arrived.is_empty()
            && let Some(link) = self.link_mut(id)
        {
            link.heard = now;
            link.asked = None;
        }
        self.after_channel(now, id);
        self.take_arrived(now, id, arrived);
    }

    /// Whether a datagram is the first of a handshake on a link that has no circuits: the neighbour
    /// has lost what it knew (RFC 9147, section 4.2.8).
    fn begins_anew(&self, link: LinkId, data: &[u8]) -> bool {
        let link = self.links.get(link.index()).and_then(Option::as_ref);
        link.is_some_and(|link| link.open && link.opened_to.is_none() && link.names.len() == 0)
            && DatagramChannel::opens_channel(data)
    }

    fn admit_datagrams(&mut self, now: Instant, peer: Peer, data: &[u8]) -> Option<LinkId> {
        let carrier = self.plan.carrier == Carrier::Datagram;
        let listening = matches!(peer, Peer::Datagram(Via::Listening, _));
        if !carrier || !listening || !DatagramChannel::opens_channel(data) {
            return None;
        }
        let relay = self.config.relay.as_ref()?;
        let channel = DatagramChannel::accept(&relay.certificate, self.config.epoch);
        self.admit(now, peer, Channel::Datagram(Box::new(channel)))
    }

    /// Takes bytes of a connection.
    pub fn receive_bytes(&mut self, now: Instant, conn: ConnId, data: &[u8]) {
        let Some(&id) = self.by_peer.get(&Peer::Stream(conn)) else {
            return;
        };
        let mut arrived = Vec::new();
        let mut garbage = false;
        if let Some(link) = self.link_mut(id)
            && let Channel::Stream(channel) = &mut link.channel
        {
            let partial = &mut link.partial;
            channel.receive(now, data, &mut |plain| partial.extend_from_slice(plain));
            match decode(partial, Carrier::Stream, &mut arrived) {
                Ok(used) => drop(partial.drain(..used)),
                Err(_) => garbage = true,
            }
        }
        self.after_channel(now, id);
        self.take_arrived(now, id, arrived);
        if garbage {
            // Nothing behind it can be trusted to start at a frame's first byte.
            self.counters.garbage += 1;
            self.remove_link(now, id);
        }
    }

    fn take_arrived(&mut self, now: Instant, link: LinkId, arrived: Vec<Arrived>) {
        if self.link_mut(link).is_none() {
            return;
        }
        let mut batch = std::mem::take(&mut self.frames);
        for frame in arrived {
            match frame {
                Arrived::Frame(frame) => batch.extend(self.take_frame(now, link, frame)),
                Arrived::Setup(setup) => {
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
        self.frames = batch;
        // Circuits that are gone must be known to be before others get their names and numbers.
        self.take_events(now);
    }

    /// Looks at a frame before the node gets it, if it shall.
    #[inline]
    fn take_frame(
        &mut self,
        now: Instant,
        link: LinkId,
        frame: Frame<OnionPayload>,
    ) -> Option<Frame<OnionPayload>> {
        match frame {
            Frame::Cell(cell) => self.take_cell(now, link, cell),
            Frame::Destroy(destroy) => {
                let key = self.named(link, destroy.circuit)?;
                if self.is_open(key) {
                    return Some(frame);
                }
                let hop = self.building_hop(key);
                let why = hop.map_or(Failure::Closed(destroy.reason), |hop| Failure::Hop { hop });
                self.refuse_or_end(now, key, link, destroy.reason, why);
                None
            }
            Frame::Feedback(Feedback { circuit, .. }) => self.unless_in_setup(link, circuit, frame),
            Frame::Message(ref message) => {
                let circuit = message.circuit;
                self.unless_in_setup(link, circuit, frame)
            }
            Frame::Probe(circuit) => {
                let frame = self.unless_in_setup(link, circuit, frame);
                if frame.is_none() {
                    self.answer_probe(now, link, circuit);
                }
                frame
            }
        }
    }

    /// Frames about the cells of circuits that have none yet mean nothing.
    #[inline]
    fn unless_in_setup(
        &self,
        link: LinkId,
        circuit: Name,
        frame: Frame<OnionPayload>,
    ) -> Option<Frame<OnionPayload>> {
        let key = self.named(link, circuit);
        key.is_none_or(|key| self.is_open(key)).then_some(frame)
    }

    #[inline]
    fn take_cell(
        &mut self,
        now: Instant,
        link: LinkId,
        mut cell: Cell<OnionPayload>,
    ) -> Option<Frame<OnionPayload>> {
        let Some(key) = self.named(link, cell.circuit) else {
            // The node tells the neighbour that it has no such circuit.
            return Some(Frame::Cell(cell));
        };
        if !self.is_open(key) && !self.become_open(now, link, key) {
            return None;
        }
        let seq = (self.plan.carrier == Carrier::Datagram).then_some(cell.seq);
        if let Some(circuit) = self.circuits.get_mut(key)
            && let Phase::Open { crypt, .. } = &mut circuit.phase
            && crypt.incoming(seq, cell.payload.bytes_mut()).is_err()
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
        let from_client = circuit.prev.is_some_and(|prev| prev.link == link);
        let phase = std::mem::replace(&mut circuit.phase, Phase::Closing);
        match phase {
            Phase::Nascent(nascent) if from_client && nascent.asked.is_none() => {
                let last = circuit.next.is_none();
                self.open_circuit(now, key, Crypt::relay(nascent.keys, last));
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
        let link = self.links.get(link.index())?.as_ref()?;
        Some(link.names.get(circuit)?.circuit)
    }

    #[inline]
    pub(super) fn is_open(&self, key: CircuitKey) -> bool {
        let phase = self.circuits.get(key).map(|circuit| &circuit.phase);
        matches!(phase, Some(Phase::Open { .. }))
    }
}
