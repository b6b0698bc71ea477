//! What arrives from neighbours.

use hopflow_units::{Cells, CircuitId, Instant, LinkId};
use hopflow_wire::{Cell, Destroy, Feedback, Frame, Payload, Reason};

use super::Node;
use crate::flow::Port;
use crate::hop::{Accepted, Expired};
use crate::{
    AckSample, Excess, FlowId, Forwarded, LinkSample, LossSample, Role, Transport, Violation,
};

impl<T: Transport, P: Payload> Node<T, P> {
    #[inline]
    pub(super) fn on_cell(&mut self, now: Instant, link: LinkId, cell: Cell<P>) {
        let Some(id) = self.links[link.index()].flow(cell.circuit) else {
            return self.on_stray(link, cell.circuit);
        };
        if self.plan.connection.is_some() {
            return self.on_connected_cell(now, id, cell);
        }
        let limit = self.plan.queue_limit.get();
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let arrived = if self.plan.reliable {
            match flow
                .receiver
                .accept(cell.seq, cell.payload, &mut flow.queue, limit)
            {
                Accepted::InOrder(cells) => {
                    self.owe_feedback(now, id);
                    cells
                }
                Accepted::Excess => return self.on_excess(id),
                Accepted::Held => return self.acknowledge_at_once(now, link, id),
                Accepted::Duplicate => {
                    self.counters.duplicates += 1;
                    return self.acknowledge_at_once(now, link, id);
                }
            }
        } else if flow.queue.unsent() >= limit {
            return self.on_excess(id);
        } else {
            flow.queue.push(cell.payload);
            1
        };
        self.on_arrived(now, id, arrived);
    }

    #[inline]
    pub(super) fn on_arrived(&mut self, now: Instant, id: FlowId, cells: u64) {
        for _ in 0..cells {
            self.hook(now, id, |transport, state, cx| {
                transport.on_arrival(state, cx);
            });
        }
        let Some(flow) = self.flow(id) else { return };
        let (queued, role) = (flow.queue.unsent(), flow.site.role);
        self.counters.largest_queue = self.counters.largest_queue.max(queued);
        match role {
            Role::Sink => self.deliver(now, id),
            _ => self.schedule(now, id),
        }
    }

    /// Drops a cell that the queue cannot take.
    #[cold]
    pub(super) fn on_excess(&mut self, id: FlowId) {
        self.counters.cells_dropped += 1;
        let (reliable, limit) = (self.plan.reliable, self.plan.queue_limit.get());
        if self.plan.excess == Excess::Drop {
            return;
        }
        // A stream carrier has delivered the cell for good, so it cannot be dropped unnoticed.
        let persistent = self
            .flow(id)
            .is_some_and(|flow| flow.receiver.excess() > limit);
        if persistent || !reliable {
            self.violated(id, Violation::Excess);
        }
    }

    /// Tells a neighbour that the circuit it uses does not exist here.
    #[cold]
    pub(super) fn on_stray(&mut self, link: LinkId, circuit: CircuitId) {
        self.counters.strays += 1;
        self.link(link).push_answer(Frame::Destroy(Destroy {
            circuit,
            reason: Reason::Unknown,
        }));
        self.flush_link(link);
    }

    /// Acknowledges at once what shows a gap or a needless retransmission (RFC 5681, 4.2).
    #[cold]
    fn acknowledge_at_once(&mut self, now: Instant, link: LinkId, id: FlowId) {
        self.owe_feedback(now, id);
        self.flush_link(link);
    }

    #[inline]
    pub(super) fn on_feedback(&mut self, now: Instant, link: LinkId, feedback: &Feedback) {
        // Feedback travels against the cells it is about.
        let Some(id) = self.links[link.index()]
            .flow(feedback.circuit)
            .map(FlowId::reverse)
        else {
            return;
        };
        let result = if self.plan.reliable {
            self.on_ack(now, link, id, feedback)
        } else {
            Ok(())
        };
        let result = match result {
            Ok(()) if self.plan.forward_feedback => self.on_forwarded(now, id, feedback),
            other => other,
        };
        match result {
            Ok(()) => self.after_gate(now, id),
            Err(violation) => self.violated(id, violation),
        }
    }

