//! What arrives from neighbours.

use hopflow_units::{Cells, CircuitId, Instant, LinkId};
use hopflow_wire::{Cell, Destroy, Frame, Message, Neighbour, Payload, Reason};

use super::Node;
use super::visit::Visit;
use crate::circuit::Closing;
use crate::repair::{Accepted, Part};
use crate::site::Port;
use crate::{Direction, Excess, HopControl, HopSignal, PathSignal, Role, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Takes the frames of a datagram, or those that a stream had.
    pub(super) fn on_frames(&mut self, now: Instant, link: LinkId, frames: &mut Vec<Frame<P>>) {
        if !self.egress.has(link) {
            return frames.clear();
        }
        self.ticks.end_rest(now);
        for frame in frames.drain(..) {
            match frame {
                Frame::Cell(cell) => self.on_cell(now, link, cell),
                Frame::Feedback(feedback) => self.on_feedback(now, link, (&feedback, None)),
                Frame::Sack(sack) => {
                    self.on_feedback(now, link, (&sack.feedback, Some(&sack.arrived)));
                }
                Frame::Probe(circuit) => self.on_probe(now, link, circuit),
                Frame::Destroy(destroy) => self.on_destroy(now, link, destroy),
                Frame::Message(message) => self.on_message(now, link, &message),
            }
        }
    }

    /// Reads a field of each part of the flows that frames are about; the number means nothing.
    pub(super) fn touch_flows(&self, link: LinkId, frames: &[Frame<P>]) -> u64 {
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

    #[inline]
    fn on_cell(&mut self, now: Instant, link: LinkId, cell: Cell<P>) {
        let Some(id) = self.egress.link(link).flow(cell.circuit) else {
            return self.on_stray(now, link, cell.circuit);
        };
        let direction = id.direction();
        let Some(mut visit) = self.visit(now, id.circuit()) else {
            return;
        };
        match visit.on_cell(direction, cell) {
            Err(violation) => self.violated(now, id.circuit(), violation),
            Ok(true) => self.deliver(now, id.circuit(), direction),
            Ok(false) => {}
        }
        if self.outbox.has_leg_work() {
            self.work_on_legs(now);
        }
    }

    /// Tells a neighbour that the circuit it uses does not exist here.
    #[cold]
    pub(super) fn on_stray(&mut self, now: Instant, link: LinkId, circuit: CircuitId) {
        self.outbox.counters.strays += 1;
        self.egress
            .link(link)
            .control
            .push_answer(Frame::Destroy(Destroy {
                circuit,
                reason: Reason::Unknown,
            }));
        self.egress.flush_link(now, link);
    }

    fn on_destroy(&mut self, now: Instant, link: LinkId, destroy: Destroy) {
        let Some(id) = self.egress.link(link).flow(destroy.circuit) else {
            return;
        };
        let sender = Port {
            link,
            circuit: destroy.circuit,
        };
        let closing = Closing::Neighbour(sender, destroy.reason);
        self.remove_circuit(now, id.circuit(), closing);
    }

    /// A layer of a neighbour sent a message.
    pub(super) fn on_message(&mut self, now: Instant, link: LinkId, message: &Message) {
        let Some(arriving) = self.egress.link(link).flow(message.circuit) else {
            return self.on_stray(now, link, message.circuit);
        };
        let id = match message.sender {
            Neighbour::Predecessor => arriving,
            Neighbour::Successor => arriving.reverse(),
        };
        // Those send messages that are called regularly, see `Plan::tick`.
        if self.layers.path.is_some() && self.plan.hop.tick.is_none() {
            let signal = PathSignal::Message(message.sender, &message.body);
            return self.on_path(now, id, signal);
        }
        self.with(now, id.circuit(), |visit| {
            let signal = HopSignal::Message(message.sender, &message.body);
            visit.on_hop(id.direction(), signal)?;
            visit.after_gate(id.direction())
        });
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// Takes a cell; true if it may be delivered here.
    #[inline]
    fn on_cell(&mut self, direction: Direction, cell: Cell<P>) -> Result<bool, Violation> {
        if let Some(connected) = self.circuit[direction].repair.connection() {
            match connected.part {
                Part::Relay => {}
                Part::Source(_) => return Ok(false),
                Part::Sink(_) => return self.on_cell_at_end(direction, cell),
            }
        }
        let limit = self.plan.link.queue_limit.get();
        let flow = &mut self.circuit[direction];
        let accepted = flow.repair.accept(cell, &mut flow.queue, limit);
        match accepted {
            Accepted::InOrder(cells) => {
                if self.plan.repairs_hops() {
                    self.owe_feedback(direction);
                }
                return self.on_arrived(direction, cells);
            }
            Accepted::Excess => self.on_excess(direction)?,
            Accepted::Held(missing) => {
                if missing > 0 {
                    self.on_hop(direction, HopSignal::Missing(Cells::new(missing)))?;
                }
                self.acknowledge_at_once(direction);
            }
            Accepted::Duplicate => {
                self.outbox.counters.duplicates += 1;
                self.acknowledge_at_once(direction);
            }
        }
        Ok(false)
    }

    /// Cells have gone to the queue; true if they may be delivered here.
    #[inline]
    pub(super) fn on_arrived(
        &mut self,
        direction: Direction,
        cells: u64,
    ) -> Result<bool, Violation> {
        for _ in 0..cells {
            self.on_hop(direction, HopSignal::Arrived)?;
        }
        let flow = &self.circuit[direction];
        let largest = &mut self.outbox.counters.largest_queue;
        *largest = (*largest).max(flow.queue.unsent());
        if flow.site.role == Role::Sink {
            return Ok(true);
        }
        self.schedule(direction);
        Ok(false)
    }

    /// Drops a cell that the queue cannot take.
    #[cold]
    pub(super) fn on_excess(&mut self, direction: Direction) -> Result<(), Violation> {
        self.outbox.counters.cells_dropped += 1;
        if self.plan.link.excess == Excess::Drop {
            return Ok(());
        }
        // A stream carrier has delivered the cell for good, so it cannot be dropped unnoticed.
        let persistent = self.circuit[direction].repair.excess() > self.plan.link.queue_limit.get();
        if persistent || !self.plan.repairs_hops() {
            return Err(Violation::Excess);
        }
        Ok(())
    }
}
