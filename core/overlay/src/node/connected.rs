//! Circuits whose ends keep a connection: numbered cells, and acknowledgements as cells.

use hopflow_units::{Cells, Instant};
use hopflow_wire::{Cell, Payload, RelayCommand};

use super::Node;
use crate::connection::{Connected, Part, Tag};
use crate::flow::Flow;
use crate::hop::Accepted;
use crate::timers::Timer;
use crate::{FlowId, FlowView, Transport};

impl<T: Transport, P: Payload> Node<T, P> {
    /// Takes a cell of a circuit whose ends keep a connection.
    pub(super) fn on_connected_cell(&mut self, now: Instant, id: FlowId, cell: Cell<P>) {
        let limit = self.plan.queue_limit.get();
        let Some(flow) = self.flow(id) else { return };
        let Some(connected) = &mut flow.connected else {
            return;
        };
        match connected.part {
            Part::Source(_) => {}
            Part::Relay if flow.queue.unsent() >= limit => self.on_excess(id),
            Part::Relay => {
                connected.tags.push_back(Tag::of(&cell));
                flow.queue.push(cell.payload);
                self.on_arrived(now, id, 1);
            }
            Part::Sink(_) => self.on_sunk_cell(now, id, cell),
        }
    }

    /// A cell has come to its circuit's end.
    fn on_sunk_cell(&mut self, now: Instant, id: FlowId, cell: Cell<P>) {
        match cell.payload.header().map(|header| header.command) {
            Ok(RelayCommand::Ack) => return self.on_acknowledgement(now, id.reverse(), &cell),
            Ok(RelayCommand::Ask) => {
                if let Some(sink) = self.flow(id).and_then(Flow::sink) {
                    sink.asked(now);
                }
            }
            _ => self.on_numbered_cell(now, id, cell),
        }
        self.acknowledge(now, id);
    }

    fn on_numbered_cell(&mut self, now: Instant, id: FlowId, cell: Cell<P>) {
        let tag = Tag::of(&cell);
        let Some(flow) = self.flow(id) else { return };
        let Some(sink) = flow.connected.as_mut().and_then(|end| end.sink()) else {
            return;
        };
        let number = tag.number.widen(flow.receiver.expected());
        let accepted = flow
            .receiver
            .accept(cell.seq, cell.payload, &mut flow.queue, sink.buffer());
        if accepted != Accepted::Excess {
            sink.receive(now, number, tag);
        }
        match accepted {
            Accepted::InOrder(cells) => self.on_arrived(now, id, cells),
            Accepted::Held => {}
            Accepted::Duplicate => self.counters.duplicates += 1,
            Accepted::Excess => self.on_excess(id),
        }
    }

    /// The sink of what is sent here acknowledges.
    fn on_acknowledgement(&mut self, now: Instant, id: FlowId, cell: &Cell<P>) {
        let Some(source) = self.flow(id).and_then(Flow::source) else {
            return;
        };
        let taken = cell
            .payload
            .read_acknowledgement()
            .map_err(crate::Violation::Malformed)
            .and_then(|ack| source.on_ack(now, Tag::of(cell), &ack));
        match taken {
            Ok(()) => self.after_gate(now, id),
            Err(violation) => self.violated(id, violation),
        }
    }

    /// Counts what a sink's application took, or what else left the sink's queue.
    pub(super) fn after_sunk(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flow(id) else { return };
        let taken = flow.queue.next();
        if let Some(sink) = flow.sink() {
            sink.on_taken(taken);
            self.acknowledge(now, id);
        }
    }

    /// Sends what a sink has to tell the source.
    fn acknowledge(&mut self, now: Instant, id: FlowId) {
        let limit = self.plan.queue_limit.get();
        while let Some((tag, ack)) = self
            .flow(id)
            .and_then(Flow::sink)
            .and_then(|sink| sink.next(now))
        {
            let Some(reverse) = self.flow(id.reverse()) else {
                return;
            };
            if reverse.queue.unsent() < limit {
                reverse.push_tagged(tag, P::acknowledgement(&ack));
            } else {
                self.counters.cells_dropped += 1;
            }
        }
        self.set_connection_alarm(id);
        self.schedule(now, id.reverse());
    }

    /// Puts what a source's TCP lets go into the flow's queue; false if that is nothing.
    pub(super) fn pump(&mut self, now: Instant, id: FlowId) -> bool {
        let Some(flow) = self.flow(id) else {
            return false;
        };
        let mut any = false;
        while let Some((tag, payload)) = flow.source().and_then(|source| source.next(now)) {
            flow.push_tagged(tag, payload);
            any = true;
        }
        self.set_connection_alarm(id);
        any
    }

    /// Makes sure that a timer serves a connection's deadline.
    fn set_connection_alarm(&mut self, id: FlowId) {
        let Some(flow) = self.flow(id) else { return };
        let Some(connected) = &mut flow.connected else {
            return;
        };
        if let Some(deadline) = connected.deadline()
            && connected.alarm.is_none_or(|alarm| alarm > deadline)
        {
            connected.alarm = Some(deadline);
            self.timers.set(deadline, Timer::Connection(id));
        }
    }

    /// A connection's deadline may have come.
    pub(super) fn on_connection_timer(&mut self, now: Instant, id: FlowId, at: Instant) {
        let connected = self.flow(id).and_then(|flow| flow.connected.as_mut());
        let Some(connected) = connected.filter(|connected| connected.alarm == Some(at)) else {
            return;
        };
        connected.alarm = None;
        connected.handle_timeout(now);
        let is_sink = connected.sink().is_some();
        if is_sink {
            self.acknowledge(now, id);
        } else {
            self.after_gate(now, id);
        }
    }
}

impl<S, P: Payload> Flow<S, P> {
    /// The present state of the flow. The ends count each cell once, relays each transmission.
    pub(super) fn connected_view(&self, connected: &Connected<P>) -> FlowView {
        let (outstanding, departed) = match &connected.part {
            Part::Source(source) => (source.outstanding(), source.sent()),
            Part::Relay | Part::Sink(_) => (0, self.queue.next()),
        };
        FlowView {
            queued: Cells::new(self.queue.unsent()),
            out_of_order: Cells::new(self.receiver.held()),
            outstanding: Cells::new(outstanding),
            window: None,
            departed: Cells::new(departed),
        }
    }
}
