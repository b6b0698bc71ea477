//! The node: looks circuits up, visits them with what happens, and collects the outputs.

mod commands;
mod deliver;
mod feedback;
mod legs;
mod measure;
mod outbox;
mod package;
mod receive;
mod reconfigure;
mod send;
mod setup;
mod tick;
mod ticks;
mod visit;

use std::any::Any;
use std::sync::Arc;

use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::{Frame, Message, Payload, Reason};

use crate::busy::BusyFlows;
use crate::circuit::{Circuits, Closing, Fired};
use crate::edge::{Stream, Streams};
use crate::egress::Egress;
use crate::timers::{Timer, Timers};
use crate::{
    BucketConfig, CircuitHandle, CircuitSpec, ConfigError, Direction, EndControl, Event, Factory,
    Features, FlowId, FlowView, Holding, HopControl, Host, Measured, NodeCounters, NodeEnv,
    PathState, Plan, Stack, StreamHandle, StreamSpec, StreamView,
};
use outbox::Outbox;
use ticks::Ticks;
use visit::Visit;

/// An overlay node with hop control `H` whose cells carry payloads `P`.
#[derive(Clone, Debug)]
pub struct Node<H: HopControl, P: Payload> {
    plan: Plan,
    /// The layers' options.
    stack: Arc<Stack<H>>,
    layers: Layers<H>,
    circuits: Circuits<H::Flow, P>,
    streams: Streams<P>,
    egress: Egress<P>,
    busy: BusyFlows,
    timers: Timers,
    ticks: Ticks,
    outbox: Outbox<P>,
}

/// The layers of a node, with what each shares among the node's circuits.
#[derive(Clone, Debug)]
struct Layers<H> {
    hop: H,
    end: Arc<dyn EndControl>,
    path: Option<Box<dyn PathState>>,
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// A node without links.
    pub fn new(stack: &Arc<Stack<H>>, env: &NodeEnv) -> Self {
        let plan = stack.plan().clone();
        Self {
            layers: Layers {
                hop: H::new(&stack.hop, env),
                end: Arc::clone(&stack.end),
                path: stack.path.state(),
            },
            circuits: Circuits::default(),
            streams: Streams::default(),
            egress: Egress::new(&plan, env.bucket),
            busy: BusyFlows::new(plan.hop.busy),
            timers: Timers::default(),
            ticks: Ticks::new(plan.tick(), env.phase),
            outbox: Outbox::default(),
            plan,
            stack: Arc::clone(stack),
        }
    }

    /// Visits a circuit: looks it up, once for the event.
    #[inline]
    fn visit(&mut self, now: Instant, circuit: u32) -> Option<Visit<'_, H, P>> {
        Some(Visit {
            now,
            place: circuit,
            handle: self.circuits.handle(circuit),
            end: &*self.layers.end,
            circuit: self.circuits.get_mut(circuit)?,
            hop: &mut self.layers.hop,
            plan: &self.plan,
            streams: &mut self.streams,
            egress: &mut self.egress,
            busy: &mut self.busy,
            timers: &mut self.timers,
            outbox: &mut self.outbox,
        })
    }

    /// Visits a circuit, closes it if a peer broke the protocol, and does what the visit left for
    /// other circuits.
    #[inline]
    fn with(
        &mut self,
        now: Instant,
        circuit: u32,
        event: impl FnOnce(&mut Visit<'_, H, P>) -> Result<(), crate::Violation>,
    ) {
        let Some(mut visit) = self.visit(now, circuit) else {
            return;
        };
        if let Err(violation) = event(&mut visit) {
            self.violated(now, circuit, violation);
        }
        if self.outbox.has_leg_work() {
            self.work_on_legs(now);
        }
    }

    fn handle_timers(&mut self, now: Instant) {
        self.deliver_others(now);
        while let Some((at, link)) = self.timers.take_due_feedback(now) {
            if self.egress.link(link).reports.are_due(at) {
                self.egress.flush_link(link);
            }
        }
        while let Some((at, timer)) = self.timers.take_due(now) {
            match timer {
                Timer::Deadline(flow) => self.on_deadline(now, flow, at),
                Timer::Pace(flow) => self.on_pace(now, flow, at),
                Timer::Hop(flow) => self.on_hop_timer(now, flow, at),
                Timer::Path(flow) => self.on_path_timer(now, flow, at),
                Timer::Connection(flow) => self.on_connection_timer(now, flow, at),
            }
        }
        self.egress.resume(now);
        if self.ticks.take_due(now) {
            self.on_tick(now);
        }
        let egress = &self.egress;
        self.timers
            .skip_feedback(|at, link| egress.link_ref(link).reports.at() != Some(at));
    }

    /// Changes what a stream offers, and lets its circuits take it.
    fn change_stream(
        &mut self,
        now: Instant,
        stream: StreamHandle,
        change: impl FnOnce(&mut Stream<P>),
    ) {
        let Some((place, stream)) = self.streams.find(stream) else {
            return;
        };
        change(stream);
        self.ticks.end_rest(now);
        self.refill_stream(now, place);
    }
}

impl<H: HopControl, P: Payload> Host<P> for Node<H, P> {
    fn add_link(&mut self) -> LinkId {
        self.egress.add_link()
    }

    fn remove_link(&mut self, now: Instant, link: LinkId) {
        if self.egress.has(link) {
            self.drop_link(now, link);
        }
    }

    fn open_circuit(&mut self, spec: &CircuitSpec) -> CircuitHandle {
        self.add_circuit(spec)
    }

    fn close_circuit(&mut self, now: Instant, circuit: CircuitHandle, reason: Reason) {
        if let Some(circuit) = self.circuits.place(circuit) {
            self.remove_circuit(now, circuit, Closing::Here(reason));
        }
    }

