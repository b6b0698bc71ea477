//! The scheduler: whose cell goes next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hopflow_units::{Instant, LinkId};

use super::activity::Activity;
use crate::{FlowId, Order, Scope};

/// Chooses among flows that may have something to send.
///
/// Flows stand in rings: one ring for the node, or one per link, and then the links take turns.
/// Within a ring they take turns as well, or the one goes first that sent least of late.
/// A flow may have become unable to send while it waits; the node checks again when it takes the flow.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    scope: Scope,
    /// What every flow sent of late, if the order goes by that.
    activity: Option<Activity>,
    rings: Vec<Ring>,
    /// Rings with flows whose link takes frames, in the order of their turns.
    turns: VecDeque<usize>,
    /// Cells that the front ring may still send in this turn; `None`: its turn has not begun.
    left: Option<u32>,
    /// Flows that came to wait so far: of equally quiet ones, the one that waited longest goes first.
    arrivals: u64,
}

#[derive(Clone, Debug)]
struct Ring {
    flows: Waiting,
    /// Whether the ring stands among the turns.
    in_turns: bool,
    /// Whether its link is full, so that it must not.
    blocked: bool,
}

/// The flows of a ring.
#[derive(Clone, Debug)]
enum Waiting {
    /// In the order of their turns.
    InTurn(VecDeque<FlowId>),
    /// By what they sent of late, then by how long they wait.
    QuietestFirst(BinaryHeap<Reverse<Ranked>>),
}

/// A flow with its rank, and the number of its arrival.
type Ranked = (u64, u64, FlowId);

impl Scheduler {
    pub(crate) fn new(scope: Scope, order: Order) -> Self {
        let activity = match order {
            Order::RoundRobin => None,
            Order::Ewma { half_life } => Some(Activity::new(half_life)),
        };
        let mut scheduler = Self {
            scope,
            activity,
            rings: Vec::new(),
            turns: VecDeque::new(),
            left: None,
            arrivals: 0,
        };
        if scope == Scope::Node {
            scheduler.add_ring();
        }
        scheduler
    }

    pub(crate) fn add_link(&mut self) {
        if self.scope == Scope::Link {
            self.add_ring();
        }
    }

    fn add_ring(&mut self) {
        let flows = match self.activity {
            None => Waiting::InTurn(VecDeque::new()),
            Some(_) => Waiting::QuietestFirst(BinaryHeap::new()),
        };
        self.rings.push(Ring {
            flows,
            in_turns: false,
            blocked: false,
        });
    }

    #[inline]
    fn ring(&self, link: LinkId) -> usize {
        match self.scope {
            Scope::Node => 0,
            Scope::Link => link.index(),
        }
    }

    /// Puts a flow at the end of its ring.
    #[inline]
    pub(crate) fn push(&mut self, flow: FlowId, link: LinkId) {
        let index = self.ring(link);
        let ring = &mut self.rings[index];
        match &mut ring.flows {
            Waiting::InTurn(flows) => flows.push_back(flow),
            Waiting::QuietestFirst(flows) => {
                let rank = self.activity.as_ref().map_or(0, |all| all.rank(flow));
                self.arrivals += 1;
                flows.push(Reverse((rank, self.arrivals, flow)));
            }
        }
        if !ring.in_turns && !ring.blocked {
            ring.in_turns = true;
            self.turns.push_back(index);
        }
    }

    /// The flow whose turn it is.
    #[inline]
    pub(crate) fn front(&self) -> Option<FlowId> {
        let ring = *self.turns.front()?;
        self.rings[ring].flows.front()
    }

    /// Takes the flow whose turn it is out of its ring; returns whether a link's turn ends by it.
    #[inline]
    pub(crate) fn remove_front(&mut self) -> bool {
        let Some(&index) = self.turns.front() else {
            return false;
        };
        let ring = &mut self.rings[index];
        ring.flows.pop_front();
        if !ring.flows.is_empty() {
            return false;
        }
        ring.in_turns = false;
        self.end_turn();
        self.scope == Scope::Link
    }

