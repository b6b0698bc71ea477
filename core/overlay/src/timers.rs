//! The timers of a node's flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopflow_units::Instant;

use crate::FlowId;

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// A flow's repair has a deadline.
    Deadline(FlowId),
    /// A flow's pace allows the next cell.
    Pace(FlowId),
    /// The hop control asked to be called.
    Hop(FlowId),
    /// The choice among circuits asked to be called.
    Path(FlowId),
    /// The connection of a circuit's ends has a deadline.
    Connection(FlowId),
}

/// All pending timers of flows, earliest first; simultaneous ones in the order of their kind and flow.
///
/// Timers are never removed early: the node that takes one checks whether it is still wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Timer)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Instant, timer: Timer) {
        self.heap.push(Reverse((at, timer)));
    }

    /// Takes a timer that is due, with the time it was set for.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(Instant, Timer)> {
        let Reverse((at, timer)) = *self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        Some((at, timer))
    }

    /// When the next timer is due.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let first = self.heap.peek();
        first.map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at)
    }
}
