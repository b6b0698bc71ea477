//! What arrives from neighbours.

use hopflow_units::{CircuitId, Instant, LinkId};
use hopflow_wire::{Cell, Destroy, Frame, Message, Neighbour, Payload, Reason, RelayCommand};

use super::Node;
use super::visit::Visit;
use crate::circuit::Closing;
use crate::flow::Port;
use crate::repair::{Accepted, Part, Tag};
use crate::timers::Timer;
use crate::{Direction, Excess, FlowId, HopControl, HopSignal, PathSignal, Role, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    #[inline]
    pub(super) fn on_cell(&mut self, now: Instant, link: LinkId, cell: Cell<P>) {
        let Some(id) = self.egress.link(link).flow(cell.circuit) else {
            return self.on_stray(link, cell.circuit);
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
    pub(super) fn on_stray(&mut self, link: LinkId, circuit: CircuitId) {
        self.outbox.counters.strays += 1;
        self.egress
            .link(link)
            .control
            .push_answer(Frame::Destroy(Destroy {
                circuit,
                reason: Reason::Unknown,
            }));
        self.egress.flush_link(link);
    }

    pub(super) fn on_destroy(&mut self, now: Instant, link: LinkId, destroy: Destroy) {
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
            return self.on_stray(link, message.circuit);
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

    /// A deadline of the connection of a circuit's ends may have come.
    pub(super) fn on_connection_timer(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            visit.on_connection_timer(id.direction(), at)
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
            Accepted::Held => self.acknowledge_at_once(direction),
            Accepted::Duplicate => {
                self.outbox.counters.duplicates += 1;
                self.acknowledge_at_once(direction);
            }
        }
        Ok(false)
    }

    /// Cells have gone to the queue; true if they may be delivered here.
    #[inline]
    fn on_arrived(&mut self, direction: Direction, cells: u64) -> Result<bool, Violation> {
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
    fn on_excess(&mut self, direction: Direction) -> Result<(), Violation> {
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

    /// A cell has come to the end of a circuit whose ends keep a connection.
    fn on_cell_at_end(&mut self, direction: Direction, cell: Cell<P>) -> Result<bool, Violation> {
        let command = cell.payload.header().map(|header| header.command);
        let deliver = match command {
            Ok(RelayCommand::Ack) => {
                self.on_acknowledgement(direction.reverse(), &cell)?;
                return Ok(false);
            }
            Ok(RelayCommand::Ask) => {
                if let Some(sink) = self.circuit[direction].repair.sink() {
                    sink.asked(self.now);
                }
                false
            }
            _ => self.on_numbered_cell(direction, cell)?,
        };
        if !deliver {
            self.acknowledge(direction);
        }
        Ok(deliver)
    }

    fn on_numbered_cell(&mut self, direction: Direction, cell: Cell<P>) -> Result<bool, Violation> {
        let flow = &mut self.circuit[direction];
        let Some(sink) = flow.repair.sink() else {
            return Ok(false);
        };
        match sink.accept(self.now, cell, &mut flow.queue) {
            Accepted::InOrder(cells) => return self.on_arrived(direction, cells),
            Accepted::Held => {}
            Accepted::Duplicate => self.outbox.counters.duplicates += 1,
            Accepted::Excess => self.on_excess(direction)?,
        }
        Ok(false)
    }

    /// The sink of the flow that begins here acknowledges.
    fn on_acknowledgement(
        &mut self,
        direction: Direction,
        cell: &Cell<P>,
    ) -> Result<(), Violation> {
        let Some(source) = self.circuit[direction].repair.source() else {
            return Ok(());
        };
        let read = cell.payload.read_acknowledgement();
        let ack = read.map_err(Violation::Malformed)?;
        source.on_ack(self.now, Tag::of(cell), &ack)?;
        self.after_gate(direction)
    }

    /// Sends what a sink has to say to the source of a connection.
    pub(super) fn acknowledge(&mut self, direction: Direction) {
        let limit = self.plan.link.queue_limit.get();
        while let Some(sink) = self.circuit[direction].repair.sink()
            && let Some((tag, ack)) = sink.next(self.now)
        {
            let reverse = &mut self.circuit[direction.reverse()];
            if reverse.queue.unsent() < limit {
                reverse.push_tagged(tag, P::acknowledgement(&ack));
            } else {
                self.outbox.counters.cells_dropped += 1;
            }
        }
        self.set_connection_alarm(direction);
        self.schedule(direction.reverse());
    }

    /// Puts what a source's TCP lets go into the flow's queue; false if that is nothing.
    pub(super) fn pump(&mut self, direction: Direction) -> bool {
        let (now, mut any) = (self.now, false);
        let flow = &mut self.circuit[direction];
        while let Some((tag, payload)) = flow.repair.source().and_then(|source| source.next(now)) {
            flow.push_tagged(tag, payload);
            any = true;
        }
        self.set_connection_alarm(direction);
        any
    }

    /// Makes sure that a timer serves a connection's deadline.
    fn set_connection_alarm(&mut self, direction: Direction) {
        let id = self.id(direction);
        let Some(connected) = self.circuit[direction].repair.connection() else {
            return;
        };
        if let Some(deadline) = connected.deadline()
            && connected.alarm.is_none_or(|alarm| alarm > deadline)
        {
            connected.alarm = Some(deadline);
            self.timers.set(deadline, Timer::Connection(id));
        }
    }

    fn on_connection_timer(&mut self, direction: Direction, at: Instant) -> Result<(), Violation> {
        let connected = self.circuit[direction].repair.connection();
        let Some(connected) = connected.filter(|connected| connected.alarm == Some(at)) else {
            return Ok(());
        };
        connected.alarm = None;
        connected.handle_timeout(self.now);
        if connected.sink().is_some() {
            self.acknowledge(direction);
            return Ok(());
        }
        self.after_gate(direction)
    }
}
