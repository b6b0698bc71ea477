//! The scheduler: whose cell goes next.

use std::collections::VecDeque;

use hopflow_units::LinkId;

use crate::{FlowId, Scope};

/// Round robin over flows that may have something to send.
///
/// Flows stand in rings: one ring for the node, or one per link, and then the links take turns.
/// A flow may have become unable to send while it waits; whoever takes it looks again.
#[derive(Debug)]
pub(crate) struct Scheduler {
    scope: Scope,
    rings: Vec<Ring>,
    /// Rings with flows whose link takes frames, in the order of their turns.
    turns: VecDeque<usize>,
    /// Cells that the front ring may still send in this turn; `None`: its turn has not begun.
    left: Option<u32>,
}

#[derive(Debug, Default)]
struct Ring {
    flows: VecDeque<FlowId>,
    /// Whether the ring stands among the turns.
    in_turns: bool,
    /// Whether its link is full, so that it must not.
    blocked: bool,
}

impl Scheduler {
    pub(crate) fn new(scope: Scope) -> Self {
        let rings = match scope {
            Scope::Node => vec![Ring::default()],
            Scope::Link => Vec::new(),
        };
        Self {
            scope,
            rings,
            turns: VecDeque::new(),
            left: None,
        }
    }

    pub(crate) fn add_link(&mut self) {
        if self.scope == Scope::Link {
            self.rings.push(Ring::default());
        }
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
        ring.flows.push_back(flow);
        if !ring.in_turns && !ring.blocked {
            ring.in_turns = true;
            self.turns.push_back(index);
        }
    }

    /// The flow whose turn it is.
    #[inline]
    pub(crate) fn front(&self) -> Option<FlowId> {
        let ring = *self.turns.front()?;
        self.rings[ring].flows.front().copied()
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

    /// Counts a cell of the front flow and sends it to the end of its ring; `turn` tells how many
    /// cells a link's turn has. Returns whether the link's turn goes on.
    #[inline]
    pub(crate) fn served(&mut self, turn: impl FnOnce() -> u32) -> bool {
        let Some(&index) = self.turns.front() else {
            return false;
        };
        let ring = &mut self.rings[index];
        if ring.flows.len() > 1 {
            ring.flows.rotate_left(1);
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

    /// Removes a flow for good.
    pub(crate) fn forget(&mut self, flow: FlowId, link: LinkId) {
        let index = self.ring(link);
        let ring = &mut self.rings[index];
        ring.flows.retain(|&other| other != flow);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn flow(n: u32) -> FlowId {
        FlowId::new(n, Direction::Forward)
    }

    fn order(scheduler: &mut Scheduler, turn: u32, cells: usize) -> Vec<usize> {
        (0..cells)
            .map_while(|_| {
                let front = scheduler.front()?;
                scheduler.served(|| turn);
                Some(front.index() / 2)
            })
            .collect()
    }

    fn filled(scope: Scope) -> Scheduler {
        let mut scheduler = Scheduler::new(scope);
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

    #[test]
    fn a_forgotten_flow_is_never_served() {
        let mut scheduler = filled(Scope::Link);
        scheduler.forget(flow(0), LinkId::new(0));
        scheduler.forget(flow(2), LinkId::new(1));
        assert_eq!(order(&mut scheduler, 1, 4), [1, 3, 1, 3]);
    }
}
