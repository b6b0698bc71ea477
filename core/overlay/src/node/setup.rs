//! Opening and closing circuits and streams.

use std::collections::BTreeSet;

use hopflow_units::{Cells, Instant, LinkId, StreamId};
use hopflow_wire::{Destroy, Frame, Payload, Reason, RelayCommand};

use super::{Layers, Node};
use crate::circuit::{Closing, Flow};
use crate::edge::{Edge, LinkedSet, Stream};
use crate::repair::Repairing;
use crate::site::Port;
use crate::{
    CircuitHandle, CircuitSpec, Direction, EndGates, Event, FlowId, Gate, Gates, HopControl,
    HopSpec, LegUse, Plan, Role, Site, StreamHandle, StreamSpec, Violation,
};

/// Streams that this end opens on one circuit at most; far ends take twice as many.
const MAX_OPENED: usize = 2048;

impl<H: HopControl, P: Payload> Node<H, P> {
    pub(super) fn add_circuit(&mut self, spec: &CircuitSpec) -> CircuitHandle {
        let [prev, next] = [spec.prev, spec.next].map(|hop| {
            let HopSpec { link, circuit, .. } = hop?;
            assert!(self.egress.has(link), "{link} is not there");
            let taken = self.egress.link(link).flow(circuit).is_some();
            assert!(!taken, "{circuit} is open on {link} already");
            Some(Port { link, circuit })
        });
        assert!(
            prev.is_some() || next.is_some(),
            "a circuit leads somewhere"
        );
        let place = self.circuits.vacant();
        let limits = [spec.next, spec.prev].map(|hop| hop.map(|hop| hop.queue_limit));
        let source = match (prev, next) {
            (None, _) => Some(Direction::Forward),
            (_, None) => Some(Direction::Backward),
            (Some(_), Some(_)) => None,
        };
        let mut edge = source.map(|source| Box::new(Edge::new(source)));
        let ways = [
            (Direction::Forward, [prev, next], limits[0]),
            (Direction::Backward, [next, prev], limits[1]),
        ];
        let flows = ways.map(|(direction, ports, limit)| {
            let flow = FlowId::new(place, direction);
            if let Some(inbound) = ports[0] {
                let link = self.egress.link(inbound.link);
                link.set_flow(inbound.circuit, Some(flow));
            }
            self.layers
                .open(&self.plan, site(flow, ports), (ports, limit), &mut edge)
        });
        self.circuits.insert(flows, edge)
    }

    /// Adds a stream; `None` if one of its circuits cannot take it.
    pub(super) fn add_stream(&mut self, spec: &StreamSpec) -> Option<StreamHandle> {
        assert!(!spec.legs.is_empty(), "a stream has circuits");
        assert!(
            spec.id != StreamId::CIRCUIT,
            "stream 0 means a circuit as a whole"
        );
        let legs = spec.legs.iter().map(|leg| self.circuits.place(*leg));
        let legs: Vec<u32> = legs.collect::<Option<_>>()?;
        if !self.takes_stream(spec.id, &legs) {
            return None;
        }
        let hold = u32::try_from(spec.hold.get()).unwrap_or(u32::MAX);
        let mut stream = Stream::new(spec.id, legs.clone(), hold);
        if self.plan.path.legs == LegUse::First {
            // Where the others were moved to.
            let pinned = self.edge(legs[0]).and_then(|edge| edge.legs.pinned);
            let pinned = pinned.filter(|leg| legs.contains(leg));
            stream.pin(pinned.or(legs.first().copied()));
        }
        let mut gate = Gate::default();
        self.layers.end.open_stream(&mut gate);
        let handle = self.streams.insert(stream, gate);
        for &leg in &legs {
            if let Some(edge) = self.edge(leg) {
                edge.add_stream(spec.id, handle.0.index);
            }
        }
        self.note_legs(&legs);
        Some(handle)
    }

    /// Whether these circuits can take a stream of this name.
    fn takes_stream(&self, name: StreamId, legs: &[u32]) -> bool {
        let Some(edges) = self.edges(legs) else {
            return false;
        };
        // What was broken off has a name until the far end has said that nothing of it follows.
        let taken = |edge: &Edge| edge.stream(name).is_some() || edge.has_ended(name);
        let full = |edge: &Edge| edge.streams().len() >= MAX_OPENED;
        // A choice among circuits is made for all streams of a circuit that have several.
        let set: BTreeSet<u32> = legs.iter().copied().collect();
        let other = |edge: &Edge| {
            set.len() > 1
                && !edge.legs.all.is_empty()
                && edge.legs.all.iter().copied().collect::<BTreeSet<_>>() != set
        };
        let one_end = edges.iter().all(|edge| edge.source == edges[0].source);
        let free = |edge: &&Edge| !taken(edge) && !full(edge) && !other(edge);
        set.len() == legs.len() && one_end && edges.iter().all(free)
    }

