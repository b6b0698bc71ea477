//! What an observer hears. Where there is none, a packet costs one look whether there is one.

use hopflow_onion::OnionPayload;
use hopflow_trace::link::{Packet, Seen};
use hopflow_trace::{Contents, Place, Step, Way};
use hopflow_units::{Instant, LinkId};
use hopflow_wire::{Carrier, Cell, Frame, Payload, Reason};

use super::Engine;
use crate::circuit::CircuitState;
use crate::link::{Arrived, Named, decode};
use crate::observer::{Observer, Observing};
use crate::types::CircuitKey;

impl Engine {
    /// Installs an observer. From then on [`Engine::observe`] is to be called after each turn of the driver.
    ///
    /// # Panics
    /// If there are links already: the observer would not know their circuits.
    pub fn set_observer(&mut self, observer: Box<dyn Observer>) {
        assert!(
            self.links.len() == 0,
            "an observer is there before all links"
        );
        self.observer = Some(Box::new(Observing::new(observer)));
    }

    /// Tells the observer, if there is one, what has happened since the last call.
    pub fn observe(&mut self, now: Instant) {
        if self.observer.is_some() {
            self.end_observed_turn(now);
        }
    }

    #[cold]
    fn end_observed_turn(&mut self, now: Instant) {
        let Some(observing) = &mut self.observer else {
            return;
        };
        for key in observing.watched() {
            observing.ask(now, &*self.host, key);
        }
        if !observing.end_turn() {
            self.observer = None;
        }
    }

    /// The node gave out frames for a link.
    #[cold]
    pub(super) fn observe_sent(
        &mut self,
        now: Instant,
        link: LinkId,
        frames: &[Frame<OnionPayload>],
    ) {
        let mut seen = Vec::with_capacity(frames.len());
        let left_out = std::mem::take(&mut self.buffers.left_out);
        for (frame, place) in frames.iter().zip(0..) {
            if left_out.contains(&place) {
                continue;
            }
            let named = self.links.named(link, frame.circuit());
            let noted = self.noted(named, frame);
            self.observe_frame(now, named, &noted, Way::Sent);
            seen.push(Seen::Frame(noted));
        }
        let number = self.observed_link(link);
        self.observe_packet(now, number, Way::Sent, seen);
    }

    /// Frames that pass no queue of the node were sealed.
    #[cold]
    pub(super) fn observe_control(&mut self, now: Instant, link: LinkId, frames: &[u8]) {
        let mut decoded = Vec::new();
        // They are ours, and so they are frames.
        let _ = decode(frames, self.plan.link.carrier, &mut decoded);
        let mut seen = Vec::with_capacity(decoded.len());
        for frame in decoded {
            seen.push(match frame {
                Arrived::Setup(setup) => Seen::Setup(setup.circuit),
                Arrived::Frame(frame) => {
                    let named = self.links.named(link, frame.circuit());
                    let noted = self.noted(named, &frame);
                    self.observe_frame(now, named, &noted, Way::Sent);
                    Seen::Frame(noted)
                }
            });
        }
        let number = self.observed_link(link);
        self.observe_packet(now, number, Way::Sent, seen);
    }

    /// A frame arrived: what is noted of it, with what it carries if `kept`, the same frame as the node gets
    /// it, could be read here.
    #[cold]
    pub(super) fn observe_arrived(
        &mut self,
        now: Instant,
        link: LinkId,
        noted: Frame<Contents>,
        kept: Option<&Frame<OnionPayload>>,
    ) -> Seen {
        let named = self.links.named(link, noted.circuit());
        let noted = match kept {
            Some(frame) => self.noted(named, frame),
            None => noted,
        };
        self.observe_frame(now, named, &noted, Way::Received);
        Seen::Frame(noted)
    }

    /// The number of a link for the observer.
    #[cold]
    pub(super) fn observed_link(&mut self, link: LinkId) -> u32 {
        let observing = self.observer.as_mut();
        observing.map_or(0, |observing| observing.link(link))
    }

    /// Frames passed over a link together.
    #[cold]
    pub(super) fn observe_packet(&mut self, at: Instant, link: u32, way: Way, frames: Vec<Seen>) {
        let carrier = self.plan.link.carrier;
        if let Some(observing) = &mut self.observer
            && observing.wants_packets()
            && !frames.is_empty()
        {
            observing.packet(Packet {
                at,
                link,
                way,
                carrier,
                frames,
            });
        }
    }

    fn observe_frame(
        &mut self,
        now: Instant,
        named: Option<Named>,
        frame: &Frame<Contents>,
        way: Way,
    ) {
        let in_order = self.plan.link.carrier == Carrier::Stream;
        if let Some(observing) = &mut self.observer
            && let Some(Named { circuit, leaving }) = named
        {
            observing.frame(now, (circuit, leaving), frame, way, in_order);
        }
    }

    /// What is noted of a frame: what a cell carries only where the circuit begins or ends.
    fn noted(&mut self, named: Option<Named>, frame: &Frame<OnionPayload>) -> Frame<Contents> {
        let open = named.and_then(|named| self.circuits.opened(named.circuit));
        let is_plain = open.is_some_and(|open| open.crypt.ends_here());
        without_payload(frame, is_plain)
    }

    /// A circuit begins to carry data.
    pub(super) fn observe_opened(&mut self, key: CircuitKey) {
        let Some(observing) = &mut self.observer else {
            return;
        };
        let place = self.circuits.get(key).map(place);
        let handle = self.circuits.opened(key).map(|open| open.handle);
        if let Some((place, handle)) = place.zip(handle) {
            observing.add_circuit(key, handle, place);
        }
    }

    /// A circuit, or a stream of it, is about to be closed: the node can be asked a last time.
    pub(super) fn observe_last(&mut self, now: Instant, key: CircuitKey) {
        if let Some(observing) = &mut self.observer {
            observing.ask(now, &*self.host, key);
        }
    }

    /// A circuit is closed.
    pub(super) fn observe_closed(&mut self, now: Instant, key: CircuitKey, reason: Reason) {
        if let Some(observing) = &mut self.observer {
            observing.forget_circuit(now, key, Step::Closed(Some(reason)));
        }
    }
}

/// What this node is to a circuit.
fn place(circuit: &CircuitState) -> Place {
    match (&circuit.prev, &circuit.next) {
        (None, _) => Place::Client,
        (Some(_), Some(_)) => Place::Relay,
        (Some(_), None) => Place::Exit,
    }
}

/// A frame without the payload of cells; of a plain one, with its command and how long its data is.
pub(super) fn without_payload(frame: &Frame<OnionPayload>, is_plain: bool) -> Frame<Contents> {
    match frame {
        Frame::Cell(cell) => {
            let header = is_plain.then(|| cell.payload.header().ok()).flatten();
            Frame::Cell(Cell {
                circuit: cell.circuit,
                flags: cell.flags,
                seq: cell.seq,
                payload: Contents {
                    command: header.map(|header| header.command),
                    offset: None,
                    length: header.map(|header| header.len).filter(|len| *len > 0),
                },
            })
        }
        Frame::Feedback(feedback) => Frame::Feedback(*feedback),
        Frame::Sack(sack) => Frame::Sack(sack.clone()),
        Frame::Probe(circuit) => Frame::Probe(*circuit),
        Frame::Destroy(destroy) => Frame::Destroy(*destroy),
        Frame::Message(message) => Frame::Message(message.clone()),
    }
}
