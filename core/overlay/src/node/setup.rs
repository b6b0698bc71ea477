//! Opening and closing circuits and streams.

use hopflow_units::{Cells, LinkId, StreamId};
use hopflow_wire::{Destroy, Frame, Payload, Reason};

use super::{Circuit, Node};
use crate::connection::Connected;
use crate::edge::Stream;
use crate::flow::{Flow, Port};
use crate::hop::Sender;
use crate::link::Link;
use crate::{
    CircuitHandle, CircuitSpec, Direction, Event, FlowId, Gate, Gates, HopSpec, LegUse, Role, Site,
    StreamHandle, StreamSpec, Transport, Violation,
};

impl<T: Transport, P: Payload> Node<T, P> {
    pub(super) fn add_circuit(&mut self, spec: &CircuitSpec) -> CircuitHandle {
        let [prev, next] = [spec.prev, spec.next].map(|hop| {
            let HopSpec { link, circuit, .. } = hop?;
            let taken = self.link(link).flow(circuit).is_some();
            assert!(!taken, "{circuit} is open on {link} already");
            Some(Port { link, circuit })
        });
        let id = self.circuits.insert(Circuit { prev, next });
        let flows = 2 * self.circuits.places() as usize;
        self.flows.resize_with(flows, || None);
        let limits = [spec.next, spec.prev].map(|hop| hop.map(|hop| hop.queue_limit));
        for (direction, ports, limit) in [
            (Direction::Forward, (prev, next), limits[0]),
            (Direction::Backward, (next, prev), limits[1]),
        ] {
            let flow = FlowId::new(id.index, direction);
            if let Some(inbound) = ports.0 {
                self.link(inbound.link)
                    .set_flow(inbound.circuit, Some(flow));
            }
            self.flows[flow.index()] = Some(self.make_flow(flow, direction, ports, limit));
        }
        CircuitHandle(id)
    }

    fn make_flow(
        &mut self,
        id: FlowId,
        direction: Direction,
        ports: (Option<Port>, Option<Port>),
        limit: Option<Cells>,
    ) -> Flow<T::Flow, P> {
        let role = match ports {
            (None, _) => Role::Source,
            (Some(_), None) => Role::Sink,
            (Some(_), Some(_)) => Role::Relay,
        };
        let [prev, next] = [ports.0, ports.1].map(|port| port.map(|port| port.link));
        let site = Site {
            flow: id,
            role,
            direction,
            prev,
            next,
        };
        let mut gates = Gates::default();
        let state = self.transport.open(&site, &mut gates);
        // Only forward feedback says what the successor's queue holds.
        if let (Some(limit), true) = (limit, self.plan.forward_feedback) {
            gates.hop.set_cap(limit);
        }
        let sender = Sender::new(self.plan.forward_feedback);
        let mut flow = Flow::new(site, ports, gates, state, sender);
        let connection = self.plan.connection.as_ref();
        flow.connected = connection.map(|config| Box::new(Connected::new(config, role)));
        flow
    }

    pub(super) fn add_stream(&mut self, spec: &StreamSpec) -> Option<StreamHandle> {
        assert!(!spec.legs.is_empty(), "a stream has circuits");
        assert!(
            spec.id != StreamId::new(0),
            "stream 0 means a circuit as a whole"
        );
        let legs = spec.legs.iter().map(|leg| self.circuits.place(leg.0));
        let legs: Vec<u32> = legs.collect::<Option<_>>()?;
        let mut stream = Stream::new(spec.id, legs.clone(), spec.hold.get() as u32);
        if self.plan.legs == LegUse::First {
            stream.pin(legs.first().copied());
        }
        let id = self.streams.insert(stream);
        let mut gate = Gate::default();
        self.transport.open_stream(&mut gate);
        let places = self.streams.places() as usize;
        self.stream_gates.resize_with(places, Gate::default);
        self.stream_gates[id.index as usize] = gate;
        for &leg in &legs {
            for direction in [Direction::Forward, Direction::Backward] {
                if let Some(flow) = self.flow(FlowId::new(leg, direction)) {
                    flow.streams.push((spec.id, id.index));
                }
            }
        }
        self.note_legs(&legs);
        Some(StreamHandle(id))
    }

    /// Notes at the circuits of a stream that begins or ends which others they share a stream with.
    fn note_legs(&mut self, circuits: &[u32]) {
        if circuits.len() < 2 {
            return;
        }
        for &circuit in circuits {
            for direction in [Direction::Forward, Direction::Backward] {
                let id = FlowId::new(circuit, direction);
                let flow = self.flows.get_mut(id.index()).and_then(Option::as_mut);
                let Some(flow) = flow else { continue };
                let places = flow.streams.iter().map(|(_, place)| *place);
                let mut streams = places.filter_map(|place| self.streams.get(place));
                let several = streams.find(|stream| stream.legs.len() > 1);
                let legs = several.into_iter().flat_map(|stream| &stream.legs);
                flow.legs = legs.map(|&leg| FlowId::new(leg, direction)).collect();
            }
        }
    }

