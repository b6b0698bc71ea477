//! A visit of one circuit: the circuit and the parts of the node that an event there may need.

use hopflow_units::Instant;
use hopflow_wire::Payload;

use super::Node;
use super::outbox::{LegWork, Outbox};
use crate::busy::BusyFlows;
use crate::circuit::Circuit;
use crate::edge::Streams;
use crate::egress::Egress;
use crate::timers::{Timer, Timers};
use crate::{
    CircuitHandle, Direction, EndControl, EndCx, EndSignal, FlowId, HopControl, HopCx, HopReport,
    HopSignal, NodeView, Plan, Violation,
};

/// A circuit, looked up once for an event, and the parts of the node, borrowed apart.
pub(super) struct Visit<'n, H: HopControl, P: Payload> {
    pub(super) now: Instant,
    pub(super) place: u32,
    pub(super) circuit: &'n mut Circuit<H::Flow, P>,
    pub(super) handle: CircuitHandle,
    pub(super) hop: &'n mut H,
    pub(super) end: &'n dyn EndControl,
    pub(super) plan: &'n Plan,
    pub(super) streams: &'n mut Streams<P>,
    pub(super) egress: &'n mut Egress<P>,
    pub(super) busy: &'n mut BusyFlows,
    pub(super) timers: &'n mut Timers,
    pub(super) outbox: &'n mut Outbox<P>,
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Visits a circuit: looks it up, once for the event.
    #[inline]
    pub(super) fn visit(&mut self, now: Instant, circuit: u32) -> Option<Visit<'_, H, P>> {
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
    pub(super) fn with(
        &mut self,
        now: Instant,
        circuit: u32,
        event: impl FnOnce(&mut Visit<'_, H, P>) -> Result<(), Violation>,
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
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    #[inline]
    pub(super) fn id(&self, direction: Direction) -> FlowId {
        FlowId::new(self.place, direction)
    }

    /// Passes what happened on a hop to the hop control, and does what it asked for.
    #[inline]
    pub(super) fn on_hop(
        &mut self,
        direction: Direction,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        if matches!(signal, HopSignal::Arrived | HopSignal::Departed) {
            self.busy.note(self.now, self.id(direction));
        }
        let flow = &mut self.circuit[direction];
        let (mut report, mut timer, mut tell) = (None, None, false);
        let queue = flow.queue.view();
        let mut cx = HopCx {
            now: self.now,
            site: &flow.site,
            gate: &mut flow.gate,
            queue,
            node: NodeView {
                now: self.now,
                bucket: self.egress.bucket(),
                busy: self.busy,
            },
            feedback_ext: &mut flow.report.ext,
            report: &mut report,
            timer: &mut timer,
            tell: &mut tell,
        };
        self.hop.on(&mut flow.state, &mut cx, signal)?;
        if let Some(at) = timer.and_then(|at| flow.wakes.hop.want(self.now, at)) {
            self.timers.set(at, Timer::Hop(self.id(direction)));
        }
        if tell {
            self.owe_feedback(direction);
        }
        match report {
            Some(report) => self.report_to_end(direction, report),
            None => Ok(()),
        }
    }

    /// Passes what a source's hop control reports to the end control.
    fn report_to_end(&mut self, direction: Direction, report: HopReport) -> Result<(), Violation> {
        if self.circuit[direction].inbound.is_some() {
            return Ok(());
        }
        self.on_end(EndSignal::Hop(report))
    }

    /// Passes what happened at an end of the circuit to the end control, and does what it asked
    /// for.
    #[inline]
    pub(super) fn on_end(&mut self, signal: EndSignal<'_>) -> Result<(), Violation> {
        let (flows, Some(edge)) = self.circuit.parts_mut() else {
            return Ok(());
        };
        let source = edge.source;
        let flow = &mut flows[source as usize];
        let Some(parts) = edge.control_parts(&mut flow.gate) else {
            return match signal {
                EndSignal::Command(header) => Err(Violation::Unexpected(header.command)),
                _ => Ok(()),
            };
        };
        let mut jumped = false;
        let mut cx = EndCx {
            now: self.now,
            site: &flow.site,
            gates: parts.gates,
            queue: flow.queue.view(),
            load: self.hop.load(&flow.state, self.now),
            streams: parts.streams,
            stream_windows: &mut self.streams.windows,
            commands: &mut self.outbox.commands,
            jumped: &mut jumped,
        };
        parts.state.on(&mut cx, signal)?;
        if jumped {
            self.on_hop(source, HopSignal::EndJumped)?;
        }
        if self.outbox.commands.is_empty() {
            return Ok(());
        }
        self.send_commands(source)
    }

    /// Does what follows from a change of a flow's gates: packages, schedules, sets timers.
    #[inline]
    pub(super) fn after_gate(&mut self, direction: Direction) -> Result<(), Violation> {
        if self.leaves_to_legs(direction) {
            let id = self.id(direction);
            self.outbox.leave(LegWork::AfterGate(id));
            return Ok(());
        }
        self.package(direction)?;
        self.schedule(direction);
        self.set_alarm(direction);
        Ok(())
    }

    /// Whether other circuits may go before this one when its source packages.
    #[inline]
    pub(super) fn leaves_to_legs(&self, direction: Direction) -> bool {
        self.circuit[direction].inbound.is_none()
            && self
                .circuit
                .edge
                .as_ref()
                .is_some_and(|edge| edge.is_ranked())
    }

    /// Puts a flow into the scheduler if it may send.
    #[inline]
    pub(super) fn schedule(&mut self, direction: Direction) {
        let id = self.id(direction);
        let flow = &mut self.circuit[direction];
        if flow.scheduled {
            return;
        }
        let Some(port) = flow.outbound else { return };
        if flow.is_ready(self.now) {
            flow.scheduled = true;
            self.egress.schedule(id, port.link);
        } else {
            self.pace(direction);
        }
    }

    /// Sets a timer for a flow that only its rate holds back.
    #[inline]
    pub(super) fn pace(&mut self, direction: Direction) {
        if let Some(at) = self.circuit[direction].waits_until(self.now) {
            self.wake_for_pace(direction, at);
        }
    }

    /// Sets a timer for a flow that a rate holds back until `at`.
    pub(super) fn wake_for_pace(&mut self, direction: Direction, at: Instant) {
        let id = self.id(direction);
        let wakes = &mut self.circuit[direction].wakes;
        if wakes.pace.set(at) {
            self.timers.set(at, Timer::Pace(id));
        }
    }

    /// Makes sure that a timer serves the deadline of the flow's repair.
    #[inline]
    pub(super) fn set_alarm(&mut self, direction: Direction) {
        let id = self.id(direction);
        let flow = &mut self.circuit[direction];
        let Some(deadline) = flow.repair.deadline() else {
            return;
        };
        if flow.wakes.alarm.set(deadline) {
            self.timers.set(deadline, Timer::Deadline(id));
        }
    }
}
