//! Which flows of a node are busy: the others take nothing of what the node can carry.

use hopflow_units::{Duration, Instant};

use crate::FlowId;

/// The flows that had a cell not long ago.
///
/// A flow is busy from a cell's arrival or departure on, for as long as
/// [`HopPlan::busy`](crate::HopPlan::busy) says. Nothing is counted where no control asks for it.
#[derive(Clone, Debug)]
pub struct BusyFlows {
    /// How long a flow is busy after a cell.
    after: Option<Duration>,
    /// The last cell of each flow that is listed.
    last: Vec<Option<Instant>>,
    /// Flows that are busy, or were until not long ago.
    listed: Vec<FlowId>,
}

impl BusyFlows {
    pub(crate) const fn new(after: Option<Duration>) -> Self {
        Self {
            after,
            last: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// Changes how long a flow is busy after a cell.
    pub(crate) const fn set_after(&mut self, after: Option<Duration>) {
        self.after = after;
    }

    /// Notes that a flow has a cell.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, flow: FlowId) {
        if self.after.is_none() {
            return;
        }
        match self.last.get_mut(flow.index()) {
            Some(Some(last)) => *last = now,
            _ => self.list(now, flow),
        }
    }

    /// Lists a flow that was not, in place of those that are busy no more.
    fn list(&mut self, now: Instant, flow: FlowId) {
        let mut listed = std::mem::take(&mut self.listed);
        listed.retain(|&other| {
            let busy = self.is_busy(now, other);
            if !busy {
                self.last[other.index()] = None;
            }
            busy
        });
        if self.last.len() <= flow.index() {
            self.last.resize(flow.index() + 1, None);
        }
        self.last[flow.index()] = Some(now);
        listed.push(flow);
        self.listed = listed;
    }

    /// A flow is gone: its number may be given to another one.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        if let Some(last) = self.last.get_mut(flow.index())
            && last.take().is_some()
        {
            self.listed.retain(|&other| other != flow);
        }
    }

    /// Whether a flow is busy.
    pub fn is_busy(&self, now: Instant, flow: FlowId) -> bool {
        let last = self.last.get(flow.index()).copied().flatten();
        let Some((last, after)) = last.zip(self.after) else {
            return false;
        };
        now.saturating_since(last) <= after
    }

    /// The busy flows, in the order in which they were listed: what decides is their cells alone.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowId> {
        let listed = self.listed.iter().copied();
        listed.filter(move |&flow| self.is_busy(now, flow))
    }

    /// How many flows are busy.
    pub fn count(&self, now: Instant) -> usize {
        self.flows(now).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn flow(n: u32) -> FlowId {
        FlowId::new(n, Direction::Backward)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_flow_is_busy_for_a_while_after_its_last_cell() {
        let mut busy = BusyFlows::new(Some(Duration::from_millis(300)));
        busy.note(at(0), flow(7));
        busy.note(at(100), flow(2));
        busy.note(at(200), flow(7));
        assert_eq!(busy.flows(at(400)).collect::<Vec<_>>(), [flow(7), flow(2)]);
        assert_eq!(busy.flows(at(401)).collect::<Vec<_>>(), [flow(7)]);
        assert_eq!(busy.count(at(501)), 0);
        busy.note(at(600), flow(3));
        assert_eq!(busy.flows(at(600)).collect::<Vec<_>>(), [flow(3)]);
        assert_eq!(busy.listed, [flow(3)], "others are listed no more");
    }

    #[test]
    fn a_flow_that_is_gone_is_not_busy() {
        let mut busy = BusyFlows::new(Some(Duration::from_millis(300)));
        busy.note(at(0), flow(1));
        busy.forget(flow(1));
        busy.forget(flow(9));
        assert_eq!(busy.count(at(0)), 0);
        busy.note(at(1), flow(1));
        assert_eq!(busy.count(at(1)), 1);
    }

    #[test]
    fn nothing_is_counted_where_nobody_asks() {
        let mut busy = BusyFlows::new(None);
        busy.note(at(0), flow(1));
        assert_eq!((busy.count(at(0)), busy.last.len()), (0, 0));
    }
}
