//! Finding losses by time, before the retransmission timer does (RFC 8985).
//!
//! Two parts of it: the reordering timer, for when too few segments arrive above a hole to tell
//! its loss; and the tail loss probe, for when none do. Both end in the recovery that duplicates
//! would have started.

use hopflow_units::{Duration, Instant};

use super::timer::RetransmissionTimer;
use crate::Config;
use crate::ranges::Range;
use crate::scoreboard::Scoreboard;

/// Longest that the peer may hold an acknowledgement back (RFC 8985, `WCDelAckT`).
const ACK_DELAY: Duration = Duration::from_millis(200);
/// What Linux adds to timeouts that would otherwise be a matter of microseconds.
const SLACK: Duration = Duration::from_millis(2);

/// What happens when an alarm goes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// Holes below what has arrived are losses.
    Reordering,
    /// A probe makes the peer report what it has.
    Tail,
}

/// A tail loss probe that was not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    pub(super) range: Range,
    pub(super) sent: Instant,
    /// Whether it was a retransmission.
    pub(super) again: bool,
}

/// What an acknowledgement says about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing, or that it was not needed.
    Nothing,
    /// The probe itself filled the hole, so there was a loss (RFC 8985, section 7.4).
    Repaired,
    /// The probe has arrived, but not all before it.
    Overtook,
}

/// The alarm and the probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlyDetection {
    enabled: bool,
    mss: u64,
    alarm: Option<(Instant, Alarm)>,
    probe: Option<TailProbe>,
}

impl EarlyDetection {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            enabled: config.rack && config.sack,
            mss: config.mss.get(),
            alarm: None,
            probe: None,
        }
    }

    /// When the alarm goes off; [`Instant::FAR_FUTURE`] if none is set.
    pub(super) fn at(&self) -> Instant {
        self.alarm.map_or(Instant::FAR_FUTURE, |(at, _)| at)
    }

    /// Sets the alarm anew after new data was sent or acknowledged; `open`: there is no recovery.
    pub(super) fn set(
        &mut self,
        now: Instant,
        open: bool,
        board: &Scoreboard,
        timer: &RetransmissionTimer,
    ) {
        let useful = self.enabled && open && board.outstanding() > 0;
        let Some(srtt) = timer.rtt().srtt().filter(|_| useful) else {
            self.alarm = None;
            return;
        };
        let (alarm, wait) = if board.has_sacked() {
            if matches!(self.alarm, Some((_, Alarm::Reordering))) {
                return;
            }
            (Alarm::Reordering, timer.rtt().min_rtt() / 4 + SLACK)
        } else if board.outstanding() <= self.mss {
            (Alarm::Tail, srtt * 2 + ACK_DELAY)
        } else {
            (Alarm::Tail, srtt * 2 + SLACK)
        };
        let at = now + wait;
        let wanted = at < timer.at() && !(alarm == Alarm::Tail && self.probe.is_some());
        self.alarm = wanted.then_some((at, alarm));
    }

    /// The alarm that goes off by `now`, if any; it is no more set then.
    pub(super) fn take_alarm(&mut self, now: Instant) -> Option<Alarm> {
        self.alarm
            .take_if(|(at, _)| *at <= now)
            .map(|(_, alarm)| alarm)
    }

    /// Notes that a probe was sent.
    pub(super) const fn on_probe(&mut self, probe: TailProbe) {
        self.probe = Some(probe);
    }

    /// Looks whether an acknowledgement that echoes the timestamp `echo` answers the probe.
    pub(super) fn settle(&mut self, echo: Instant, board: &Scoreboard) -> Answer {
        let Some(probe) = self.probe else {
            return Answer::Nothing;
        };
        if board.una() >= probe.range.end {
            self.probe = None;
            if probe.again && echo >= probe.sent {
                return Answer::Repaired;
            }
        } else if board.top() >= probe.range.end {
            self.probe = None;
            return Answer::Overtook;
        }
        Answer::Nothing
    }

    /// Forgets the alarm and the probe: the retransmission timer has expired.
    pub(super) const fn clear(&mut self) {
        self.alarm = None;
        self.probe = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const SENT: Instant = Instant::from_nanos(50_000_000);

    /// Two segments outstanding on a path of 50 ms.
    fn parts() -> (EarlyDetection, Scoreboard, RetransmissionTimer) {
        let config = Config::default();
        let mut board = Scoreboard::new(MSS, true);
        board.sent_new(2 * MSS);
        let mut timer = RetransmissionTimer::new(&config);
        timer.rtt_mut().sample(SENT, Instant::ZERO, 0, 0);
        timer.start(SENT);
        (EarlyDetection::new(&config), board, timer)
    }

    #[test]
    fn a_probe_is_due_after_two_round_trips() {
        let (mut early, board, timer) = parts();
        early.set(SENT, true, &board, &timer);
        let at = SENT + Duration::from_millis(100) + SLACK;
        assert_eq!(early.at(), at);
        assert_eq!(early.take_alarm(SENT), None);
        assert_eq!(early.take_alarm(at), Some(Alarm::Tail));
        assert_eq!(early.at(), Instant::FAR_FUTURE);
    }

    #[test]
    fn during_a_recovery_there_is_no_alarm() {
        let (mut early, board, timer) = parts();
        early.set(SENT, true, &board, &timer);
        early.set(SENT, false, &board, &timer);
        assert_eq!(early.at(), Instant::FAR_FUTURE);
    }

    #[test]
    fn a_hole_waits_for_a_quarter_of_a_round_trip() {
        let (mut early, mut board, timer) = parts();
        board.acknowledge(0, std::iter::once(Range::new(MSS, 2 * MSS)), SENT);
        early.set(SENT, true, &board, &timer);
        let at = SENT + Duration::from_millis(50) / 4 + SLACK;
        assert_eq!(early.take_alarm(at), Some(Alarm::Reordering));
    }

    #[test]
    fn the_echo_tells_whether_the_probe_filled_the_hole() {
        for (echo, answer) in [(SENT, Answer::Repaired), (Instant::ZERO, Answer::Nothing)] {
            let (mut early, mut board, _) = parts();
            early.on_probe(TailProbe {
                range: Range::new(MSS, 2 * MSS),
                sent: SENT,
                again: true,
            });
            board.acknowledge(2 * MSS, std::iter::empty(), SENT);
            assert_eq!(early.settle(echo, &board), answer);
        }
    }
}