    #[inline]
    fn on_ack(
        &mut self,
        now: Instant,
        link: LinkId,
        id: FlowId,
        feedback: &Feedback,
    ) -> Result<(), Violation> {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return Ok(());
        };
        let acked = flow
            .sender
            .on_ack(now, feedback, &mut flow.queue, &self.plan.rtt)?;
        let cells = Cells::new(acked.cells);
        if !self.plan.forward_feedback {
            flow.gates.hop.release(cells)?;
        }
        if acked.cells > 0 {
            self.release_link(now, link, cells);
            let sample = AckSample {
                cells,
                rtt: acked.rtt,
            };
            self.hook(now, id, |transport, state, cx| {
                transport.on_ack(state, cx, &sample);
            });
            if let Some(rtt) = acked.rtt {
                self.link_hook(now, link, LinkSample::Rtt(rtt));
            }
        }
        if acked.lost {
            self.on_loss(now, link, id, false);
        }
        Ok(())
    }

    /// Gives a link's gate back what was acknowledged, and lets flows go on that it held back.
    #[inline]
    fn release_link(&mut self, now: Instant, link: LinkId, cells: Cells) {
        self.link(link).release(cells);
        self.reopen(now, link);
    }

    #[cold]
    fn on_loss(&mut self, now: Instant, link: LinkId, id: FlowId, timeout: bool) {
        let sample = LossSample { timeout };
        self.hook(now, id, |transport, state, cx| {
            transport.on_loss(state, cx, &sample);
        });
        self.link_hook(now, link, LinkSample::Loss(sample));
        // What is sent again passes no gate, so the flow must not wait for the link's.
        self.unblock(link);
    }

    #[inline]
    fn on_forwarded(
        &mut self,
        now: Instant,
        id: FlowId,
        feedback: &Feedback,
    ) -> Result<(), Violation> {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return Ok(());
        };
        let news = flow
            .sender
            .on_forwarded(now, feedback, &flow.queue, &self.plan.rtt)?;
        let Some((cells, rtt)) = news.filter(|(cells, _)| *cells > 0 || feedback.word.is_some())
        else {
            return Ok(());
        };
        let cells = Cells::new(cells);
        flow.gates.hop.release(cells)?;
        let sample = Forwarded {
            cells,
            rtt,
            word: feedback.word,
        };
        self.hook(now, id, |transport, state, cx| {
            transport.on_forwarded(state, cx, &sample);
        });
        Ok(())
    }

    pub(super) fn on_probe(&mut self, now: Instant, link: LinkId, circuit: CircuitId) {
        match self.links[link.index()].flow(circuit) {
            Some(id) => self.acknowledge_at_once(now, link, id),
            None => self.on_stray(link, circuit),
        }
    }

    pub(super) fn on_destroy(&mut self, link: LinkId, destroy: Destroy) {
        let Some(id) = self.links[link.index()].flow(destroy.circuit) else {
            return;
        };
        let told = Port {
            link,
            circuit: destroy.circuit,
        };
        self.remove_circuit(id.circuit(), destroy.reason, Some(told));
    }

    pub(super) fn on_deadline(&mut self, now: Instant, id: FlowId, at: Instant) {
        let rtt = self.plan.rtt;
        let Some(flow) = self.flow(id) else { return };
        if flow.alarm != Some(at) {
            return;
        }
        flow.alarm = None;
        let Some(port) = flow.outbound else { return };
        let due = flow
            .sender
            .deadline()
            .is_some_and(|deadline| deadline <= now);
        let expired = if due {
            flow.sender.on_deadline(now, &flow.queue, &rtt)
        } else {
            None
        };
        match expired {
            Some(Expired::Gone) => return self.violated(id, Violation::Unreachable),
            Some(Expired::Probe) => {
                self.link(port.link)
                    .push_control(Frame::Probe(port.circuit));
                self.flush_link(port.link);
            }
            Some(Expired::Resend) => self.on_loss(now, port.link, id, true),
            None => {}
        }
        self.after_gate(now, id);
    }
}
