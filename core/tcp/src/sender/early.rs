//! Finding losses by time, before the retransmission timer does (RFC 8985).
//!
//! Two parts of it: the reordering timer, for when too few segments arrive above a hole to tell
//! its loss; and the tail loss probe, for when none do. Both end in the recovery that duplicates
//! would have started.

use hopflow_units::{Duration, Instant};

use super::{Due, Sender};
use crate::ranges::Range;
use crate::recovery::Recovery;
use crate::scoreboard::Delivery;
use crate::segment::Segment;

/// Longest that the peer may hold an acknowledgement back (RFC 8985, `WCDelAckT`).
const ACK_DELAY: Duration = Duration::from_millis(200);
/// What Linux adds to timeouts that would otherwise be a matter of microseconds.
const SLACK: Duration = Duration::from_millis(2);

/// What happens when an alarm goes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Holes below what has arrived are losses.
    Reordering,
    /// A probe makes the peer tell what it has.
    Tail,
}

/// The alarm that is set, if any.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlyAlarm {
    at: Instant,
    kind: Kind,
}

impl EarlyAlarm {
    pub(super) const OFF: Self = Self {
        at: Instant::FAR_FUTURE,
        kind: Kind::Tail,
    };

    pub(super) const fn at(&self) -> Instant {
        self.at
    }
}

/// A tail loss probe that was not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    range: Range,
    sent: Instant,
    /// Whether it was a retransmission.
    again: bool,
}

impl Sender {
    /// Sets the alarm anew after new data was sent or acknowledged.
    pub(super) fn set_early_alarm(&mut self, now: Instant) {
        let open = self.recovery == Recovery::Open && self.board.outstanding() > 0;
        let Some(srtt) = self.rtt.srtt().filter(|_| open && self.finds_early()) else {
            self.early = EarlyAlarm::OFF;
            return;
        };
        let (kind, wait) = if self.board.has_sacked() {
            if self.early.kind == Kind::Reordering && self.early.at != Instant::FAR_FUTURE {
                return;
            }
            (Kind::Reordering, self.rtt.min_rtt() / 4 + SLACK)
        } else if self.board.outstanding() <= self.mss {
            (Kind::Tail, srtt * 2 + ACK_DELAY)
        } else {
            (Kind::Tail, srtt * 2 + SLACK)
        };
        let at = now + wait;
        self.early = if at < self.timer && !(kind == Kind::Tail && self.tail_probe.is_some()) {
            EarlyAlarm { at, kind }
        } else {
            EarlyAlarm::OFF
        };
    }

    const fn finds_early(&self) -> bool {
        self.config.rack && self.config.sack
    }

    /// Does what the alarm was set for.
    pub(super) fn on_early_alarm(&mut self) {
        let alarm = std::mem::replace(&mut self.early, EarlyAlarm::OFF);
        match alarm.kind {
            Kind::Reordering => {
                self.board.lose_below_top();
                self.recover(&Delivery::default(), true);
            }
            Kind::Tail => self.due = Due::Tail,
        }
    }

    /// Sends a probe: new data if the peer has room, else the last segment again (RFC 8985,
    /// section 7.3).
    pub(super) fn next_tail_probe(&mut self, now: Instant) -> Option<Range> {
        self.due = Due::Nothing;
        let new = self.next_new(now, true);
        let range = new.or_else(|| self.board.tail().inspect(|tail| self.resend(*tail, now)))?;
        self.stats.tail_probes += 1;
        self.tail_probe = Some(TailProbe {
            range,
            sent: now,
            again: new.is_none(),
        });
        self.timer = now + self.rtt.rto();
        Some(range)
    }

    /// Looks whether an acknowledgement answers the probe.
    pub(super) fn settle_tail_probe(&mut self, segment: &Segment) {
        let Some(probe) = self.tail_probe else {
            return;
        };
        if self.board.una() >= probe.range.end {
            self.tail_probe = None;
            // By the echoed timestamp the probe itself filled the hole, so there was a loss
            // (RFC 8985, section 7.4).
            if probe.again && segment.echo >= probe.sent && self.recovery == Recovery::Open {
                self.window.on_congestion();
                self.window.set(self.window.ssthresh());
            }
        } else if self.board.top() >= probe.range.end {
            self.tail_probe = None;
            self.board.lose_below_top();
        }
    }
}