    /// At an exit, lets circuits carry together what begins on the first of them; false if one of them
    /// cannot.
    pub(super) fn link(&mut self, circuits: &[CircuitHandle], hold: Cells) -> bool {
        let legs = circuits.iter().map(|leg| self.circuits.place(*leg));
        let Some(legs) = legs.collect::<Option<Vec<u32>>>() else {
            return false;
        };
        let fits = |edge: &&Edge| {
            let at_exit = edge.source == Direction::Backward;
            at_exit && edge.legs.linked.is_none() && edge.streams().is_empty()
        };
        let edges = self.edges(&legs);
        let fit = edges.is_some_and(|edges| edges.iter().all(fits));
        let different = legs.iter().collect::<BTreeSet<_>>().len() == legs.len();
        if legs.len() < 2 || !different || !fit {
            return false;
        }
        let hold = u32::try_from(hold.get()).unwrap_or(u32::MAX);
        for &leg in &legs {
            let circuits = legs.clone();
            if let Some(edge) = self.edge(leg) {
                edge.legs.linked = Some(Box::new(LinkedSet { circuits, hold }));
                edge.legs.had_any = true;
            }
        }
        true
    }

    /// A stream began on the first of its circuits: the others carry it, too. It ends if one of them went at the same
    /// time.
    pub(super) fn join_legs(&mut self, now: Instant, place: u32) {
        let Some(stream) = self.streams.get(place) else {
            return;
        };
        let (name, legs) = (stream.id, stream.legs.clone());
        if legs.iter().any(|leg| self.circuits.get(*leg).is_none()) {
            return self.remove_stream(now, place);
        }
        for &leg in &legs {
            if let Some(edge) = self.edge(leg) {
                edge.forget_ended(name);
                edge.add_stream(name, place);
            }
        }
        self.note_legs(&legs);
    }

    /// The ends of circuits here, if all of them begin or end here.
    fn edges(&self, circuits: &[u32]) -> Option<Vec<&Edge>> {
        let edges = circuits.iter().map(|circuit| self.circuits.get(*circuit));
        edges.map(|circuit| circuit?.edge.as_deref()).collect()
    }

    pub(super) fn edge(&mut self, circuit: u32) -> Option<&mut Edge> {
        self.circuits.get_mut(circuit)?.edge.as_deref_mut()
    }

    /// Notes at the circuits of a stream that begins or ends which others they share a stream with.
    fn note_legs(&mut self, circuits: &[u32]) {
        if circuits.len() < 2 {
            return;
        }
        for &circuit in circuits {
            let edge = self.circuits.get_mut(circuit);
            let Some(edge) = edge.and_then(|it| it.edge.as_mut()) else {
                continue;
            };
            let places = edge.streams().iter().map(|(_, place)| *place);
            let mut streams = places.filter_map(|place| self.streams.get(place));
            let several = streams.find(|stream| stream.legs.len() > 1);
            edge.legs.all = several.map_or_else(Vec::new, |stream| stream.legs.clone());
            edge.legs.had_any |= !edge.legs.all.is_empty();
        }
    }

    /// Closes a circuit because a peer broke the protocol.
    #[cold]
    pub(super) fn violated(&mut self, now: Instant, circuit: u32, violation: Violation) {
        let known = self.circuits.get(circuit).is_some();
        let counts = known && violation != Violation::Unreachable;
        self.outbox.counters.violations += u64::from(counts);
        self.outbox.commands.clear();
        self.remove_circuit(now, circuit, Closing::Broken(violation));
    }

    /// Closes a circuit and tells the neighbours, except the one that did so.
    pub(super) fn remove_circuit(&mut self, now: Instant, place: u32, closing: Closing) {
        let (reason, closer, violation) = closing.parts();
        let handle = self.circuits.handle(place);
        let Some(circuit) = self.circuits.remove(place) else {
            return;
        };
        for port in circuit.ports().into_iter().flatten() {
            let link = self.egress.link(port.link);
            link.set_flow(port.circuit, None);
            if closer
                .is_none_or(|closer| closer.link != port.link || closer.circuit != port.circuit)
            {
                link.control.push(Frame::Destroy(Destroy {
                    circuit: port.circuit,
                    reason,
                }));
                self.egress.flush_link(now, port.link);
            }
        }
        let (flows, edge) = circuit.into_parts();
        for flow in &flows {
            self.retire_flow(flow);
        }
        for (_, stream) in edge.iter().flat_map(|edge| edge.streams()) {
            self.remove_stream(now, *stream);
        }
        self.outbox.events.push_back(Event::Closed {
            circuit: handle,
            reason,
            violation,
        });
        // The client would begin further streams on what is left as if it were the set.
        let linked = edge.and_then(|edge| edge.legs.linked);
        for leg in linked.into_iter().flat_map(|set| set.circuits) {
            self.remove_circuit(now, leg, Closing::Here(reason));
        }
    }

