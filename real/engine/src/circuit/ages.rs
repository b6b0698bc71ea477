//! How long the oldest cells of a flow have waited.

use std::collections::VecDeque;

use hopflow_overlay::FlowView;
use hopflow_units::Instant;

/// Times that are kept of a flow at most.
const MOST_MARKS: usize = 32;

/// When the cells arrived that a flow holds, as precisely as it is looked at.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    /// Times, and how many cells had arrived by then; only of cells that are still held.
    marks: VecDeque<(Instant, u64)>,
}

impl Ages {
    /// Looks at the flow.
    pub(crate) fn look(&mut self, now: Instant, flow: &FlowView) {
        let (held, waiting) = (flow.held.get(), flow.queued.get() + flow.out_of_order.get());
        let unanswered = held.saturating_sub(waiting);
        let gone = flow.departed.get().saturating_sub(unanswered);
        while self.marks.front().is_some_and(|(_, by)| *by <= gone) {
            self.marks.pop_front();
        }
        let arrived = gone + held;
        let full = self.marks.len() == MOST_MARKS;
        match self.marks.back_mut() {
            Some((_, by)) if *by >= arrived => {}
            // Newer cells pass for as old as those before them.
            Some((_, by)) if full => *by = arrived,
            _ if held > 0 => self.marks.push_back((now, arrived)),
            _ => {}
        }
    }

    /// When the oldest of the cells arrived that are held; `None` if there are none.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.marks.front().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::Cells;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// A flow that sent so many cells, of which some are unanswered, and has others queued.
    fn flow(departed: u64, unanswered: u64, queued: u64) -> FlowView {
        FlowView {
            queued: Cells::new(queued),
            out_of_order: Cells::ZERO,
            held: Cells::new(queued + unanswered),
            proofs: Cells::ZERO,
            outstanding: Cells::new(unanswered),
            window: None,
            departed: Cells::new(departed),
        }
    }

    #[test]
    fn the_oldest_cell_is_the_first_that_was_neither_sent_nor_answered() {
        let mut ages = Ages::default();
        ages.look(at(1), &flow(0, 0, 0));
        assert_eq!(ages.oldest(), None);
        ages.look(at(2), &flow(0, 0, 3));
        ages.look(at(3), &flow(2, 2, 4));
        assert_eq!(ages.oldest(), Some(at(2)));
        // The first three are answered, three of those that came later are not.
        ages.look(at(4), &flow(4, 1, 2));
        assert_eq!(ages.oldest(), Some(at(3)));
        ages.look(at(5), &flow(6, 0, 0));
        assert_eq!(ages.oldest(), None);
    }

    #[test]
    fn a_flow_that_trickles_does_not_look_young() {
        let mut ages = Ages::default();
        for second in 1..1000 {
            // Two cells arrive for each that departs.
            ages.look(at(second), &flow(second, 0, second));
        }
        // The oldest is the 1,000th that arrived.
        let oldest = ages.oldest().expect("cells wait").as_nanos();
        assert!(oldest <= 500, "{oldest}");
        assert!(ages.marks.len() <= MOST_MARKS);
    }
}
