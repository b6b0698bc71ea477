//! The node: what it consists of, and what its driver calls.

mod commands;
mod connection;
mod deliver;
mod due;
mod feedback;
mod measure;
mod outbox;
mod package;
mod path;
mod receive;
mod reconfigure;
mod send;
mod setup;
mod tick;
mod tick_timer;
mod visit;

use std::any::Any;
use std::sync::Arc;

use hopflow_units::{Bytes, Cells, Instant, LinkId};
use hopflow_wire::{Frame, Message, Payload, Proof, Reason};

use crate::busy::BusyFlows;
use crate::circuit::{Circuits, Closing};
use crate::edge::{Stream, Streams};
use crate::egress::{BucketLevel, Egress};
use crate::timers::Timers;
use crate::{
    BucketConfig, CircuitHandle, CircuitSpec, ConfigError, Direction, EndControl, Event, Factory,
    Features, FlowView, Holding, HopControl, Host, Measured, NodeCounters, NodeEnv, PathState,
    Plan, Stack, StreamHandle, StreamSpec, StreamView,
};
use outbox::Outbox;
use tick_timer::TickTimer;

/// An overlay node with hop control `H` whose cells carry payloads `P`.
#[derive(Clone, Debug)]
pub struct Node<H: HopControl, P: Payload> {
    plan: Arc<Plan>,
    /// The layers' options.
    stack: Arc<Stack<H>>,
    layers: Layers<H>,
    circuits: Circuits<H::Flow, P>,
    streams: Streams<P>,
    egress: Egress<P>,
    busy: BusyFlows,
    timers: Timers,
    ticks: TickTimer,
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
        let plan = stack.shared_plan();
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
            ticks: TickTimer::new(plan.tick(), env.phase),
            outbox: Outbox::default(),
            plan,
            stack: Arc::clone(stack),
        }
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

    fn send_link(&mut self, now: Instant, circuit: CircuitHandle, message: P::Data, len: Bytes) {
        let Some(place) = self.circuits.place(circuit) else {
            return;
        };
        self.with(now, place, |visit| visit.send_link(message, len));
    }

    fn link_circuits(&mut self, legs: &[CircuitHandle], hold: Cells) -> bool {
        self.link(legs, hold)
    }

    fn pin_stream(&mut self, now: Instant, stream: StreamHandle, leg: Option<CircuitHandle>) {
        let place = leg.and_then(|leg| self.circuits.place(leg));
        if leg.is_some() == place.is_some() {
            self.change_stream(now, stream, |stream| stream.pin(place));
        }
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

    fn note_proof(&mut self, circuit: CircuitHandle, proof: Proof) {
        let circuit = self.circuits.place(circuit);
        if let Some(every) = self.plan.end.sendme_every
            && let Some(circuit) = circuit.and_then(|place| self.circuits.get_mut(place))
            && let Some(edge) = &mut circuit.edge
        {
            edge.proofs.on_sent(every, proof);
        }
    }

    fn set_credit(&mut self, now: Instant, stream: StreamHandle, credit: Cells) {
        let Some((place, stream)) = self.streams.find(stream) else {
            return;
        };
        stream.credit = credit;
        self.ticks.end_rest(now);
        self.read_on(now, place);
    }

    fn receive(&mut self, now: Instant, link: LinkId, frames: &mut Vec<Frame<P>>) {
        self.on_frames(now, link, frames);
    }

    fn receive_message(&mut self, now: Instant, link: LinkId, message: &Message) {
        if self.egress.has(link) {
            self.ticks.end_rest(now);
            self.on_message(now, link, message);
        }
    }

    fn set_room(&mut self, now: Instant, link: LinkId, room: Bytes) {
        self.egress.set_room(now, link, room);
    }

    fn control_waiting(&self, link: LinkId) -> Bytes {
        if !self.egress.has(link) {
            return Bytes::ZERO;
        }
        self.egress.link_ref(link).control.bytes()
    }

    fn set_bucket(&mut self, now: Instant, bucket: Option<BucketConfig>) {
        self.egress.set_bucket(now, bucket);
    }

    fn pay(&mut self, now: Instant, len: Bytes) {
        self.egress.pay(now, len);
    }

    fn pay_unasked(&mut self, now: Instant, len: Bytes) {
        self.egress.pay_unasked(now, len);
    }

    fn unasked(&self, now: Instant) -> Option<BucketLevel> {
        self.egress.unasked(now)
    }

    fn owes_much(&self, now: Instant) -> bool {
        self.egress.owes_much(now)
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
        let timers = self.timers.next().min(self.egress.next_timeout());
        timers.min(self.ticks.next())
    }

    fn poll_resume(&self) -> Instant {
        self.egress.resume_at()
    }

    fn flow_view(&self, circuit: CircuitHandle, direction: Direction) -> Option<FlowView> {
        self.view_flow(circuit, direction)
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
        self.touch_flows(link, frames)
    }

    fn counters(&self) -> NodeCounters {
        self.outbox.counters
    }

    fn reconfigure(&mut self, now: Instant, factory: &dyn Factory<P>) -> Result<(), ConfigError> {
        self.take_options(now, factory)
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
