//! From open to gone: what node, links and driver have to know of circuits.

use hopflow_overlay::{CircuitHandle, CircuitSpec, Event as NodeEvent};
use hopflow_units::{Instant, LinkId};
use hopflow_wire::{Destroy, Frame, Reason};

use super::Engine;
use crate::circuit::{Phase, Side};
use crate::crypt::Crypt;
use crate::types::CircuitKey;
use crate::types::{Event, Failure};

impl Engine {
    /// Closes a circuit and tells the neighbours. One that is not built yet counts as failed: its driver waits no
    /// longer.
    pub fn close_circuit(&mut self, now: Instant, circuit: CircuitKey) {
        if self.building_hop(circuit).is_some() {
            self.counters.handshakes_failed += 1;
        }
        self.end_circuit(now, circuit, Reason::Requested, None, Failure::Requested);
    }

    /// Closes a circuit that there is no room for any more.
    pub(super) fn drop_circuit(&mut self, now: Instant, circuit: CircuitKey) {
        let why = Failure::Closed(Reason::Other);
        self.end_circuit(now, circuit, Reason::Other, None, why);
    }

    /// Lets a circuit carry data: gives it to the node.
    pub(super) fn open_circuit(&mut self, key: CircuitKey, crypt: Crypt) {
        let Some(circuit) = self.circuits.get(key) else {
            return;
        };
        let handle = self.host.open_circuit(&CircuitSpec {
            prev: circuit.prev.map(Side::spec),
            next: circuit.next.map(Side::spec),
        });
        self.circuits.open(key, handle, crypt);
        self.observe_opened(key);
    }

    /// Closes a circuit, tells the neighbours but the one on `known`, which knows, and tells the
    /// driver of `why` if the circuit was ours.
    pub(super) fn end_circuit(
        &mut self,
        now: Instant,
        key: CircuitKey,
        reason: Reason,
        known: Option<LinkId>,
        why: Failure,
    ) {
        let Some(circuit) = self.circuits.get(key) else {
            return;
        };
        if let Phase::Open(open) = &circuit.phase {
            let handle = open.handle;
            let known = circuit.sides().find(|side| known == Some(side.link));
            self.observe_last(now, key);
            // The node tells the neighbours, and then us, see `take_events`.
            match known {
                Some(side) => {
                    let circuit = side.name;
                    let closed = Frame::Destroy(Destroy { circuit, reason });
                    self.host.receive(now, side.link, &mut vec![closed]);
                }
                None => self.host.close_circuit(now, handle, reason),
            }
            return self.forget_circuit(now, key, reason, why);
        }
        for side in circuit.sides() {
            if known != Some(side.link) {
                self.send_destroy(now, side.link, side.name, reason);
            }
        }
        self.forget_circuit(now, key, reason, why);
    }

    /// Forgets a circuit whose neighbours know that it is gone.
    fn forget_circuit(&mut self, now: Instant, key: CircuitKey, reason: Reason, why: Failure) {
        self.observe_closed(now, key, reason);
        let Some(circuit) = self.circuits.remove(key) else {
            return;
        };
        let of_this_host = matches!(why, Failure::Requested | Failure::Moved | Failure::NoRoute);
        if matches!(circuit.phase, Phase::Building(_)) && !of_this_host {
            self.counters.handshakes_failed += 1;
        }
        for side in circuit.sides() {
            self.free_name(now, side);
        }
        if circuit.prev.is_none() {
            let event = Event::Closed { circuit: key, why };
            self.reports.events.push_back(event);
        }
    }

    /// Takes what the node has to say.
    #[inline]
    pub(super) fn take_events(&mut self, now: Instant) {
        while let Some(event) = self.host.poll_event() {
            if let Some(event) = self.on_node_event(now, event) {
                self.reports.events.push_back(event);
            }
        }
    }

    /// What the driver has to know of something that the node reports.
    #[inline]
    fn on_node_event(
        &mut self,
        now: Instant,
        event: NodeEvent<hopflow_onion::OnionPayload>,
    ) -> Option<Event> {
        match event {
            NodeEvent::Delivered { stream, payload } => Some(Event::Data { stream, payload }),
            NodeEvent::Begun {
                stream,
                circuit,
                target,
            } => {
                if let Some(key) = self.circuits.of(circuit) {
                    self.add_stream(stream, key);
                }
                Some(Event::Begin { stream, target })
            }
            NodeEvent::Link { circuit, message } => self.on_link(now, circuit, &message),
            NodeEvent::Finished { stream } => Some(Event::Finished { stream }),
            NodeEvent::Drained { stream } => Some(Event::Writable { stream }),
            NodeEvent::StreamClosed { stream } => {
                self.circuits.remove_stream(stream);
                Some(Event::Reset { stream })
            }
            // Transports whose nodes talk outside of their links run in the simulator only.
            NodeEvent::Message { .. } => None,
            NodeEvent::Closed {
                circuit,
                reason,
                violation,
            } => {
                self.on_closed(now, circuit, reason);
                self.reports.note_violation(violation);
                None
            }
        }
    }

    /// The node closed a circuit.
    fn on_closed(&mut self, now: Instant, handle: CircuitHandle, reason: Reason) {
        if let Some(key) = self.circuits.of(handle) {
            self.forget_circuit(now, key, reason, Failure::Closed(reason));
        }
    }
}