    /// Counts a cell of the front flow and gives it its new place in its ring; `turn` tells how
    /// many cells a link's turn has. Returns whether the link's turn goes on.
    #[inline]
    pub(crate) fn served(&mut self, now: Instant, turn: impl FnOnce() -> u32) -> bool {
        let Some(&index) = self.turns.front() else {
            return false;
        };
        match &mut self.rings[index].flows {
            Waiting::InTurn(flows) if flows.len() > 1 => flows.rotate_left(1),
            Waiting::InTurn(_) => {}
            Waiting::QuietestFirst(_) => self.count_front(now, index),
        }
        if self.scope == Scope::Node {
            return true;
        }
        let left = self.left.unwrap_or_else(turn).saturating_sub(1);
        self.left = Some(left);
        if left > 0 {
            return true;
        }
        self.end_turn();
        self.turns.push_back(index);
        false
    }

    /// Counts a cell of a ring's quietest flow, which may be another one then.
    fn count_front(&mut self, now: Instant, index: usize) {
        let (Some(activity), Some(flow)) = (&mut self.activity, self.rings[index].flows.front())
        else {
            return;
        };
        let scaled = activity.count(now, flow);
        self.arrivals += 1;
        if let Waiting::QuietestFirst(flows) = &mut self.rings[index].flows
            && let Some(mut front) = flows.peek_mut()
        {
            *front = Reverse((activity.rank(flow), self.arrivals, flow));
        }
        if scaled {
            self.rank_anew();
        }
    }

    /// Ranks all flows that wait after their counts were scaled.
    #[cold]
    fn rank_anew(&mut self) {
        let Some(activity) = &self.activity else {
            return;
        };
        for ring in &mut self.rings {
            if let Waiting::QuietestFirst(flows) = &mut ring.flows {
                let ranked = flows.drain().map(|Reverse((_, arrival, flow))| {
                    Reverse((activity.rank(flow), arrival, flow))
                });
                *flows = ranked.collect::<Vec<_>>().into();
            }
        }
    }

    /// Takes the front ring out of the turns until [`Scheduler::unblock`]; its link is full. With
    /// node scope flows of other links must go on: the caller sets the flow itself aside.
    pub(crate) fn block_front(&mut self) {
        let Some(&index) = self.turns.front() else {
            return;
        };
        self.rings[index].in_turns = false;
        self.rings[index].blocked = true;
        self.end_turn();
    }

    /// Lets the flows of a link take part again.
    pub(crate) fn unblock(&mut self, link: LinkId) {
        let index = self.ring(link);
        let ring = &mut self.rings[index];
        if std::mem::take(&mut ring.blocked) && !ring.flows.is_empty() {
            ring.in_turns = true;
            self.turns.push_back(index);
        }
    }

    /// Forgets what a flow sent of late.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        if let Some(activity) = &mut self.activity {
            activity.forget(flow);
        }
    }

    /// Removes a flow that waits.
    pub(crate) fn remove(&mut self, flow: FlowId, link: LinkId) {
        let index = self.ring(link);
        self.rings[index].flows.retain(&|other| other != flow);
        self.end_turn_if_empty(index);
    }

    /// Removes the flows that shall wait no more.
    pub(crate) fn retain(&mut self, waits: &impl Fn(FlowId) -> bool) {
        for index in 0..self.rings.len() {
            self.rings[index].flows.retain(waits);
            self.end_turn_if_empty(index);
        }
    }

    /// Takes a ring without flows out of the turns.
    fn end_turn_if_empty(&mut self, index: usize) {
        let ring = &mut self.rings[index];
        if ring.flows.is_empty() && std::mem::take(&mut ring.in_turns) {
            if self.turns.front() == Some(&index) {
                self.end_turn();
            } else {
                self.turns.retain(|&other| other != index);
            }
        }
    }

    pub(crate) const fn scope(&self) -> Scope {
        self.scope
    }

    fn end_turn(&mut self) {
        self.turns.pop_front();
        self.left = None;
    }
}

impl Waiting {
    #[inline]
    fn front(&self) -> Option<FlowId> {
        match self {
            Self::InTurn(flows) => flows.front().copied(),
            Self::QuietestFirst(flows) => flows.peek().map(|Reverse((_, _, flow))| *flow),
        }
    }

