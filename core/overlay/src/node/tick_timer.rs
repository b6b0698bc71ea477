//! When the layers are called regularly.

use hopflow_units::{Duration, Instant};

use crate::Tick;

/// When the layers are called regularly, if one asks for it.
#[derive(Clone, Debug)]
pub(super) struct TickTimer {
    interval: Option<Duration>,
    next: Instant,
    /// Whether the layer wants no calls until something happens.
    pub(super) resting: bool,
}

impl TickTimer {
    /// Calls as `tick` asks for; `phase` is the node's own, as a share of the interval.
    pub(super) fn new(tick: Option<Tick>, phase: f64) -> Self {
        let next = match tick {
            None => Instant::FAR_FUTURE,
            Some(tick) if tick.in_phase => Instant::ZERO + tick.interval,
            Some(tick) => Instant::from_nanos((tick.interval.as_nanos() as f64 * phase) as u64),
        };
        Self {
            interval: tick.map(|tick| tick.interval),
            next,
            resting: false,
        }
    }

    /// When the next call is due.
    pub(super) const fn next(&self) -> Instant {
        if self.resting {
            Instant::FAR_FUTURE
        } else {
            self.next
        }
    }

    /// Whether a call is due; the next one is then after `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let due = !self.resting && self.next <= now && self.interval.is_some();
        if due {
            self.skip(now);
        }
        due
    }

    /// Makes the next call the first one after `now`.
    fn skip(&mut self, now: Instant) {
        let Some(interval) = self.interval else {
            return;
        };
        let interval = interval.as_nanos().max(1);
        let missed = now.saturating_since(self.next).as_nanos() / interval;
        self.next += Duration::from_nanos(interval).saturating_mul(missed + 1);
    }

    /// Ends the rest because something happens.
    #[inline]
    pub(super) fn end_rest(&mut self, now: Instant) {
        if std::mem::take(&mut self.resting) && self.next <= now {
            self.skip(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn every_ten_millis() -> TickTimer {
        let tick = Tick {
            interval: Duration::from_millis(10),
            in_phase: false,
        };
        TickTimer::new(Some(tick), 0.5)
    }

    #[test]
    fn calls_keep_their_phase_when_some_are_missed() {
        let mut ticks = every_ten_millis();
        assert_eq!((ticks.next(), ticks.take_due(at(4))), (at(5), false));
        assert!(ticks.take_due(at(27)));
        assert_eq!(ticks.next(), at(35));
    }

    #[test]
    fn a_rest_ends_with_the_next_event_and_keeps_the_phase() {
        let mut ticks = every_ten_millis();
        ticks.resting = true;
        assert_eq!(
            (ticks.next(), ticks.take_due(at(50))),
            (Instant::FAR_FUTURE, false)
        );
        ticks.end_rest(at(50));
        assert_eq!(ticks.next(), at(55));
    }

    #[test]
    fn without_a_layer_that_asks_there_are_no_calls() {
        let mut ticks = TickTimer::new(None, 0.5);
        ticks.end_rest(at(1));
        assert!(!ticks.take_due(Instant::FAR_FUTURE));
    }
}
