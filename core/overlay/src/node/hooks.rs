//! Calling the transport's hooks, and doing what they ask for.

use std::fmt;

use hopflow_units::{Bytes, Cells, Duration, Instant, LinkId};
use hopflow_wire::{Message, Neighbour, Payload};

use super::Node;
use crate::edge::Stream;
use crate::flow::{Flow, Port};
use crate::link::Link;
use crate::slots::Slots;
use crate::timers::Timer;
use crate::transport::{FlowTable, Told, Visit};
use crate::{
    Direction, Event, FlowCx, FlowEntry, FlowId, LinkCx, LinkSample, NodeCx, QueueView, Role,
    Transport, Violation, Way,
};

impl<T: Transport, P: Payload> Node<T, P> {
    /// Calls a hook of a flow with its context, then does what the hook asked for.
    #[inline]
    pub(super) fn hook<R>(
        &mut self,
        now: Instant,
        id: FlowId,
        call: impl FnOnce(&mut T, &mut T::Flow, &mut FlowCx<'_>) -> R,
    ) -> Option<R> {
        let flow = self.flows.get_mut(id.index())?.as_mut()?;
        let mut timer = None;
        let queue = flow.view();
        let mut cx = FlowCx {
            now,
            site: &flow.site,
            gates: &mut flow.gates,
            queue,
            word: &mut flow.word,
            streams: &flow.streams,
            stream_gates: &mut self.stream_gates,
            far_end: &mut self.far_end,
            legs: &flow.legs,
            leg_calls: &mut self.leg_calls,
            timer: &mut timer,
        };
        let result = call(&mut self.transport, &mut flow.state, &mut cx);
        if let Some(at) = timer {
            flow.timer = Some(at);
            self.timers.set(at, Timer::Transport(id));
        }
        if !self.far_end.is_empty() {
            self.send_far_end(now, id);
        }
        if !self.leg_calls.is_empty() {
            self.call_legs(now, id);
        }
        Some(result)
    }

    /// Puts what a sink's hook sends to the far end into the queue of the reverse flow.
    pub(super) fn send_far_end(&mut self, now: Instant, sink: FlowId) {
        let source = sink.reverse();
        let limit = self.plan.own_limit();
        let mut headers = std::mem::take(&mut self.far_end);
        let mut waiting = 0;
        if let Some(flow) = self.flow(source) {
            for header in headers.drain(..) {
                flow.push_own(P::control(header, now));
            }
            waiting = flow.waiting();
        }
        headers.clear();
        self.far_end = headers;
        if waiting > limit {
            // The far end keeps sending and lets nobody take what it is owed for that.
            return self.violated(source, Violation::Excess);
        }
        if self.plan.connection.is_some() {
            self.pump(now, source);
        }
        self.schedule(now, source);
    }

    pub(super) fn on_transport_timer(&mut self, now: Instant, id: FlowId, at: Instant) {
        let Some(flow) = self.flow(id) else { return };
        if flow.timer != Some(at) {
            return;
        }
        flow.timer = None;
        self.hook(now, id, |transport, state, cx| {
            transport.on_timer(state, cx);
        });
        self.after_gate(now, id);
    }

    pub(super) fn link_hook(&mut self, now: Instant, link: LinkId, sample: LinkSample) {
        let gate = &mut self.links[link.index()].gate;
        self.transport
            .on_link(&mut LinkCx { now, link, gate }, &sample);
        self.reopen(now, link);
    }

    pub(super) fn on_tick(&mut self, now: Instant) {
        let Some(tick) = self.plan.tick else { return };
        self.skip_ticks(now, tick.interval);
        self.node_hook(now, T::on_tick);
    }

    /// Makes the next regular call one after `now`.
    fn skip_ticks(&mut self, now: Instant, interval: Duration) {
        let interval = interval.as_nanos().max(1);
        let missed = now.saturating_since(self.next_tick).as_nanos() / interval;
        self.next_tick += Duration::from_nanos(interval).saturating_mul(missed + 1);
    }

    /// Ends the transport's rest, for something happens.
    #[inline]
    pub(super) fn awake(&mut self, now: Instant) {
        if std::mem::take(&mut self.resting)
            && let Some(tick) = self.plan.tick
            && self.next_tick <= now
        {
            self.skip_ticks(now, tick.interval);
        }
    }

    /// A neighbour's transport says something.
    pub(super) fn on_message(&mut self, now: Instant, link: LinkId, message: &Message) {
        let Some(arriving) = self.links[link.index()].flow(message.circuit) else {
            return self.on_stray(link, message.circuit);
        };
        let id = match message.sender {
            Neighbour::Predecessor => arriving,
            Neighbour::Successor => arriving.reverse(),
        };
        let result = self.hook(now, id, |transport, state, cx| {
            transport.on_message(state, cx, message.sender, &message.body)
        });
        match result {
            Some(Err(violation)) => self.violated(id, violation),
            Some(Ok(())) => self.after_gate(now, id),
            None => {}
        }
    }

    fn node_hook(&mut self, now: Instant, call: impl FnOnce(&mut T, &mut NodeCx<'_, T::Flow>)) {
        let mut messages = Vec::new();
        let mut flows = Table {
            flows: &mut self.flows,
            streams: &self.streams,
            links: &self.links,
        };
        let mut cx = NodeCx {
            now,
            flows: &mut flows,
            messages: &mut messages,
            rest: &mut self.resting,
            hasty_plans: &mut self.counters.hasty_plans,
        };
        call(&mut self.transport, &mut cx);
        for told in messages {
            self.tell(told);
        }
        for index in 0..self.circuits.places() {
            for direction in [Direction::Forward, Direction::Backward] {
                self.after_gate(now, FlowId::new(index, direction));
            }
        }
    }

    /// Sends a transport's message.
    fn tell(&mut self, told: Told) {
        let Some(flow) = self.flow(told.flow) else {
            return;
        };
        // To its successor a node is the predecessor.
        let (port, sender) = match told.to {
            Neighbour::Predecessor => (flow.inbound, Neighbour::Successor),
            Neighbour::Successor => (flow.outbound, Neighbour::Predecessor),
        };
        let Some(Port { link, circuit }) = port else {
            return;
        };
        let message = Message {
            circuit,
            sender,
            body: told.body,
        };
        match told.way {
            Way::InBand => {
                self.link(link).push_message(message);
                self.flush_link(link);
            }
            Way::OutOfBand(delay) => self.events.push_back(Event::Message {
                link,
                message,
                delay,
            }),
        }
    }
}

impl<S, P: Clone> Flow<S, P> {
    #[inline]
    pub(crate) fn view(&self) -> QueueView {
        let (head, next, unsent) = (self.queue.head(), self.queue.next(), self.queue.unsent());
        QueueView {
            unsent: Cells::new(unsent),
            held: Cells::new(next - head + unsent),
            sent: Cells::new(next),
        }
    }
}

/// A node's flows and the streams that end here.
struct Table<'a, S, P: Payload> {
    flows: &'a mut [Option<Flow<S, P>>],
    streams: &'a Slots<Stream<P>>,
    links: &'a [Link<P>],
}

impl<S, P: Payload> fmt::Debug for Table<'_, S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} places for flows", self.flows.len())
    }
}

impl<S, P: Payload> FlowTable<S> for Table<'_, S, P> {
    fn for_each(&mut self, visit: &mut Visit<'_, S>) {
        for flow in self.flows.iter_mut().flatten() {
            let queue = flow.view();
            let pending = match flow.site.role {
                Role::Source => {
                    let leg = flow.site.flow.circuit();
                    let streams = flow.streams.iter();
                    let streams = streams.filter_map(|(_, index)| self.streams.get(*index));
                    let offered = streams.filter(|stream| stream.offers(leg));
                    offered.map(Stream::pending).sum()
                }
                Role::Relay | Role::Sink => Bytes::ZERO,
            };
            visit(FlowEntry {
                site: &flow.site,
                state: &mut flow.state,
                gates: &mut flow.gates,
                queue,
                room: flow
                    .site
                    .next
                    .and_then(|link| self.links[link.index()].room()),
                pending,
            });
        }
    }
}
