//! The node: routes inputs to its parts and collects their outputs.

mod connected;
mod deliver;
mod hooks;
mod input;
mod legs;
mod output;
mod package;
mod setup;

use std::collections::VecDeque;

use hopflow_units::{Bytes, Cells, Instant, LinkId};
use hopflow_wire::{Frame, Message, Payload, Reason, RelayHeader};

use crate::edge::Stream;
use crate::flow::{Flow, Port};
use crate::link::Link;
use crate::sched::Scheduler;
use crate::slots::Slots;
use crate::timers::{Timer, Timers};
use crate::transport::LegCall;
use crate::{
    CircuitHandle, CircuitSpec, Direction, Event, FlowId, FlowView, Gate, Gates, Host,
    NodeCounters, NodeEnv, Plan, StreamHandle, StreamSpec, StreamView, TokenBucket, Transport,
};

/// Streams that this end opens on one circuit at most; far ends take twice as many.
const MAX_OPENED: usize = 2048;

/// An overlay node with transport `T` whose cells carry payloads `P`.
#[derive(Debug)]
pub struct Node<T: Transport, P: Payload> {
    plan: Plan,
    transport: T,
    links: Vec<Link<P>>,
    /// Links that are gone, whose numbers may be used again.
    free_links: Vec<LinkId>,
    circuits: Slots<Circuit>,
    /// Two per circuit, see [`FlowId`].
    flows: Vec<Option<Flow<T::Flow, P>>>,
    streams: Slots<Stream<P>>,
    /// Windows of the streams, beside them so that hooks can be lent these alone.
    stream_gates: Vec<Gate>,
    bucket: Option<TokenBucket>,
    scheduler: Scheduler,
    timers: Timers,
    /// When a cell may leave that waits for the token bucket, or for KIST's next run.
    resume_at: Instant,
    /// When KIST ran last.
    last_run: Option<Instant>,
    next_tick: Instant,
    /// Whether the transport wants no regular calls until something happens.
    resting: bool,
    /// Links with frames that shall leave although their datagram is not full.
    flush: VecDeque<LinkId>,
    /// Links whose datagram is full, or whose turn on a stream is over.
    complete: VecDeque<LinkId>,
    events: VecDeque<Event<P>>,
    far_end: Vec<RelayHeader>,
    leg_calls: Vec<LegCall>,
    /// Sinks where something may be delivered, since another leg of a stream went on or ended.
    deliverable: Vec<FlowId>,
    counters: NodeCounters,
}

/// A circuit's ends of its links.
#[derive(Clone, Copy, Debug)]
struct Circuit {
    prev: Option<Port>,
    next: Option<Port>,
}

impl<T: Transport, P: Payload> Node<T, P> {
    /// A node without links.
    pub fn new(config: &T::Config, env: &NodeEnv) -> Self {
        Self::with_plan(config, T::plan(config), env)
    }

    /// A node without links whose plan differs from the transport's own in what transports leave
    /// open: the scheduler.
    pub fn with_plan(config: &T::Config, plan: Plan, env: &NodeEnv) -> Self {
        let next_tick = match plan.tick {
            None => Instant::FAR_FUTURE,
            Some(tick) if tick.in_phase => Instant::ZERO + tick.interval,
            Some(tick) => Instant::from_nanos((tick.interval.as_nanos() as f64 * env.phase) as u64),
        };
        Self {
            transport: T::new(config, env),
            links: Vec::new(),
            free_links: Vec::new(),
            circuits: Slots::default(),
            flows: Vec::new(),
            streams: Slots::default(),
            stream_gates: Vec::new(),
            bucket: env.bucket.map(TokenBucket::new),
            scheduler: Scheduler::new(plan.scope, plan.order),
            timers: Timers::default(),
            resume_at: Instant::FAR_FUTURE,
            last_run: None,
            next_tick,
            resting: false,
            flush: VecDeque::new(),
            complete: VecDeque::new(),
            events: VecDeque::new(),
            far_end: Vec::new(),
            leg_calls: Vec::new(),
            deliverable: Vec::new(),
            counters: NodeCounters::default(),
            plan,
        }
    }