    fn open_stream(&mut self, spec: &StreamSpec) -> Option<StreamHandle> {
        self.add_stream(spec)
    }

    fn pin_stream(&mut self, now: Instant, stream: StreamHandle, leg: Option<CircuitHandle>) {
        let leg = leg.and_then(|leg| self.circuits.place(leg));
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
        if let Some((place, _)) = self.streams.find(stream) {
            self.ticks.end_rest(now);
            self.end_stream(now, place);
        }
    }

    fn notify_below(&mut self, stream: StreamHandle, low: Bytes) {
        let Some((_, state)) = self.streams.find(stream) else {
            return;
        };
        state.low_water = Some(low);
        if state.ran_low() {
            self.outbox.events.push_back(Event::Drained { stream });
        }
    }

    fn set_reading(&mut self, now: Instant, stream: StreamHandle, reading: bool) {
        let Some((place, stream)) = self.streams.find(stream) else {
            return;
        };
        stream.reading = reading;
        self.ticks.end_rest(now);
        self.read_on(now, place);
    }

    fn receive(&mut self, now: Instant, link: LinkId, frames: &mut Vec<Frame<P>>) {
        if !self.egress.has(link) {
            return frames.clear();
        }
        self.ticks.end_rest(now);
        for frame in frames.drain(..) {
            match frame {
                Frame::Cell(cell) => self.on_cell(now, link, cell),
                Frame::Feedback(feedback) => self.on_feedback(now, link, &feedback),
                Frame::Probe(circuit) => self.on_probe(now, link, circuit),
                Frame::Destroy(destroy) => self.on_destroy(now, link, destroy),
                Frame::Message(message) => self.on_message(now, link, &message),
            }
        }
    }

    fn receive_message(&mut self, now: Instant, link: LinkId, message: &Message) {
        if self.egress.has(link) {
            self.ticks.end_rest(now);
            self.on_message(now, link, message);
        }
    }

    fn set_room(&mut self, _: Instant, link: LinkId, room: Bytes) {
        self.egress.set_room(link, room);
    }

    fn set_bucket(&mut self, now: Instant, bucket: Option<BucketConfig>) {
        self.egress.set_bucket(now, bucket);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timers(now);
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<Frame<P>>) -> Option<(LinkId, Bytes)> {
        self.next_packet(now, out)
    }

    fn poll_event(&mut self) -> Option<Event<P>> {
        self.outbox.next_event()
    }

    fn poll_timeout(&self) -> Instant {
        if self.outbox.has_deliverable() {
            return Instant::ZERO;
        }
        let timers = self.timers.next().min(self.egress.resume_at());
        timers.min(self.ticks.next())
    }

    fn flow_view(&self, circuit: CircuitHandle, direction: Direction) -> Option<FlowView> {
        let place = self.circuits.place(circuit)?;
        let circuit = self.circuits.get(place)?;
        let flow = &circuit[direction];
        let source = flow.inbound.is_none();
        let end = circuit.edge.as_ref().filter(|_| source);
        Some(flow.view(end.map(|edge| &edge.gate), self.plan.releases_hops()))
    }

    fn measure(&self, circuit: CircuitHandle, direction: Direction, out: &mut Vec<Measured>) {
        self.measure_flow(circuit, direction, out);
    }

    fn stream_view(&self, stream: StreamHandle) -> Option<StreamView> {
        self.streams.view(stream)
    }

    fn holding(
        &self,
        now: Instant,
        circuit: CircuitHandle,
        direction: Direction,
    ) -> Option<Holding> {
        self.holding_of(now, circuit, direction)
    }

    fn touch(&self, link: LinkId, frames: &[Frame<P>]) -> u64 {
        if !self.egress.has(link) {
            return 0;
        }
        let link = self.egress.link_ref(link);
        let flow = |frame: &Frame<P>| match frame {
            Frame::Cell(cell) => link.flow(cell.circuit),
            Frame::Feedback(feedback) => Some(link.flow(feedback.circuit)?.reverse()),
            _ => None,
        };
        let flows = frames.iter().filter_map(flow);
        let flows = flows.filter_map(|id| self.circuits.flow(id));
        flows.fold(0, |sum, flow| sum ^ flow.touch())
    }

    fn counters(&self) -> NodeCounters {
        self.outbox.counters
    }

    fn reconfigure(&mut self, now: Instant, factory: &dyn Factory<P>) -> Result<(), ConfigError> {
        self.take_options(now, factory)
    }
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// A rate may allow a flow's next cell.
    fn on_pace(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            let wakes = &mut visit.circuit[id.direction()].wakes;
            if wakes.pace.take_if(|pace| *pace == at).is_none() {
                return Ok(());
            }
            visit.after_gate(id.direction())
        });
    }

    /// The time has come for which the hop control asked.
    fn on_hop_timer(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            match visit.circuit[id.direction()].wakes.hop.fired(at) {
                Fired::Stale => return Ok(()),
                Fired::Later(at) => {
                    visit.timers.set(at, Timer::Hop(id));
                    return Ok(());
                }
                Fired::Due => {}
            }
            visit.on_hop(id.direction(), crate::HopSignal::Timer)?;
            visit.after_gate(id.direction())
        });
    }
}

impl<H: HopControl, P: Payload> Factory<P> for Stack<H> {
    fn name(&self) -> &'static str {
        H::INFO.name
    }

    fn plan(&self) -> Plan {
        Self::plan(self).clone()
    }

    fn driver(&self) -> Features {
        Self::driver(self)
    }

    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn stack(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(self.clone())
    }

    fn node(&self, env: &NodeEnv) -> Box<dyn Host<P>> {
        Box::new(Node::<H, P>::new(&Arc::new(self.clone()), env))
    }
}
