//! The congestion window: one machine, with an algorithm for its growth plugged in.

mod reno;

use hopflow_units::{Bytes, Duration, Instant};

use crate::{Algorithm, Config};
use reno::Reno;

/// What an acknowledgement tells the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSample {
    pub(crate) now: Instant,
    /// Bytes newly acknowledged.
    pub(crate) acked: u64,
    pub(crate) srtt: Duration,
}

/// The growth of the window in congestion avoidance and its reduction on congestion.
#[derive(Clone, Debug)]
enum Law {
    Reno(Reno),
}

/// The congestion window and the slow start threshold, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    initial: u64,
    law: Law,
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
                Algorithm::NewReno | Algorithm::Cubic => Law::Reno(Reno::default()),
            },
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

    /// Grows the window for acknowledged data (RFC 5681, section 3.1).
    pub(crate) fn on_ack(&mut self, sample: AckSample) {
        let mut sample = sample;
        if self.in_slow_start() {
            let grown = sample.acked.min(self.ssthresh - self.cwnd);
            self.cwnd += grown;
            sample.acked -= grown;
        }
        if sample.acked > 0 {
            self.cwnd += match &mut self.law {
                Law::Reno(reno) => reno.growth(self.cwnd, self.mss, sample.acked),
            };
        }
    }

    /// Sets the slow start threshold after a loss; the window follows as the recovery has it.
    pub(crate) fn on_congestion(&mut self) {
        let target = match &mut self.law {
            Law::Reno(reno) => reno.reduced(self.cwnd),
        };
        self.ssthresh = target.max(2 * self.mss);
    }

    /// Starts over with one segment (RFC 5681, section 3.1, `LW`).
    pub(crate) const fn collapse(&mut self) {
        self.cwnd = self.mss;
    }

    /// Sets the window, to no less than a segment.
    pub(crate) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
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
            srtt: Duration::from_millis(50),
        }
    }

    #[test]
    fn slow_start_doubles_per_round_trip() {
        let mut window = reno();
        let before = window.cwnd();
        window.on_ack(ack(before));
        assert_eq!(window.cwnd(), 2 * before);
    }

    #[test]
    fn avoidance_adds_a_segment_per_round_trip() {
        let mut window = reno();
        window.on_congestion();
        window.set(window.ssthresh());
        let before = window.cwnd();
        for _ in 0..5 {
            window.on_ack(ack(1448));
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