    #[inline]
    fn link(&mut self, link: LinkId) -> &mut Link<P> {
        &mut self.links[link.index()]
    }

    #[inline]
    fn flow(&mut self, id: FlowId) -> Option<&mut Flow<T::Flow, P>> {
        self.flows.get_mut(id.index())?.as_mut()
    }

    /// Changes what a stream offers, and lets its circuits take it.
    fn change_stream(
        &mut self,
        now: Instant,
        stream: StreamHandle,
        change: impl FnOnce(&mut Stream<P>),
    ) {
        let Some(place) = self.streams.place(stream.0) else {
            return;
        };
        if let Some(stream) = self.streams.get_mut(place) {
            change(stream);
        }
        self.awake(now);
        self.refill_stream(now, place);
    }

    fn handle_timers(&mut self, now: Instant) {
        self.deliver_others(now);
        while let Some((at, link)) = self.timers.take_due_feedback(now) {
            let state = self.link(link);
            if state.feedback_at == Some(at) {
                state.feedback_at = None;
                state.holding = false;
                self.flush_link(link);
            }
        }
        while let Some((at, timer)) = self.timers.take_due(now) {
            match timer {
                Timer::Deadline(flow) => self.on_deadline(now, flow, at),
                Timer::Pace(flow) => self.on_pace(now, flow, at),
                Timer::LinkPace(link) => self.on_link_pace(now, link, at),
                Timer::Transport(flow) => self.on_transport_timer(now, flow, at),
                Timer::Connection(flow) => self.on_connection_timer(now, flow, at),
            }
        }
        if self.resume_at <= now {
            self.resume_at = Instant::FAR_FUTURE;
        }
        if !self.resting && self.next_tick <= now {
            self.on_tick(now);
        }
        let links = &self.links;
        self.timers
            .skip_feedback(|at, link| links[link.index()].feedback_at != Some(at));
    }
}

impl<T: Transport, P: Payload> Host<P> for Node<T, P> {
    fn add_link(&mut self) -> LinkId {
        if let Some(link) = self.free_links.pop() {
            return link;
        }
        let link = LinkId::new(self.links.len() as u32);
        self.links
            .push(Link::new(self.plan.carrier, self.plan.feedback_len()));
        self.scheduler.add_link();
        link
    }

    fn remove_link(&mut self, link: LinkId) {
        if !self.free_links.contains(&link) {
            self.drop_link(link);
        }
    }

    fn open_circuit(&mut self, spec: &CircuitSpec) -> CircuitHandle {
        self.add_circuit(spec)
    }

    fn close_circuit(&mut self, circuit: CircuitHandle, reason: Reason) {
        if let Some(circuit) = self.circuits.place(circuit.0) {
            self.remove_circuit(circuit, reason, None);
        }
    }

    fn open_stream(&mut self, spec: &StreamSpec) -> Option<StreamHandle> {
        let full = spec.legs.iter().any(|leg| {
            let place = self.circuits.place(leg.0);
            let flow = place.and_then(|place| self.flow(FlowId::new(place, Direction::Forward)));
            flow.is_some_and(|flow| flow.streams.len() >= MAX_OPENED)
        });
        if full {
            return None;
        }
        self.add_stream(spec)
    }

    fn pin_stream(&mut self, now: Instant, stream: StreamHandle, leg: Option<CircuitHandle>) {
        let leg = leg.and_then(|leg| self.circuits.place(leg.0));
        self.change_stream(now, stream, |stream| stream.pin(leg));
    }

    fn write(&mut self, now: Instant, stream: StreamHandle, data: P::Data, len: Bytes) {
        self.change_stream(now, stream, |stream| stream.write(data, len));
    }

    fn begin_stream(&mut self, now: Instant, stream: StreamHandle, target: P::Data, len: Bytes) {
        self.change_stream(now, stream, |stream| stream.begin(target, len));
    }

    fn finish_stream(&mut self, now: Instant, stream: StreamHandle) {
        self.change_stream(now, stream, Stream::finish);
    }