    /// Forgets everything about a flow that has been taken out of the table.
    fn retire_flow(&mut self, flow: &Flow<H::Flow, P>) {
        let id = flow.site.flow;
        self.busy.forget(id);
        self.layers.hop.close(id);
        if let Some(path) = &mut self.layers.path {
            path.close(id);
        }
        if let Some(port) = flow.outbound {
            self.egress.forget_flow(id, port, flow.scheduled);
        }
        if let Some(port) = flow.inbound {
            self.egress.link(port.link).reports.forget(id);
        }
    }

    /// Removes a stream from all its circuits, and reports it to the driver.
    pub(super) fn remove_stream(&mut self, now: Instant, place: u32) {
        let stream = self.streams.handle(place);
        if self.forget_stream(now, place) {
            let event = Event::StreamClosed { stream };
            self.outbox.events.push_back(event);
        }
    }

    /// Removes a stream from all its circuits; false if there is none.
    fn forget_stream(&mut self, now: Instant, place: u32) -> bool {
        let Some(state) = self.streams.remove(place) else {
            return false;
        };
        for &leg in &state.legs {
            let Some(visit) = self.visit(now, leg) else {
                continue;
            };
            let source = visit.circuit.source();
            if let Some(edge) = &mut visit.circuit.edge {
                edge.end_stream(state.id);
            }
            let sink = source.map(|source| FlowId::new(leg, source.reverse()));
            self.outbox.deliverable.extend(sink);
        }
        self.note_legs(&state.legs);
        true
    }

    /// Closes a stream at this end, and breaks it off if it is not over.
    pub(super) fn end_stream(&mut self, now: Instant, place: u32) {
        let Some(stream) = self.streams.get(place) else {
            return;
        };
        let (name, over, legs) = (stream.id, stream.is_over(), stream.legs.clone());
        self.forget_stream(now, place);
        for (turn, &leg) in legs.iter().enumerate() {
            if over {
                if let Some(edge) = self.edge(leg) {
                    edge.forget_ended(name);
                }
            } else if turn == 0 {
                self.with(now, leg, |visit| {
                    visit.send_command(RelayCommand::Reset, name)
                });
            }
        }
        self.deliver_others(now);
    }

    /// Closes all circuits of a link, whose number may be given to another one.
    pub(super) fn drop_link(&mut self, now: Instant, link: LinkId) {
        let circuits = self.egress.link(link).circuits();
        self.unschedule(&circuits);
        for circuit in circuits {
            self.remove_circuit(now, circuit, Closing::Here(Reason::Unreachable));
        }
        self.egress.remove_link(link);
        self.layers.hop.close_link(link);
    }

    /// Takes the flows of circuits out of the scheduler: many at once, for one takes as long as all do.
    fn unschedule(&mut self, places: &[u32]) {
        for &place in places {
            if let Some(circuit) = self.circuits.get_mut(place) {
                for direction in [Direction::Forward, Direction::Backward] {
                    circuit[direction].scheduled = false;
                }
            }
        }
        let circuits = &self.circuits;
        self.egress.retain_scheduled(&|id| {
            let circuit = circuits.get(id.circuit());
            circuit.is_some_and(|circuit| circuit[id.direction()].scheduled)
        });
    }
}

/// Where a flow is that has these ports.
fn site(flow: FlowId, ports: [Option<Port>; 2]) -> Site {
    let role = match ports {
        [None, _] => Role::Source,
        [Some(_), None] => Role::Sink,
        [Some(_), Some(_)] => Role::Relay,
    };
    let [prev, next] = ports.map(|port| port.map(|port| port.link));
    Site {
        flow,
        role,
        direction: flow.direction(),
        prev,
        next,
    }
}

impl<H: HopControl> Layers<H> {
    /// A flow begins.
    fn open<P: Payload>(
        &mut self,
        plan: &Plan,
        site: Site,
        (ports, limit): ([Option<Port>; 2], Option<Cells>),
        edge: &mut Option<Box<Edge>>,
    ) -> Flow<H::Flow, P> {
        let mut gate = Gate::default();
        let mut edge = edge.as_deref_mut().filter(|_| site.role == Role::Source);
        let end = edge.as_mut().map(|edge| &mut edge.gate);
        let mut gates = Gates {
            hop: &mut gate,
            end,
        };
        let state = self.hop.open(&site, &mut gates);
        if let Some(edge) = edge {
            let mut gates = EndGates {
                hop: &mut gate,
                end: &mut edge.gate,
                preference: &mut edge.preference,
            };
            edge.control = self.end.open(&site, &mut gates);
        }
        // With forward feedback this is what the successor's queue holds, with acknowledgements alone
        // what may have to be sent again: without it a silent successor could have us keep any number.
        if let Some(limit) = limit.filter(|_| plan.releases_hops()) {
            gate.set_cap(limit);
        }
        Flow::new(site, ports, (gate, state), Repairing::new(plan, site.role))
    }
}
