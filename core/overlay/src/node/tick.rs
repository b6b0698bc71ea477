//! Regular calls of the layers.

use std::fmt;

use hopflow_units::Instant;
use hopflow_wire::{Message, Neighbour, Payload};

use super::Node;
use crate::circuit::{Circuits, Flow};
use crate::edge::Streams;
use crate::layer::{FlowTable, OutgoingMessage, Visitor};
use crate::site::Port;
use crate::{Direction, Event, FlowEntry, Gates, HopControl, NodeCx, NodeView, WatchedFlow, Way};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Calls the layer that asked for it, then lets all flows go on as their gates allow now.
    pub(super) fn on_tick(&mut self, now: Instant) {
        let messages = if self.plan.hop.tick.is_some() {
            self.tick_hop(now)
        } else {
            self.tick_path()
        };
        for message in messages {
            self.send_message(now, message);
        }
        for circuit in 0..self.circuits.places() {
            for direction in [Direction::Forward, Direction::Backward] {
                self.with(now, circuit, |visit| visit.after_gate(direction));
            }
        }
    }

    fn tick_hop(&mut self, now: Instant) -> Vec<OutgoingMessage> {
        let mut messages = Vec::new();
        let mut flows = Table {
            circuits: &mut self.circuits,
            streams: &self.streams,
        };
        self.layers.hop.on_tick(&mut NodeCx {
            now,
            node: NodeView {
                now,
                bucket: self.egress.bucket(),
                busy: &self.busy,
            },
            flows: &mut flows,
            messages: &mut messages,
            rest: &mut self.ticks.resting,
            fallback_plans: &mut self.outbox.counters.fallback_plans,
        });
        messages
    }

    fn tick_path(&mut self) -> Vec<OutgoingMessage> {
        let Some(path) = &mut self.layers.path else {
            return Vec::new();
        };
        let egress = &self.egress;
        let circuits = self.circuits.iter_mut();
        let flows = circuits.flat_map(|circuit| &*circuit.flows_mut());
        let watch = |flow: &Flow<H::Flow, P>| WatchedFlow {
            site: flow.site,
            queue: flow.queue.view(),
            room: flow.site.next.and_then(|link| egress.link_ref(link).room()),
        };
        let flows: Vec<_> = flows.map(watch).collect();
        let (messages, rest) = path.on_tick(&flows);
        self.ticks.resting |= rest;
        let outgoing = |(flow, body)| OutgoingMessage {
            flow,
            to: Neighbour::Predecessor,
            body,
            way: Way::InBand,
        };
        messages.into_iter().map(outgoing).collect()
    }

    /// Sends a layer's message, unless it is longer than messages may be: it would never leave.
    fn send_message(&mut self, now: Instant, message: OutgoingMessage) {
        if message.body.len() > Message::MAX_BODY {
            return;
        }
        let Some(flow) = self.circuits.flow(message.flow) else {
            return;
        };
        // To its successor a node is the predecessor.
        let (port, sender) = match message.to {
            Neighbour::Predecessor => (flow.inbound, Neighbour::Successor),
            Neighbour::Successor => (flow.outbound, Neighbour::Predecessor),
        };
        let Some(Port { link, circuit }) = port else {
            return;
        };
        let body = Message {
            circuit,
            sender,
            body: message.body,
        };
        match message.way {
            Way::InBand => {
                self.egress.link(link).push_message(body);
                self.egress.flush_link(now, link);
            }
            Way::OutOfBand(delay) => self.outbox.events.push_back(Event::Message {
                link,
                message: body,
                delay,
            }),
        }
    }
}

/// A node's flows and the streams that end here.
struct Table<'a, S, P: Payload> {
    circuits: &'a mut Circuits<S, P>,
    streams: &'a Streams<P>,
}

impl<S, P: Payload> fmt::Debug for Table<'_, S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} places for circuits", self.circuits.places())
    }
}

impl<S, P: Payload> FlowTable<S> for Table<'_, S, P> {
    fn for_each(&mut self, visit: &mut Visitor<'_, S>) {
        for circuit in self.circuits.iter_mut() {
            let source = circuit.source();
            let (flows, mut edge) = circuit.parts_mut();
            for flow in flows {
                let here = source == Some(flow.site.direction);
                let edge = edge.as_deref_mut().filter(|_| here);
                visit(entry(flow, edge, self.streams));
            }
        }
    }
}

/// What the regular call sees of a flow, which begins here if there is an edge.
fn entry<'a, S, P: Payload>(
    flow: &'a mut Flow<S, P>,
    edge: Option<&'a mut crate::edge::Edge>,
    streams: &Streams<P>,
) -> FlowEntry<'a, S> {
    let place = flow.site.flow.circuit();
    let pending = edge.as_deref().map(|edge| edge.pending(streams, place));
    FlowEntry {
        queue: flow.queue.view(),
        site: &flow.site,
        state: &mut flow.state,
        gates: Gates {
            hop: &mut flow.gate,
            end: edge.map(|edge| &mut edge.gate),
        },
        pending: pending.unwrap_or_default(),
    }
}
