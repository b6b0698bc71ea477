//! The connection of a circuit's ends, which repairs losses from end to end: numbered cells, their
//! acknowledgements, and deadlines.

use hopflow_units::Instant;
use hopflow_wire::{Cell, Payload, RelayCommand};

use super::Node;
use super::visit::Visit;
use crate::repair::Accepted;
use crate::timers::Timer;
use crate::{Direction, FlowId, HopControl, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// A deadline of the connection of a circuit's ends may have come.
    pub(super) fn on_connection_timer(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            visit.on_connection_timer(id.direction(), at)
        });
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// A cell has come to the end of a circuit whose ends keep a connection.
    pub(super) fn on_cell_at_end(
        &mut self,
        direction: Direction,
        cell: Cell<P>,
    ) -> Result<bool, Violation> {
        let command = cell.payload.header().map(|header| header.command);
        let of_connection = command.is_ok_and(RelayCommand::is_of_connection);
        if of_connection != cell.flags.is_control() {
            return Err(command.map_or_else(Violation::Malformed, Violation::Unexpected));
        }
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
            Accepted::Held(_) => {}
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
        source.on_ack(self.now, cell.seq, &ack)?;
        self.after_gate(direction)
    }

    /// Sends what a sink has to say to the source of a connection.
    pub(super) fn acknowledge(&mut self, direction: Direction) {
        let limit = self.plan.link.queue_limit.get();
        while let Some(sink) = self.circuit[direction].repair.sink()
            && let Some(ack) = sink.next(self.now)
        {
            let reverse = &mut self.circuit[direction.reverse()];
            if reverse.queue.unsent() < limit {
                reverse.push_tagged(None, P::acknowledgement(&ack));
            } else {
                self.outbox.counters.cells_dropped += 1;
            }
        }
        self.set_connection_alarm(direction);
        self.schedule(direction.reverse());
    }

    /// Puts what a source's TCP lets go into the flow's queue; false if that is nothing. Half of the queue is
    /// left to acknowledgements of the other direction, whatever is sent again.
    pub(super) fn pump(&mut self, direction: Direction) -> bool {
        let (now, mut any) = (self.now, false);
        let limit = self.plan.link.queue_limit.get().div_ceil(2);
        let flow = &mut self.circuit[direction];
        while flow.queue.unsent() < limit
            && let Some((tag, payload)) = flow.repair.source().and_then(|source| source.next(now))
        {
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
            && connected.alarm.set(deadline)
        {
            self.timers.set(deadline, Timer::Connection(id));
        }
    }

    fn on_connection_timer(&mut self, direction: Direction, at: Instant) -> Result<(), Violation> {
        let connected = self.circuit[direction].repair.connection();
        let Some(connected) = connected else {
            return Ok(());
        };
        if !connected.alarm.fired(at) {
            return Ok(());
        }
        connected.handle_timeout(self.now)?;
        if connected.sink().is_some() {
            self.acknowledge(direction);
            return Ok(());
        }
        self.after_gate(direction)
    }
}
