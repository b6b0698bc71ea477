//! The congestion window: one machine, with an algorithm for its growth plugged in.

mod ack;
mod cubic;
mod hystart;
mod reno;

use hopflow_units::{Bytes, Duration};

use crate::{Algorithm, Config};
pub(crate) use ack::AckSample;
use cubic::{Cubic, Growth};
use hystart::HyStart;
use reno::Reno;

/// The growth of the window in congestion avoidance and its reduction on congestion.
#[derive(Clone, Debug)]
enum Law {
    Reno(Reno),
    Cubic(Cubic),
    /// The window is set from outside.
    Given,
}

/// The congestion window and the slow start threshold, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    initial: u64,
    law: Law,
    hystart: Option<HyStart>,
}

impl Window {
    pub(crate) fn new(config: &Config) -> Self {
        let mss = config.mss.get();
        let initial = mss * u64::from(config.initial_window_segments);
        Self {
            cwnd: initial,
            ssthresh: config.initial_ssthresh.map_or(u64::MAX, Bytes::get),
            mss,
            initial,
            law: match config.algorithm {
                Algorithm::NewReno => Law::Reno(Reno::default()),
                Algorithm::Cubic => Law::Cubic(Cubic::default()),
                Algorithm::Bbr => Law::Given,
            },
            hystart: (config.hystart && config.algorithm == Algorithm::Cubic)
                .then(HyStart::default),
        }
    }

    pub(crate) const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(crate) const fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(crate) const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Ends slow start early if acknowledgements tell of a queue that builds up.
    pub(crate) fn watch(&mut self, sample: &AckSample) {
        if !self.in_slow_start() {
            return;
        }
        if let Some(hystart) = &mut self.hystart {
            let ends = hystart.should_end(sample);
            if ends && self.cwnd >= hystart::LOW_WINDOW * self.mss {
                self.ssthresh = self.cwnd;
            }
        }
    }

    /// Grows the window for acknowledged data (RFC 5681, section 3.1).
    pub(crate) fn grow(&mut self, sample: &AckSample) {
        let mut acked = sample.acked;
        if self.in_slow_start() {
            let grown = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += grown;
            acked -= grown;
        }
        if acked == 0 {
            return;
        }
        let mss = self.mss as f64;
        let segments = match &mut self.law {
            Law::Reno(reno) => reno.growth(self.cwnd, acked),
            Law::Cubic(cubic) => cubic.growth(Growth {
                now: sample.now,
                cwnd: self.cwnd as f64 / mss,
                acked: acked as f64 / mss,
                min_rtt: sample.min_rtt,
            }),
            Law::Given => 0,
        };
        self.cwnd += segments * self.mss;
    }

    /// Sets the slow start threshold after a loss; the window follows as the recovery has it.
    pub(crate) fn on_congestion(&mut self) {
        // Whole segments, rounded down, as in Linux: a part of one could not be sent anyway.
        let segments = match &mut self.law {
            Law::Reno(reno) => reno.reduced(self.cwnd) / self.mss,
            Law::Cubic(cubic) => cubic.reduced(self.cwnd as f64 / self.mss as f64) as u64,
            Law::Given => self.cwnd / self.mss,
        };
        self.ssthresh = segments.max(2) * self.mss;
    }

    /// Starts over with one segment (RFC 5681, section 3.1, `LW`).
    pub(crate) fn collapse(&mut self) {
        self.cwnd = self.mss;
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.reset();
        }
        self.hystart = self.hystart.map(|_| HyStart::default());
    }

    /// Sets the window, to no less than a segment.
    pub(crate) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }

    /// Leaves out time in which nothing was sent.
    pub(crate) fn skip(&mut self, idle: Duration) {
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.skip(idle);
        }
    }

    /// Shrinks a window that was not used for `timeouts` retransmission timeouts, down to the
    /// initial one, as Linux does; RFC 5681, section 4.1, goes there at once.
    pub(crate) fn on_idle(&mut self, timeouts: u32) {
        let floor = self.initial.min(self.cwnd);
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        self.cwnd = (self.cwnd >> timeouts.min(63)).max(floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::Instant;

    fn reno() -> Window {
        Window::new(&Config {
            algorithm: Algorithm::NewReno,
            ..Config::default()
        })
    }

    fn ack(acked: u64) -> AckSample {
        AckSample {
            now: Instant::ZERO,
            acked,
            una: 0,
            nxt: 0,
            rtt: Duration::from_millis(50),
            min_rtt: Duration::from_millis(50),
        }
    }

    #[test]
    fn slow_start_doubles_per_round_trip() {
        let mut window = reno();
        let before = window.cwnd();
        window.grow(&ack(before));
        assert_eq!(window.cwnd(), 2 * before);
    }

    #[test]
    fn avoidance_adds_a_segment_per_round_trip() {
        let mut window = reno();
        window.on_congestion();
        window.set(window.ssthresh());
        let before = window.cwnd();
        for _ in 0..5 {
            window.grow(&ack(1448));
        }
        assert_eq!(window.cwnd(), before + 1448);
    }

    #[test]
    fn congestion_halves() {
        let mut window = reno();
        window.on_congestion();
        assert_eq!(window.ssthresh(), 5 * 1448);
    }

    #[test]
    fn idle_time_shrinks_to_the_initial_window() {
        let mut window = reno();
        window.set(80 * 1448);
        window.on_idle(2);
        assert_eq!(window.cwnd(), 20 * 1448);
        window.on_idle(9);
        assert_eq!(window.cwnd(), 10 * 1448);
    }
}
