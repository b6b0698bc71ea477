//! What leaves for neighbours: choosing cells, filling datagrams and writes.

use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::{Frame, Payload};

use super::Node;
use super::feedback::report;
use super::outbox::LegWork;
use super::visit::Visit;
use crate::egress::Egress;
use crate::{Direction, EndSignal, FlowId, HopControl, HopSignal, Role, Violation};

/// What became of the front flow of the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// It sent a cell.
    Sent,
    /// It cannot send, so that the next one has its turn.
    Passed,
    /// Nothing may leave now.
    Idle,
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Fills the next datagram, or the next write on a stream.
    pub(super) fn next_packet(
        &mut self,
        now: Instant,
        out: &mut Vec<Frame<P>>,
    ) -> Option<(LinkId, Bytes)> {
        out.clear();
        if let Some(late) = self.flush(now, out, |egress| egress.next_late(now)) {
            return Some(late);
        }
        loop {
            while let Some(link) = self.egress.next_complete() {
                let len = self.pack(link, out);
                // What it had may have been dropped with its circuit.
                if !out.is_empty() {
                    return Some((link, len));
                }
            }
            // A turn may have ended although no other flow has anything to send.
            if !self.step(now) && self.egress.none_complete() {
                break;
            }
        }
        self.flush(now, out, Egress::next_flush)
    }

    /// Fills what is to leave although it is not full, of the first of these links that has anything.
    #[inline]
    fn flush(
        &mut self,
        now: Instant,
        out: &mut Vec<Frame<P>>,
        next: impl Fn(&mut Egress<P>) -> Option<LinkId>,
    ) -> Option<(LinkId, Bytes)> {
        while let Some(link) = next(&mut self.egress) {
            let len = self.pack(link, out);
            self.egress.after_flush(now, link);
            if !out.is_empty() {
                return Some((link, len));
            }
        }
        None
    }

    /// Moves one cell to the outbox of its link; false if none may go.
    #[inline]
    fn step(&mut self, now: Instant) -> bool {
        while let Some(front) = self.egress.scheduler.front() {
            let Some(mut visit) = self.visit(now, front.circuit()) else {
                self.egress.retire_front(None);
                continue;
            };
            let turn = visit.take_turn(front);
            if self.outbox.has_leg_work() {
                self.work_on_legs(now);
            }
            match turn {
                Ok(Turn::Sent) => return true,
                Ok(Turn::Passed) => {}
                Ok(Turn::Idle) => return false,
                Err(violation) => {
                    self.violated(now, front.circuit(), violation);
                    return true;
                }
            }
        }
        false
    }

    /// Fills `out` with a link's cells, control frames and feedback; returns their length.
    #[inline]
    fn pack(&mut self, link: LinkId, out: &mut Vec<Frame<P>>) -> Bytes {
        let circuits = &mut self.circuits;
        let padded = self.plan.hop.feedback.padded;
        self.egress.pack(link, out, |id| {
            let flow = &mut circuits.get_mut(id.circuit())?[id.direction()];
            Some(report(flow, padded))
        })
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// The front flow of the scheduler sends a cell, if it has one, its gate is open, its link has
    /// room, and KIST and the bucket allow it.
    #[inline]
    fn take_turn(&mut self, front: FlowId) -> Result<Turn, Violation> {
        let direction = front.direction();
        let flow = &mut self.circuit[direction];
        let outbound = flow.outbound;
        let port = outbound.filter(|_| flow.is_ready(self.now));
        flow.scheduled = port.is_some();
        let Some(port) = port else {
            self.egress.retire_front(outbound.map(|port| port.link));
            self.pace(direction);
            return Ok(Turn::Passed);
        };
        if !self.egress.fits(front, port.link) {
            return Ok(Turn::Passed);
        }
        if !self.egress.may_send(self.now) {
            return Ok(Turn::Idle);
        }
        self.send_cell(direction, port.link)?;
        Ok(Turn::Sent)
    }

    /// Sends a cell of a flow that may send, again or for the first time.
    #[inline]
    fn send_cell(&mut self, direction: Direction, link: LinkId) -> Result<(), Violation> {
        let flow = &mut self.circuit[direction];
        if let Some((seq, payload)) = flow.repair.resend(&flow.queue) {
            let cell = flow.cell(seq, hopflow_wire::CellFlags::default(), payload);
            self.count_sent(true);
            self.egress.enqueue(self.now, link, cell);
            return Ok(());
        }
        let Some((seq, flags, payload)) = flow.repair.send(self.now, &mut flow.queue) else {
            return Ok(());
        };
        flow.gate.pass(self.now);
        let cell = flow.cell(seq, flags, payload);
        self.count_sent(flags.is_sent_again());
        self.on_hop(direction, HopSignal::Departed)?;
        if self.circuit[direction].site.role == Role::Source {
            self.on_end(EndSignal::Departed)?;
        }
        self.egress.enqueue(self.now, link, cell);
        self.after_departure(direction)
    }

    /// Counts a cell and pays for it; `again` if this hop, or the end that repairs, sent it before.
    #[inline]
    fn count_sent(&mut self, again: bool) {
        self.egress.pay_cell(again);
        let counters = &mut self.outbox.counters;
        if again {
            counters.cells_resent += 1;
        } else {
            counters.cells_sent += 1;
        }
    }

    #[inline]
    fn after_departure(&mut self, direction: Direction) -> Result<(), Violation> {
        if self.circuit[direction].inbound.is_none() {
            if self.leaves_to_legs(direction) {
                self.outbox.leave(LegWork::Refill(self.place));
            } else {
                self.package(direction)?;
            }
        } else if self.plan.hop.feedback.forwarded {
            self.report_forwarded(direction);
        }
        if self.plan.hop.feedback.ahead {
            self.on_hop(direction.reverse(), HopSignal::Returning)?;
        }
        self.set_alarm(direction);
        Ok(())
    }
}