    fn close_stream(&mut self, now: Instant, stream: StreamHandle) {
        if let Some(place) = self.streams.place(stream.0) {
            self.end_stream(now, place);
        }
    }

    fn notify_below(&mut self, stream: StreamHandle, low: Bytes) {
        let place = self.streams.place(stream.0);
        let Some(state) = place.and_then(|place| self.streams.get_mut(place)) else {
            return;
        };
        state.low_water = Some(low);
        if state.ran_low() {
            self.events.push_back(Event::Drained { stream });
        }
    }

    fn set_reading(&mut self, now: Instant, stream: StreamHandle, reading: bool) {
        let Some(place) = self.streams.place(stream.0) else {
            return;
        };
        if let Some(stream) = self.streams.get_mut(place) {
            stream.reading = reading;
        }
        self.read_on(now, place);
    }

    fn receive(&mut self, now: Instant, link: LinkId, frames: &mut Vec<Frame<P>>) {
        self.awake(now);
        for frame in frames.drain(..) {
            match frame {
                Frame::Cell(cell) => self.on_cell(now, link, cell),
                Frame::Feedback(feedback) => self.on_feedback(now, link, &feedback),
                Frame::Probe(circuit) => self.on_probe(now, link, circuit),
                Frame::Destroy(destroy) => self.on_destroy(link, destroy),
                Frame::Message(message) => self.on_message(now, link, &message),
            }
        }
    }

    fn receive_message(&mut self, now: Instant, link: LinkId, message: &Message) {
        self.awake(now);
        self.on_message(now, link, message);
    }

    fn set_room(&mut self, now: Instant, link: LinkId, room: Bytes) {
        let cell = self.plan.cell_len();
        let state = self.link(link);
        state.set_room(room, cell);
        self.reopen(now, link);
        if std::mem::take(&mut self.link(link).stuck) {
            self.flush_link(link);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timers(now);
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<Frame<P>>) -> Option<(LinkId, Bytes)> {
        self.next_packet(now, out)
    }

    fn poll_event(&mut self) -> Option<Event<P>> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Instant {
        if !self.deliverable.is_empty() {
            return Instant::ZERO;
        }
        let tick = if self.resting {
            Instant::FAR_FUTURE
        } else {
            self.next_tick
        };
        self.timers.next().min(self.resume_at).min(tick)
    }

    fn flow_view(&self, circuit: CircuitHandle, direction: Direction) -> Option<FlowView> {
        let id = FlowId::new(self.circuits.place(circuit.0)?, direction);
        let flow = self.flows.get(id.index())?.as_ref()?;
        if let Some(connected) = &flow.connected {
            return Some(flow.connected_view(connected));
        }
        let Gates { hop, end, .. } = &flow.gates;
        let gate = if hop.window().is_some() {
            Some(hop)
        } else if flow.inbound.is_none() && end.window().is_some() {
            Some(end)
        } else {
            // Without a window, acknowledgements and feedback, nothing releases a hop.
            (self.plan.reliable || self.plan.forward_feedback).then_some(hop)
        };
        Some(FlowView {
            queued: Cells::new(flow.queue.unsent()),
            out_of_order: Cells::new(flow.receiver.held()),
            outstanding: gate.map_or(Cells::ZERO, Gate::outstanding),
            window: gate.and_then(Gate::window),
            departed: Cells::new(flow.queue.next()),
        })
    }

    fn stream_view(&self, stream: StreamHandle) -> Option<StreamView> {
        let stream = self.streams.get(self.streams.place(stream.0)?)?;
        Some(StreamView {
            pending: stream.pending(),
            ended: stream.has_ended(),
            packaged: stream.packaged(),
            delivered: stream.delivered,
            held: Cells::new(
                stream.inbox.len() as u64
                    + stream
                        .resequencer
                        .as_ref()
                        .map_or(0, |held| held.held() as u64),
            ),
        })
    }

    fn counters(&self) -> NodeCounters {
        self.counters
    }
}
