//! Regular calls of the layers.

use std::fmt;

use hopflow_units::{Duration, Instant};
use hopflow_wire::{Message, Neighbour, Payload};

use super::Node;
use crate::circuit::{Circuits, Flow};
use crate::edge::Streams;
use crate::flow::Port;
use crate::layer::{FlowTable, OutgoingMessage, Visitor};
use crate::{Direction, Event, FlowEntry, Gates, HopControl, NodeCx, Tick, WatchedFlow, Way};

/// When the layers are called regularly, if one asks for it.
#[derive(Debug)]
pub(super) struct Ticks {
    interval: Option<Duration>,
    next: Instant,
    /// Whether the layer wants no calls until something happens.
    resting: bool,
}

impl Ticks {
    /// Calls as `tick` asks for; `phase` is the node's own, as a share of the interval.
    pub(super) fn new(tick: Option<Tick>, phase: f64) -> Self {
        let next = match tick {
            None => Instant::FAR_FUTURE,
            Some(tick) if tick.in_phase => Instant::ZERO + tick.interval,
            Some(tick) => Instant::from_nanos((tick.interval.as_nanos() as f64 * phase) as u64),
        };
        Self {
            interval: tick.map(|tick| tick.interval),
            next,
            resting: false,
        }
    }

    /// When the next call is due.
    pub(super) const fn next(&self) -> Instant {
        if self.resting {
            Instant::FAR_FUTURE
        } else {
            self.next
        }
    }

    /// Whether a call is due; the next one is then after `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let due = !self.resting && self.next <= now && self.interval.is_some();
        if due {
            self.skip(now);
        }
        due
    }

    /// Makes the next call the first one after `now`.
    fn skip(&mut self, now: Instant) {
        let Some(interval) = self.interval else {
            return;
        };
        let interval = interval.as_nanos().max(1);
        let missed = now.saturating_since(self.next).as_nanos() / interval;
        self.next += Duration::from_nanos(interval).saturating_mul(missed + 1);
    }

    /// Ends the rest because something happens.
    #[inline]
    pub(super) fn end_rest(&mut self, now: Instant) {
        if std::mem::take(&mut self.resting) && self.next <= now {
            self.skip(now);
        }
    }
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Calls the layer that asked for it, then lets all flows go on as their gates allow now.
    pub(super) fn on_tick(&mut self, now: Instant) {
        let messages = if self.plan.hop.tick.is_some() {
            self.tick_hop(now)
        } else {
            self.tick_path()
        };
        for message in messages {
            self.send_message(message);
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

    /// Sends a layer's message.
    fn send_message(&mut self, message: OutgoingMessage) {
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
                self.egress.flush_link(link);
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
    let pending = edge.as_deref().map(|edge| streams.pending(edge, place));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn every_ten_millis() -> Ticks {
        let tick = Tick {
            interval: Duration::from_millis(10),
            in_phase: false,
        };
        Ticks::new(Some(tick), 0.5)
    }

    #[test]
    fn calls_keep_their_phase_when_some_are_missed() {
        let mut ticks = every_ten_millis();
        assert_eq!((ticks.next(), ticks.take_due(at(4))), (at(5), false));
        assert!(ticks.take_due(at(27)));
        assert_eq!(ticks.next(), at(35));
    }

    #[test]
    fn a_rest_ends_with_the_next_event_and_keeps_the_phase() {
        let mut ticks = every_ten_millis();
        ticks.resting = true;
        assert_eq!(
            (ticks.next(), ticks.take_due(at(50))),
            (Instant::FAR_FUTURE, false)
        );
        ticks.end_rest(at(50));
        assert_eq!(ticks.next(), at(55));
    }

    #[test]
    fn without_a_layer_that_asks_there_are_no_calls() {
        let mut ticks = Ticks::new(None, 0.5);
        ticks.end_rest(at(1));
        assert!(!ticks.take_due(Instant::FAR_FUTURE));
    }
}