    #[inline]
    fn pop_front(&mut self) {
        match self {
            Self::InTurn(flows) => drop(flows.pop_front()),
            Self::QuietestFirst(flows) => drop(flows.pop()),
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        match self {
            Self::InTurn(flows) => flows.is_empty(),
            Self::QuietestFirst(flows) => flows.is_empty(),
        }
    }

    fn retain(&mut self, waits: &impl Fn(FlowId) -> bool) {
        match self {
            Self::InTurn(flows) => flows.retain(|&flow| waits(flow)),
            Self::QuietestFirst(flows) => flows.retain(|Reverse((_, _, flow))| waits(*flow)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use hopflow_units::Duration;

    fn flow(n: u32) -> FlowId {
        FlowId::new(n, Direction::Forward)
    }

    fn order(scheduler: &mut Scheduler, turn: u32, cells: usize) -> Vec<usize> {
        (0..cells)
            .map_while(|_| {
                let front = scheduler.front()?;
                scheduler.served(Instant::ZERO, || turn);
                Some(front.index() / 2)
            })
            .collect()
    }

    fn filled(scope: Scope) -> Scheduler {
        filled_in(scope, Order::RoundRobin)
    }

    fn filled_in(scope: Scope, order: Order) -> Scheduler {
        let mut scheduler = Scheduler::new(scope, order);
        (0..2).for_each(|_| scheduler.add_link());
        scheduler.push(flow(0), LinkId::new(0));
        (1..4).for_each(|n| scheduler.push(flow(n), LinkId::new(1)));
        scheduler
    }

    #[test]
    fn node_scope_treats_all_flows_alike() {
        assert_eq!(
            order(&mut filled(Scope::Node), 2, 8),
            [0, 1, 2, 3, 0, 1, 2, 3]
        );
    }

    #[test]
    fn link_scope_treats_all_links_alike() {
        assert_eq!(
            order(&mut filled(Scope::Link), 2, 8),
            [0, 0, 1, 2, 0, 0, 3, 1]
        );
    }

    #[test]
    fn a_blocked_link_loses_its_turn_and_nothing_else() {
        let mut scheduler = filled(Scope::Link);
        scheduler.block_front();
        assert_eq!(order(&mut scheduler, 2, 3), [1, 2, 3]);
        scheduler.unblock(LinkId::new(0));
        assert_eq!(order(&mut scheduler, 2, 4), [1, 0, 0, 2]);
    }

    #[test]
    fn a_links_turn_ends_when_its_last_flow_has_nothing_to_send() {
        let mut scheduler = filled(Scope::Link);
        assert!(scheduler.remove_front(), "the first link has one flow");
        assert!(!scheduler.remove_front(), "the second link has three");
        assert_eq!(order(&mut scheduler, 2, 3), [2, 3, 2]);
        let mut scheduler = filled(Scope::Node);
        assert!((0..4).all(|_| !scheduler.remove_front()));
    }

    const EWMA: Order = Order::Ewma {
        half_life: Duration::from_secs(30),
    };

    #[test]
    fn the_flow_that_sent_least_of_late_goes_first() {
        let mut scheduler = filled_in(Scope::Node, EWMA);
        // Three flows send alone while the fourth has nothing to send.
        scheduler.remove(flow(2), LinkId::new(1));
        assert_eq!(order(&mut scheduler, 1, 6), [0, 1, 3, 0, 1, 3]);
        scheduler.push(flow(2), LinkId::new(1));
        assert_eq!(order(&mut scheduler, 1, 5), [2, 2, 0, 1, 3]);
    }

    #[test]
    fn what_was_sent_long_ago_counts_little() {
        let mut scheduler = filled_in(Scope::Link, EWMA);
        scheduler.block_front();
        let mut serve = |seconds: u64| {
            let front = scheduler.front().unwrap();
            scheduler.served(Instant::ZERO + Duration::from_secs(seconds), || 1);
            front.index() / 2
        };
        assert_eq!([serve(0), serve(0), serve(0)], [1, 2, 3]);
        // A cell now weighs as much as four of a minute ago.
        assert_eq!([serve(60), serve(60), serve(60)], [1, 2, 3]);
        assert_eq!([serve(9000), serve(9001), serve(9002)], [1, 2, 3]);
        assert_eq!([serve(9003), serve(9004)], [1, 2]);
    }

    #[test]
    fn a_flow_that_was_removed_is_never_served() {
        let mut scheduler = filled(Scope::Link);
        scheduler.remove(flow(0), LinkId::new(0));
        scheduler.remove(flow(2), LinkId::new(1));
        assert_eq!(order(&mut scheduler, 1, 4), [1, 3, 1, 3]);
    }

    #[test]
    fn removing_many_at_once_is_as_removing_each() {
        for (scope, by) in [(Scope::Link, EWMA), (Scope::Node, Order::RoundRobin)] {
            let mut scheduler = filled_in(scope, by);
            scheduler.retain(&|other| other != flow(0) && other != flow(2));
            assert_eq!(order(&mut scheduler, 1, 4), [1, 3, 1, 3]);
        }
    }
}
