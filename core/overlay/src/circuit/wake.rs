//! A call that a layer asks for at a time.

use hopflow_units::{Duration, Instant};

/// When a layer wants to be called, and the earliest pending timer that serves it; later ones mean
/// nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wake {
    wanted: Option<Instant>,
    pending: Option<Instant>,
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
        if self.pending.is_some_and(|pending| pending <= at) {
            return None;
        }
        self.pending = Some(at);
        self.pending
    }

    /// The timer for `at` has fired.
    pub(crate) fn fired(&mut self, at: Instant) -> Fired {
        if self.pending.take_if(|pending| *pending == at).is_none() {
            return Fired::Stale;
        }
        match self.wanted {
            Some(wanted) if wanted > at => {
                self.pending = self.wanted;
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