    /// The flow that brings data to this end of a circuit.
    pub(super) fn sink_flow(&self, circuit: u32) -> FlowId {
        self.source_flow(circuit).reverse()
    }

    /// The flow that takes data from this end of a circuit.
    pub(super) fn source_flow(&self, circuit: u32) -> FlowId {
        let at_client = matches!(self.circuits.get(circuit), Some(Circuit { prev: None, .. }));
        let direction = if at_client {
            Direction::Forward
        } else {
            Direction::Backward
        };
        FlowId::new(circuit, direction)
    }

    /// Closes the circuit of `flow`, for a peer broke the protocol.
    #[cold]
    pub(super) fn violated(&mut self, flow: FlowId, violation: Violation) {
        let known = self.flow(flow).is_some();
        self.counters.violations += u64::from(known && violation != Violation::Unreachable);
        self.remove_circuit(flow.circuit(), violation.reason(), None);
    }

    /// Closes a circuit and tells the neighbours, except the one that `told` us.
    pub(super) fn remove_circuit(&mut self, index: u32, reason: Reason, told: Option<Port>) {
        let name = CircuitHandle(self.circuits.id(index));
        let Some(circuit) = self.circuits.remove(index) else {
            return;
        };
        for port in [circuit.prev, circuit.next].into_iter().flatten() {
            self.link(port.link).set_flow(port.circuit, None);
            if told.is_none_or(|told| told.link != port.link || told.circuit != port.circuit) {
                self.link(port.link).push_control(Frame::Destroy(Destroy {
                    circuit: port.circuit,
                    reason,
                }));
                self.flush_link(port.link);
            }
        }
        let flows = [Direction::Forward, Direction::Backward].map(|direction| {
            let id = FlowId::new(index, direction);
            self.flows[id.index()].take().map(|flow| (id, flow))
        });
        for (id, flow) in flows.into_iter().flatten() {
            self.retire_flow(id, flow);
        }
        self.events.push_back(Event::Closed {
            circuit: name,
            reason,
        });
    }

    /// Forgets everything about a flow that has been taken out of the table.
    fn retire_flow(&mut self, id: FlowId, mut flow: Flow<T::Flow, P>) {
        self.transport.close(&flow.site, &mut flow.state);
        if let Some(port) = flow.outbound {
            self.scheduler.forget(id, port.link);
            let link = &mut self.links[port.link.index()];
            link.parked.retain(|&other| other != id);
            link.release(Cells::new(flow.queue.next() - flow.queue.head()));
            // The name may be given to another circuit before they leave.
            link.drop_cells(port.circuit, self.plan.cell_len());
            self.unblock(port.link);
        }
        if let Some(port) = flow.inbound {
            self.link(port.link).owing.retain(|&other| other != id);
        }
        for (_, stream) in flow.streams {
            self.remove_stream(stream);
        }
    }

    /// Removes a stream from all its circuits, and tells the driver.
    pub(super) fn remove_stream(&mut self, place: u32) {
        let stream = StreamHandle(self.streams.id(place));
        if self.forget_stream(place) {
            self.events.push_back(Event::StreamClosed { stream });
        }
    }

    /// Removes a stream from all its circuits; false if there is none.
    pub(super) fn forget_stream(&mut self, place: u32) -> bool {
        let Some(state) = self.streams.remove(place) else {
            return false;
        };
        for &leg in &state.legs {
            for direction in [Direction::Forward, Direction::Backward] {
                let id = FlowId::new(leg, direction);
                let flow = self.flows.get_mut(id.index()).and_then(Option::as_mut);
                let Some(flow) = flow else { continue };
                flow.streams.retain(|(_, other)| *other != place);
                self.transport.close_stream(&mut flow.state, state.id);
                if flow.site.role == Role::Sink {
                    flow.ended.retain(|other| *other != state.id);
                    flow.ended.push(state.id);
                    self.deliverable.push(id);
                }
            }
        }
        self.note_legs(&state.legs);
        true
    }

    /// Closes all circuits of a link, whose number may be given to another one.
    pub(super) fn drop_link(&mut self, link: LinkId) {
        let circuits: Vec<u32> = self.links[link.index()]
            .arriving
            .iter()
            .flatten()
            .map(|flow| flow.circuit())
            .collect();
        for circuit in circuits {
            self.remove_circuit(circuit, Reason::Unreachable, None);
        }
        self.links[link.index()] = Link::new(self.plan.carrier, self.plan.feedback_len());
        self.flush.retain(|&other| other != link);
        self.complete.retain(|&other| other != link);
        self.scheduler.unblock(link);
        self.free_links.push(link);
    }
}
