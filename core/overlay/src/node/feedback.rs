//! Feedback: what a node reports to predecessors, and what its successors report.

use hopflow_units::{Cells, CircuitId, Instant, LinkId};
use hopflow_wire::{Arrived, CellSeq, Feedback, Frame, Payload, Sack};

use super::Node;
use super::visit::Visit;
use crate::circuit::Flow;
use crate::repair::News;
use crate::{AckSample, Direction, Forwarded, HopControl, HopSignal, LossSample, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    #[inline]
    pub(super) fn on_feedback(
        &mut self,
        now: Instant,
        link: LinkId,
        (feedback, arrived): (&Feedback, Option<&Arrived>),
    ) {
        // Feedback travels against the cells it is about.
        let Some(arriving) = self.egress.link(link).flow(feedback.circuit) else {
            return;
        };
        let direction = arriving.direction().reverse();
        self.with(now, arriving.circuit(), |visit| {
            visit.on_feedback(direction, feedback, arrived)?;
            visit.after_gate(direction)
        });
    }

    pub(super) fn on_probe(&mut self, now: Instant, link: LinkId, circuit: CircuitId) {
        let Some(arriving) = self.egress.link(link).flow(circuit) else {
            return self.on_stray(now, link, circuit);
        };
        self.with(now, arriving.circuit(), |visit| {
            visit.acknowledge_at_once(arriving.direction());
            Ok(())
        });
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// Takes feedback of the successor: acknowledgements, losses, forwarded cells.
    #[inline]
    fn on_feedback(
        &mut self,
        direction: Direction,
        feedback: &Feedback,
        arrived: Option<&Arrived>,
    ) -> Result<(), Violation> {
        let flow = &mut self.circuit[direction];
        let news = flow
            .repair
            .on_feedback(self.now, (feedback, arrived), &mut flow.queue)?;
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
    pub(super) fn on_lost(&mut self, direction: Direction, timeout: bool) -> Result<(), Violation> {
        self.on_hop(direction, HopSignal::Lost(&LossSample { timeout }))
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
        self.egress.owe(now, port.link, id, feedback);
    }

    /// Acknowledges at once what shows a gap or a needless retransmission (RFC 5681, 4.2).
    #[cold]
    pub(super) fn acknowledge_at_once(&mut self, direction: Direction) {
        self.owe_feedback(direction);
        if let Some(port) = self.circuit[direction].inbound {
            self.egress.flush_link(self.now, port.link);
        }
    }
}

/// What a flow's predecessor hears now, and has not to hear again.
#[inline]
pub(super) fn report<S, P: Payload>(flow: &mut Flow<S, P>, padded: bool) -> Frame<P> {
    flow.report.pending = false;
    flow.report.forwarded = flow.queue.next();
    let (expected, out_of_order) = flow.repair.acknowledgement();
    let inbound = flow.inbound;
    let feedback = Feedback {
        circuit: inbound.map_or_else(Default::default, |port| port.circuit),
        ack: CellSeq::of(expected),
        fwd: CellSeq::of(flow.report.forwarded),
        out_of_order,
        word: flow.report.ext,
        padded,
    };
    match flow.repair.arrived() {
        None => Frame::Feedback(feedback),
        Some(arrived) => Frame::Sack(Box::new(Sack { feedback, arrived })),
    }
}
