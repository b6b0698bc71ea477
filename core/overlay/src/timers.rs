//! The node's timers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hopflow_units::{Instant, LinkId};

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

/// All pending timers, earliest first; simultaneous ones in the order of their kind and flow.
///
/// Timers are never removed early: the node that takes one checks whether it is still wanted.
/// Feedback timers all have the same delay, so a queue holds them in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Timer)>>,
    feedback: VecDeque<(Instant, LinkId)>,
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

    /// Notes that a link's feedback is to be sent at `at`, no earlier than any noted before.
    #[inline]
    pub(crate) fn set_feedback(&mut self, at: Instant, link: LinkId) {
        debug_assert!(self.feedback.back().is_none_or(|(last, _)| *last <= at));
        self.feedback.push_back((at, link));
    }

    /// Takes a link whose feedback is due, with the time it was noted for.
    #[inline]
    pub(crate) fn take_due_feedback(&mut self, now: Instant) -> Option<(Instant, LinkId)> {
        match self.feedback.front() {
            Some((at, _)) if *at <= now => self.feedback.pop_front(),
            _ => None,
        }
    }

    /// Drops leading feedback timers that `is_stale`.
    #[inline]
    pub(crate) fn skip_feedback(&mut self, is_stale: impl Fn(Instant, LinkId) -> bool) {
        while let Some((at, link)) = self.feedback.front() {
            if !is_stale(*at, *link) {
                break;
            }
            self.feedback.pop_front();
        }
    }

    /// When the next timer is due.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let heap = self
            .heap
            .peek()
            .map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at);
        let feedback = self
            .feedback
            .front()
            .map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        heap.min(feedback)
    }
}
