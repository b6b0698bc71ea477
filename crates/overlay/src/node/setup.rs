//! Opening and closing circuits and streams.

use hopflow_units::Cells;
use hopflow_wire::{Destroy, Frame, Payload, Reason};

use super::{Circuit, Node};
use crate::edge::Stream;
use crate::flow::{Flow, Port};
use crate::hop::Sender;
use crate::{
    CircuitHandle, CircuitSpec, Direction, Event, FlowId, Gate, Gates, Role, Site, StreamHandle,
    StreamSpec, Transport, Violation,
};

impl<T: Transport, P: Payload> Node<T, P> {
    pub(super) fn add_circuit(&mut self, spec: &CircuitSpec) -> CircuitHandle {
        let port = |hop: &crate::HopSpec| Port {
            link: hop.link,
            circuit: hop.circuit,
        };
        let (prev, next) = (spec.prev.as_ref().map(port), spec.next.as_ref().map(port));
        let index = match self.circuits.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.circuits.push(None);
                self.flows.extend([None, None]);
                self.circuits.len() - 1
            }
        };
        self.circuits[index] = Some(Circuit { prev, next });
        let limits = [spec.next, spec.prev].map(|hop| hop.map(|hop| hop.queue_limit));
        for (direction, ports, limit) in [
            (Direction::Forward, (prev, next), limits[0]),
            (Direction::Backward, (next, prev), limits[1]),
        ] {
            let id = FlowId::new(index as u32, direction);
            if let Some(inbound) = ports.0 {
                self.link(inbound.link).set_flow(inbound.circuit, Some(id));
            }
            self.flows[id.index()] = Some(self.make_flow(id, direction, ports, limit));
        }
        CircuitHandle(index as u32)
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
        Flow::new(site, ports, gates, state, sender)
    }

    pub(super) fn add_stream(&mut self, spec: &StreamSpec) -> StreamHandle {
        let legs: Vec<u32> = spec.legs.iter().map(|leg| leg.0).collect();
        let index = match self.streams.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.streams.push(None);
                self.stream_gates.push(Gate::default());
                self.streams.len() - 1
            }
        };
        self.stream_gates[index] = Gate::default();
        for &leg in &legs {
            for direction in [Direction::Forward, Direction::Backward] {
                if let Some(flow) = self.flow(FlowId::new(leg, direction)) {
                    flow.streams.push((spec.id, index as u32));
                }
            }
        }
        if let Some(&leg) = legs.first() {
            self.transport.open_stream(&mut self.stream_gates[index]);
            debug_assert!(self.circuits.get(leg as usize).is_some_and(Option::is_some));
        }
        self.streams[index] = Some(Stream::new(spec.id, legs, spec.hold.get() as u32));
        StreamHandle(index as u32)
    }

    /// The flow that brings data to this end of a circuit.
    pub(super) fn sink_flow(&self, circuit: u32) -> FlowId {
        self.source_flow(circuit).reverse()
    }

    /// The flow that takes data from this end of a circuit.
    pub(super) fn source_flow(&self, circuit: u32) -> FlowId {
        let at_client = matches!(
            self.circuits.get(circuit as usize),
            Some(Some(Circuit { prev: None, .. }))
        );
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
        self.counters.violations += 1;
        self.remove_circuit(flow.circuit(), violation.reason(), None);
    }

    /// Closes a circuit and tells the neighbours, except the one that `told` us.
    pub(super) fn remove_circuit(&mut self, index: u32, reason: Reason, told: Option<Port>) {
        let Some(circuit) = self.circuits.get_mut(index as usize).and_then(Option::take) else {
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
        for direction in [Direction::Forward, Direction::Backward] {
            self.remove_flow(FlowId::new(index, direction), index);
        }
        self.events.push_back(Event::Closed {
            circuit: CircuitHandle(index),
            reason,
        });
    }

    fn remove_flow(&mut self, id: FlowId, circuit: u32) {
        let Some(mut flow) = self.flows[id.index()].take() else {
            return;
        };
        self.transport.close(&flow.site, &mut flow.state);
        if let Some(port) = flow.outbound {
            self.scheduler.forget(id, port.link);
            let link = self.link(port.link);
            link.parked.retain(|&other| other != id);
            link.release(Cells::new(flow.queue.next() - flow.queue.head()));
            self.unblock(port.link);
        }
        if let Some(port) = flow.inbound {
            self.link(port.link).owing.retain(|&other| other != id);
        }
        for (_, index) in flow.streams {
            let slot = &mut self.streams[index as usize];
            if let Some(stream) = slot {
                stream.legs.retain(|&leg| leg != circuit);
                if stream.legs.is_empty() {
                    *slot = None;
                }
            }
        }
    }
}
