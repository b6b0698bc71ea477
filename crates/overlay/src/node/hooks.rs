//! Calling the transport's hooks, and doing what they ask for.

use hopflow_units::{Cells, Duration, Instant, LinkId};
use hopflow_wire::Payload;

use super::Node;
use crate::flow::Flow;
use crate::timers::Timer;
use crate::transport::{FlowTable, Visit};
use crate::{Event, FlowCx, FlowId, LinkCx, LinkSample, NodeCx, QueueView, Transport, Violation};

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
        Some(result)
    }

    /// Puts what a sink's hook sends to the far end into the queue of the reverse flow.
    pub(super) fn send_far_end(&mut self, now: Instant, sink: FlowId) {
        let source = sink.reverse();
        let limit = self.plan.queue_limit.get();
        let mut headers = std::mem::take(&mut self.far_end);
        let mut waiting = 0;
        if let Some(flow) = self.flow(source) {
            for header in headers.drain(..) {
                flow.queue.push(P::control(header, now));
            }
            waiting = flow.queue.unsent();
        }
        headers.clear();
        self.far_end = headers;
        if waiting > limit {
            // The far end keeps sending and lets nobody take what it is owed for that.
            return self.violated(source, Violation::Excess);
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
        let interval = tick.interval.as_nanos().max(1);
        let missed = now.saturating_since(self.next_tick).as_nanos() / interval;
        self.next_tick += Duration::from_nanos(interval).saturating_mul(missed + 1);
        self.node_hook(now, T::on_tick);
    }

    pub(super) fn on_message(&mut self, now: Instant, link: LinkId, message: &[u8]) {
        let result = self.node_hook(now, |transport, cx| {
            transport.on_neighbour(cx, link, message)
        });
        if result.is_err() {
            // Such a message belongs to no circuit; it is counted and otherwise ignored.
            self.counters.violations += 1;
        }
    }

    fn node_hook<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut T, &mut NodeCx<'_, T::Flow>) -> R,
    ) -> R {
        let mut messages = Vec::new();
        let mut cx = NodeCx {
            now,
            flows: &mut self.flows,
            messages: &mut messages,
        };
        let result = call(&mut self.transport, &mut cx);
        for (link, message, delay) in messages {
            self.events.push_back(Event::Message {
                link,
                message,
                delay,
            });
        }
        for index in 0..self.circuits.places() {
            for direction in [crate::Direction::Forward, crate::Direction::Backward] {
                self.after_gate(now, FlowId::new(index, direction));
            }
        }
        result
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

impl<S: std::fmt::Debug, P: Payload> FlowTable<S> for Vec<Option<Flow<S, P>>> {
    fn for_each(&mut self, visit: &mut Visit<'_, S>) {
        for flow in self.iter_mut().flatten() {
            let view = flow.view();
            visit(&flow.site, &mut flow.state, &mut flow.gates, view);
        }
    }
}
