//! Which flows of a node are busy: the others take nothing of what the node can carry.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

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
    /// Of each flow that is listed, its last cell and its place in the list.
    last: Vec<Option<Listed>>,
    /// Flows that are busy, or were until not long ago, in the order in which they were listed.
    listed: BTreeMap<u64, FlowId>,
    /// Each place, by a cell of its flow: since it was listed, or since it was looked at, others may have
    /// come. Who lists a flow looks at those places only whose cell is old.
    looks: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Flows that were listed so far.
    count: u64,
}

/// A flow that is listed.
#[derive(Clone, Copy, Debug)]
struct Listed {
    last: Instant,
    place: u64,
}

impl BusyFlows {
    pub(crate) const fn new(after: Option<Duration>) -> Self {
        Self {
            after,
            last: Vec::new(),
            listed: BTreeMap::new(),
            looks: BinaryHeap::new(),
            count: 0,
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
            Some(Some(listed)) => listed.last = now,
            _ => self.list(now, flow),
        }
    }

    /// Lists a flow that was not, in place of those that are busy no more.
    fn list(&mut self, now: Instant, flow: FlowId) {
        let Some(after) = self.after else { return };
        let is_old = |at: Instant| now.saturating_since(at) > after;
        while let Some(&Reverse((at, place))) = self.looks.peek()
            && is_old(at)
        {
            self.looks.pop();
            let Some(other) = self.listed.get(&place).map(|flow| flow.index()) else {
                continue;
            };
            match self.last[other] {
                Some(listed) if !is_old(listed.last) => {
                    self.looks.push(Reverse((listed.last, place)));
                }
                _ => {
                    self.listed.remove(&place);
                    self.last[other] = None;
                }
            }
        }
        if self.last.len() <= flow.index() {
            self.last.resize(flow.index() + 1, None);
        }
        let place = self.count;
        self.count += 1;
        self.last[flow.index()] = Some(Listed { last: now, place });
        self.listed.insert(place, flow);
        self.looks.push(Reverse((now, place)));
    }

    /// A flow is gone: its number may be given to another one.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        if let Some(last) = self.last.get_mut(flow.index())
            && let Some(listed) = last.take()
        {
            self.listed.remove(&listed.place);
        }
    }

    /// Whether a flow is busy.
    pub fn is_busy(&self, now: Instant, flow: FlowId) -> bool {
        let listed = self.last.get(flow.index()).copied().flatten();
        let Some((listed, after)) = listed.zip(self.after) else {
            return false;
        };
        now.saturating_since(listed.last) <= after
    }

    /// The busy flows, in the order in which they were listed: what decides is their cells alone.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowId> {
        let listed = self.listed.values().copied();
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
        let listed: Vec<FlowId> = busy.listed.into_values().collect();
        assert_eq!(listed, [flow(3)], "others are listed no more");
    }

    /// Looks at all that is listed whenever a flow is.
    struct Naive(Vec<(FlowId, Instant)>);

    impl Naive {
        fn note(&mut self, now: Instant, after: Duration, flow: FlowId) {
            let known = self.0.iter_mut().find(|(other, _)| *other == flow);
            if let Some((_, last)) = known {
                *last = now;
            } else {
                self.0
                    .retain(|(_, last)| now.saturating_since(*last) <= after);
                self.0.push((flow, now));
            }
        }
    }

    #[test]
    fn the_order_is_that_of_a_list_that_is_searched_through_each_time() {
        let (mut random, mut now) = (7_u64, at(0));
        let mut below = |end: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % end
        };
        let mut after = Duration::from_millis(300);
        let (mut busy, mut naive) = (BusyFlows::new(Some(after)), Naive(Vec::new()));
        for _ in 0..20_000 {
            now += Duration::from_millis(below(30));
            let flow = flow(below(40) as u32);
            match below(20) {
                0 => {
                    busy.forget(flow);
                    naive.0.retain(|(other, _)| *other != flow);
                }
                1 => {
                    after = Duration::from_millis(100 + below(300));
                    busy.set_after(Some(after));
                }
                _ => {
                    busy.note(now, flow);
                    naive.note(now, after, flow);
                }
            }
            let all: Vec<FlowId> = busy.listed.values().copied().collect();
            assert_eq!(
                all,
                naive.0.iter().map(|(flow, _)| *flow).collect::<Vec<_>>()
            );
        }
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
