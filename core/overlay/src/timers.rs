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
/// Feedback timers have the same delay, unless options have just changed, so that a queue holds them.
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

    /// Notes that a link's feedback is to be sent at `at`.
    #[inline]
    pub(crate) fn set_feedback(&mut self, at: Instant, link: LinkId) {
        let later = self
            .feedback
            .iter()
            .rev()
            .take_while(|(other, _)| *other > at);
        let place = self.feedback.len() - later.count();
        self.feedback.insert(place, (at, link));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_with_a_delay_that_became_shorter_does_not_wait_for_what_was_noted_before() {
        let mut timers = Timers::default();
        let at = Instant::from_nanos;
        for (time, link) in [(7, 0), (9, 1), (3, 2), (9, 3)] {
            timers.set_feedback(at(time), LinkId::new(link));
        }
        let due = std::iter::from_fn(|| timers.take_due_feedback(at(9)));
        let links: Vec<_> = due.map(|(_, link)| link.index()).collect();
        assert_eq!(links, [2, 0, 1, 3]);
    }
}
