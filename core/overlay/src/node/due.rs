//! What is due: the node's timers, by kind.

use hopflow_units::Instant;
use hopflow_wire::{Frame, Payload};

use super::Node;
use super::visit::Visit;
use crate::circuit::Fired;
use crate::repair::Expired;
use crate::timers::Timer;
use crate::{Direction, FlowId, HopControl, HopSignal, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Does what is due: delivers, lets feedback leave, serves timers, calls layers.
    pub(super) fn handle_timers(&mut self, now: Instant) {
        self.deliver_others(now);
        self.egress.flush_due(now);
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
        self.egress.forget_stale();
    }

    fn on_deadline(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            visit.on_deadline(id.direction(), at)
        });
    }

    /// A rate may allow a flow's next cell.
    fn on_pace(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            let wakes = &mut visit.circuit[id.direction()].wakes;
            if !wakes.pace.fired(at) {
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
            visit.on_hop(id.direction(), HopSignal::Timer)?;
            visit.after_gate(id.direction())
        });
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// A deadline of the flow's repair may have come.
    fn on_deadline(&mut self, direction: Direction, at: Instant) -> Result<(), Violation> {
        let flow = &mut self.circuit[direction];
        if !flow.wakes.alarm.fired(at) {
            return Ok(());
        }
        let Some(port) = flow.outbound else {
            return Ok(());
        };
        match flow.repair.on_deadline(self.now, &flow.queue) {
            Some(Expired::Gone) => return Err(Violation::Unreachable),
            Some(Expired::Probe) => {
                let link = self.egress.link(port.link);
                link.control.push(Frame::Probe(port.circuit));
                self.egress.flush_link(self.now, port.link);
            }
            Some(Expired::Resend) => self.on_lost(direction, true)?,
            None => {}
        }
        self.after_gate(direction)
    }
}
