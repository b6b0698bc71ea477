//! How much may be in flight: the congestion window, and whether it is in use.

use hopflow_units::{Duration, Instant};

use super::usage::WindowUsage;
use crate::bbr::{AckState, Bbr};
use crate::window::{AckSample, Window};
use crate::{Algorithm, Config};

/// The congestion window together with its validation.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    window: Window,
    /// What sets the window, where that does not do so by itself.
    bbr: Option<Box<Bbr>>,
    usage: WindowUsage,
    mss: u64,
    slow_start_after_idle: bool,
    last_sent: Option<Instant>,
}

impl Congestion {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            bbr: (config.algorithm == Algorithm::Bbr).then(|| Box::new(Bbr::new(config))),
            usage: WindowUsage::default(),
            mss: config.mss.get(),
            slow_start_after_idle: config.slow_start_after_idle,
            last_sent: None,
        }
    }

    pub(super) const fn window(&self) -> &Window {
        &self.window
    }

    pub(super) const fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Whether there is room for `len` more than what is in flight.
    pub(super) const fn fits(&self, pipe: u64, len: u64) -> bool {
        pipe + len <= self.window.cwnd()
    }

    /// Notes a transmission, after which the offsets from `una` to `nxt` are outstanding.
    pub(super) const fn on_sent(&mut self, now: Instant, una: u64, nxt: u64, pipe: u64) {
        let filled = !self.fits(pipe, self.mss);
        self.usage.on_sent(una, nxt, filled);
        self.last_sent = Some(now);
    }

    /// Whether pacing lets nothing leave yet.
    #[inline]
    pub(super) fn is_early(&self, now: Instant) -> bool {
        self.bbr.as_ref().is_some_and(|bbr| bbr.is_early(now))
    }

    /// When pacing lets leave what it kept back.
    #[inline]
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.bbr.as_ref().and_then(|bbr| bbr.held_until())
    }

    /// Lets BBR take something in, and the window follow it.
    #[inline]
    pub(super) fn tell(&mut self, what: impl FnOnce(&mut Bbr)) {
        if self.is_modelled() {
            self.tell_bbr(what);
        }
    }

    #[cold]
    fn tell_bbr(&mut self, what: impl FnOnce(&mut Bbr)) {
        if let Some(bbr) = &mut self.bbr {
            what(bbr);
            self.window.set(bbr.cwnd());
        }
    }

    /// Whether BBR sets the window.
    pub(super) const fn is_modelled(&self) -> bool {
        self.bbr.is_some()
    }

    /// What BBR is to know of the sender when an acknowledgement came that says of `newly` bytes that they
    /// have arrived.
    pub(super) const fn ack_state(
        &self,
        now: Instant,
        (una, newly): (u64, u64),
        (in_flight, recovering): (u64, bool),
    ) -> AckState {
        AckState {
            now,
            una,
            newly,
            in_flight,
            window_limited: self.usage.is_limited(),
            recovering,
        }
    }

    /// Grows the window for acknowledged data, if it was in use.
    pub(super) fn grow(&mut self, sample: &AckSample) {
        self.window.watch(sample);
        let (cwnd, slow_start) = (self.window.cwnd(), self.window.in_slow_start());
        if self.usage.may_grow(cwnd, slow_start) {
            self.window.grow(sample);
        }
    }

    /// Shrinks the window after the time in which nothing was outstanding.
    pub(super) fn after_idle(&mut self, now: Instant, rto: Duration) {
        if self.is_modelled() {
            return;
        }
        let idle = now.saturating_since(self.last_sent.unwrap_or(Instant::ZERO));
        self.window.skip(idle);
        if self.slow_start_after_idle && idle > rto && self.last_sent.is_some() {
            let timeouts = idle.as_nanos() / rto.as_nanos();
            self.window.on_idle(timeouts.min(64) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_window_that_was_used_shrinks_when_idle() {
        let mut congestion = Congestion::new(&Config::default());
        congestion.window.set(80 * 1448);
        let second = Duration::from_secs(1);
        let later = Instant::ZERO + second * 2;
        congestion.after_idle(later, second);
        assert_eq!(congestion.window().cwnd(), 80 * 1448, "nothing was sent");
        congestion.on_sent(Instant::ZERO, 0, 1448, 1448);
        congestion.after_idle(later, second);
        assert_eq!(congestion.window().cwnd(), 20 * 1448);
    }

    #[test]
    fn the_window_bounds_what_is_in_flight() {
        let congestion = Congestion::new(&Config::default());
        assert!(congestion.fits(9 * 1448, 1448));
        assert!(!congestion.fits(9 * 1448 + 1, 1448));
    }
}
