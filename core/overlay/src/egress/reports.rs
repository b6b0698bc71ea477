//! Feedback that a link's flows owe to the neighbour.

use hopflow_units::{Bytes, Instant};
use hopflow_wire::{Carrier, Frame, Payload};

use crate::{FlowId, MAX_DATAGRAM};

/// Flows that owe the neighbour feedback, and when it leaves.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    /// Encoded bytes of one report, at most.
    len: Bytes,
    owing: Vec<FlowId>,
    /// When the feedback leaves at the latest.
    at: Option<Instant>,
    /// Whether none of it leaves before.
    holding: bool,
}

impl Reports {
    pub(crate) const fn new(len: Bytes) -> Self {
        Self {
            len,
            owing: Vec::new(),
            at: None,
            holding: false,
        }
    }

    #[inline]
    pub(crate) fn owe(&mut self, flow: FlowId) {
        self.owing.push(flow);
    }

    /// A flow is gone.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        self.owing.retain(|&other| other != flow);
    }

    /// Whether feedback may leave.
    #[inline]
    pub(crate) fn may_leave(&self) -> bool {
        !self.owing.is_empty() && !self.holding
    }

    /// Encoded bytes of all that is owed, at most.
    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        self.len * self.owing.len() as u64
    }

    /// Whether there is enough to fill a datagram.
    #[inline]
    pub(crate) fn fill_a_datagram(&self) -> bool {
        self.owing.len() as u64 >= MAX_DATAGRAM.get() / self.len.get()
    }

    /// When the feedback leaves at the latest.
    #[inline]
    pub(crate) const fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Lets feedback leave at `at`, unless it does so earlier already, or is held until a later time; with `hold`,
    /// not before. Whether this is news.
    #[inline]
    pub(crate) fn leave_at(&mut self, at: Instant, hold: bool) -> bool {
        if self.at.is_some_and(|set| self.holding || set <= at) {
            return false;
        }
        self.at = Some(at);
        self.holding = hold;
        true
    }

    /// Whether feedback is due that was to leave at `at`; it may leave then.
    pub(crate) fn are_due(&mut self, at: Instant) -> bool {
        let due = self.at == Some(at);
        if due {
            self.at = None;
            self.holding = false;
        }
        due
    }

    /// Moves feedback to `out` while `used` bytes stay within `most`; returns the bytes used.
    /// `report` makes it; flows that are gone have none.
    #[inline]
    pub(crate) fn take<P: Payload>(
        &mut self,
        carrier: Carrier,
        out: &mut Vec<Frame<P>>,
        (mut used, most): (Bytes, Bytes),
        mut report: impl FnMut(FlowId) -> Option<Frame<P>>,
    ) -> Bytes {
        if !self.may_leave() {
            return used;
        }
        let mut reported = 0;
        for &id in &self.owing {
            if used + self.len > most {
                break;
            }
            reported += 1;
            if let Some(frame) = report(id) {
                used += frame.wire_len(carrier);
                out.push(frame);
            }
        }
        if reported == self.owing.len() {
            self.owing.clear();
            self.at = None;
        } else {
            self.owing.drain(..reported);
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use hopflow_wire::{Feedback, RawPayload};

    fn flow(n: u32) -> FlowId {
        FlowId::new(n, Direction::Forward)
    }

    fn taken(reports: &mut Reports, most: u64) -> usize {
        let mut out: Vec<Frame<RawPayload>> = Vec::new();
        let room = (Bytes::ZERO, Bytes::new(most));
        reports.take(Carrier::Datagram, &mut out, room, |_| {
            Some(Frame::Feedback(Feedback::default()))
        });
        out.len()
    }

    #[test]
    fn what_finds_no_room_is_owed_on() {
        let mut reports = Reports::new(Bytes::new(20));
        (0..3).for_each(|n| reports.owe(flow(n)));
        assert!(taken(&mut reports, 30) >= 1);
        assert!(reports.may_leave());
        taken(&mut reports, 1000);
        assert!(!reports.may_leave());
    }

    #[test]
    fn feedback_that_is_due_earlier_takes_all_of_the_link_along() {
        let at = Instant::from_nanos;
        let mut reports = Reports::new(Bytes::new(20));
        reports.owe(flow(0));
        assert!(reports.leave_at(at(7), false));
        reports.owe(flow(1));
        assert!(!reports.leave_at(at(9), false));
        assert!(reports.leave_at(at(3), false), "the delay became shorter");
        assert!(!reports.are_due(at(7)) && reports.are_due(at(3)));
        assert_eq!(taken(&mut reports, 100), 2);
    }

    #[test]
    fn held_feedback_leaves_when_it_is_due_and_not_before() {
        let at = Instant::from_nanos(7);
        let mut reports = Reports::new(Bytes::new(20));
        reports.owe(flow(1));
        assert!(reports.leave_at(at, true));
        assert!(
            !reports.leave_at(Instant::from_nanos(3), true),
            "once is enough"
        );
        assert!(!reports.may_leave());
        assert!(!reports.are_due(Instant::from_nanos(3)));
        assert!(reports.are_due(at));
        assert!(reports.may_leave());
    }
}
