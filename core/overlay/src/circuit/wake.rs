//! What is due at a time, and the timer that serves it.

use hopflow_units::{Duration, Instant};

/// The earliest pending timer that serves a deadline; later ones mean nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alarm(Option<Instant>);

impl Alarm {
    /// Makes sure that a timer serves `deadline`: whether one is to be set for it.
    #[inline]
    pub(crate) fn set(&mut self, deadline: Instant) -> bool {
        let first = self.0.is_none_or(|pending| pending > deadline);
        if first {
            self.0 = Some(deadline);
        }
        first
    }

    /// The timer for `at` has fired: whether it served. No other one does then.
    #[inline]
    pub(crate) fn fired(&mut self, at: Instant) -> bool {
        self.0.take_if(|pending| *pending == at).is_some()
    }

    /// When the timer is due.
    #[inline]
    pub(crate) const fn pending(self) -> Option<Instant> {
        self.0
    }
}

/// When a layer wants to be called, and the timer that serves it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wake {
    wanted: Option<Instant>,
    alarm: Alarm,
}

/// What a timer that fired means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fired {
    /// Nothing: another one serves the layer.
    Stale,
    /// The layer is to be called.
    Due,
    /// The layer asked for a later call: a timer is to be set then.
    Later(Instant),
}

impl Wake {
    /// Wants a call at `at`, in place of one wanted before, but after `now`: who asks at each call
    /// for one at once does not stop time. Returns when a timer is to be set, unless one is pending
    /// that serves.
    pub(crate) fn want(&mut self, now: Instant, at: Instant) -> Option<Instant> {
        let at = at.max(now + Duration::from_nanos(1));
        self.wanted = Some(at);
        self.alarm.set(at).then_some(at)
    }

    /// The timer for `at` has fired.
    pub(crate) fn fired(&mut self, at: Instant) -> Fired {
        if !self.alarm.fired(at) {
            return Fired::Stale;
        }
        match self.wanted {
            Some(wanted) if wanted > at => {
                self.alarm.set(wanted);
                Fired::Later(wanted)
            }
            Some(_) => {
                self.wanted = None;
                Fired::Due
            }
            None => Fired::Stale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_call_that_is_put_off_again_and_again_needs_one_timer() {
        let mut wake = Wake::default();
        assert_eq!(wake.want(at(0), at(10)), Some(at(10)));
        for now in 1..9 {
            assert_eq!(wake.want(at(now), at(now + 10)), None);
        }
        assert_eq!(wake.fired(at(10)), Fired::Later(at(18)));
        assert_eq!(wake.fired(at(18)), Fired::Due);
        assert_eq!(wake.fired(at(18)), Fired::Stale);
    }

    #[test]
    fn an_earlier_call_makes_the_later_timer_stale() {
        let mut wake = Wake::default();
        wake.want(at(0), at(10));
        assert_eq!(wake.want(at(0), at(5)), Some(at(5)));
        assert_eq!(
            (wake.fired(at(5)), wake.fired(at(10))),
            (Fired::Due, Fired::Stale)
        );
    }

    #[test]
    fn a_call_at_once_comes_after_now() {
        let mut wake = Wake::default();
        let next = wake.want(at(3), at(2)).expect("none is pending");
        assert!(next > at(3));
        assert_eq!(wake.fired(next), Fired::Due);
    }
}
