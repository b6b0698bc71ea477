//! Feedback: what a node reports to predecessors, and what its successors report.

use hopflow_units::{Cells, CircuitId, Instant, LinkId};
use hopflow_wire::{Feedback, Frame, Payload};

use super::Node;
use super::visit::Visit;
use crate::repair::{Expired, News};
use crate::{
    AckSample, Direction, FlowId, Forwarded, HopControl, HopSignal, LossSample, Violation,
};

impl<H: HopControl, P: Payload> Node<H, P> {
    #[inline]
    pub(super) fn on_feedback(&mut self, now: Instant, link: LinkId, feedback: &Feedback) {
        // Feedback travels against the cells it is about.
        let Some(arriving) = self.egress.link(link).flow(feedback.circuit) else {
            return;
        };
        let direction = arriving.direction().reverse();
        self.with(now, arriving.circuit(), |visit| {
            visit.on_feedback(direction, feedback)?;
            visit.after_gate(direction)
        });
    }

    pub(super) fn on_probe(&mut self, now: Instant, link: LinkId, circuit: CircuitId) {
        let Some(arriving) = self.egress.link(link).flow(circuit) else {
            return self.on_stray(link, circuit);
        };
        self.with(now, arriving.circuit(), |visit| {
            visit.acknowledge_at_once(arriving.direction());
            Ok(())
        });
    }

    pub(super) fn on_deadline(&mut self, now: Instant, id: FlowId, at: Instant) {
        self.with(now, id.circuit(), |visit| {
            visit.on_deadline(id.direction(), at)
        });
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// Takes feedback of the successor: acknowledgements, losses, forwarded cells.
    #[inline]
    fn on_feedback(&mut self, direction: Direction, feedback: &Feedback) -> Result<(), Violation> {
        let flow = &mut self.circuit[direction];
        let news = flow
            .repair
            .on_feedback(self.now, feedback, &mut flow.queue)?;
        if news.acked > 0 {
            self.on_acked(direction, &news)?;
        }
        if news.lost {
            self.on_lost(direction, false)?;
        }
        if self.plan.hop.feedback.forwarded {
            self.on_forwarded(direction, &news, feedback.word)?;
        }
        Ok(())
    }

    #[inline]
    fn on_acked(&mut self, direction: Direction, news: &News) -> Result<(), Violation> {
        let sample = AckSample {
            cells: Cells::new(news.acked),
            rtt: news.ack_rtt,
        };
        if !self.plan.hop.feedback.forwarded {
            self.circuit[direction].gate.release(sample.cells)?;
        }
        self.on_hop(direction, HopSignal::Acked(&sample))
    }

    #[inline]
    fn on_forwarded(
        &mut self,
        direction: Direction,
        news: &News,
        ext: Option<u16>,
    ) -> Result<(), Violation> {
        let Some(cells) = news.forwarded.filter(|cells| *cells > 0 || ext.is_some()) else {
            return Ok(());
        };
        let sample = Forwarded {
            cells: Cells::new(cells),
            rtt: news.forward_rtt,
            ext,
        };
        self.circuit[direction].gate.release(sample.cells)?;
        self.on_hop(direction, HopSignal::Forwarded(&sample))
    }

    #[cold]
    fn on_lost(&mut self, direction: Direction, timeout: bool) -> Result<(), Violation> {
        self.on_hop(direction, HopSignal::Lost(&LossSample { timeout }))
    }

    /// A deadline of the flow's repair may have come.
    fn on_deadline(&mut self, direction: Direction, at: Instant) -> Result<(), Violation> {
        let flow = &mut self.circuit[direction];
        if flow.wakes.alarm.take_if(|alarm| *alarm == at).is_none() {
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
                self.egress.flush_link(port.link);
            }
            Some(Expired::Resend) => self.on_lost(direction, true)?,
            None => {}
        }
        self.after_gate(direction)
    }

    /// Notes that a cell was forwarded, which the predecessor hears at once or with others.
    #[inline]
    pub(super) fn report_forwarded(&mut self, direction: Direction) {
        let every = self.plan.hop.feedback.every.get();
        let flow = &self.circuit[direction];
        if every > 1 && flow.queue.next() - flow.report.forwarded < every {
            return;
        }
        self.owe_feedback(direction);
    }

    /// Notes that the predecessor is to hear how far the flow's cells have come.
    #[inline]
    pub(super) fn owe_feedback(&mut self, direction: Direction) {
        let (id, now) = (self.id(direction), self.now);
        let flow = &mut self.circuit[direction];
        let Some(port) = flow.inbound else { return };
        if std::mem::replace(&mut flow.report.pending, true) {
            return;
        }
        let feedback = &self.plan.hop.feedback;
        let link = self.egress.link(port.link);
        link.reports.owe(id);
        if !feedback.hold.is_zero() {
            let hold = feedback.hold.as_nanos();
            let next = (now.as_nanos() / hold + 1).saturating_mul(hold);
            let at = Instant::from_nanos(next);
            if link.reports.leave_at(at, true) {
                self.timers.set_feedback(at, port.link);
            }
        } else if feedback.delay.is_zero() || link.reports.fill_a_datagram() {
            self.egress.flush_link(port.link);
        } else {
            let at = now + feedback.delay;
            if link.reports.leave_at(at, false) {
                self.timers.set_feedback(at, port.link);
            }
        }
    }

    /// Acknowledges at once what shows a gap or a needless retransmission (RFC 5681, 4.2).
    #[cold]
    pub(super) fn acknowledge_at_once(&mut self, direction: Direction) {
        self.owe_feedback(direction);
        if let Some(port) = self.circuit[direction].inbound {
            self.egress.flush_link(port.link);
        }
    }
}
