//! CUBIC (RFC 9438), in segments as real numbers.
//!
//! Where the RFC leaves room or Linux departs from it, this follows Linux: the look-ahead is the
//! smallest round-trip time, the window grows by at most half per round trip, and a flow that has
//! not lost anything yet grows by at least a twentieth of its window per round trip.

use hopflow_units::{Duration, Instant};

/// Multiplicative decrease (RFC 9438, section 4.6), as Linux rounds it.
const BETA: f64 = 717.0 / 1024.0;
/// Aggressiveness in segments per second cubed (RFC 9438, section 5).
const C: f64 = 0.4;
/// Segments per round trip that make Reno's throughput with this decrease (RFC 9438, section
/// 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Least growth per acknowledged segment before any loss.
const PROBING: f64 = 1.0 / 20.0;

/// A stretch of congestion avoidance without a loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// `K`: seconds until the plateau.
    k: f64,
    /// The plateau.
    origin: f64,
    /// `W_est`: what Reno would have.
    reno: f64,
}

/// The state of congestion avoidance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    epoch: Option<Epoch>,
    /// `W_max`: the window at the last loss, or less if flows come and go; zero before any.
    w_max: f64,
    /// Growth that does not make a segment yet.
    credit: f64,
}

/// What growth depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) now: Instant,
    /// The window in segments.
    pub(super) cwnd: f64,
    /// Segments acknowledged.
    pub(super) acked: f64,
    pub(super) min_rtt: Duration,
}

impl Cubic {
    /// By how many whole segments the window grows.
    pub(super) fn growth(&mut self, growth: Growth) -> u64 {
        let Growth {
            now,
            cwnd,
            acked,
            min_rtt,
        } = growth;
        let w_max = self.w_max;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, cwnd, w_max));
        epoch.reno += ALPHA * acked / cwnd;
        let t = now.saturating_since(epoch.start) + min_rtt;
        let mut rate = (epoch.cubic(t) - cwnd) / cwnd;
        if w_max == 0.0 {
            rate = rate.max(PROBING);
        }
        // The Reno-friendly region (RFC 9438, section 4.3).
        rate = rate.max((epoch.reno - cwnd) / cwnd);
        self.credit += rate.clamp(0.0, 0.5) * acked;
        let whole = self.credit as u64;
        self.credit -= whole as f64;
        whole
    }

    /// The window after a loss, in segments, with fast convergence (RFC 9438, sections 4.6, 4.7).
    pub(super) fn reduced(&mut self, cwnd: f64) -> f64 {
        self.epoch = None;
        self.credit = 0.0;
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        cwnd * BETA
    }

    /// Forgets the plateau: after a timeout growth starts flat (RFC 9438, section 4.8).
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Leaves out time in which nothing was sent (RFC 9438, section 5.8).
    pub(super) fn skip(&mut self, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }
}

impl Epoch {
    fn new(start: Instant, cwnd: f64, w_max: f64) -> Self {
        let (k, origin) = if cwnd < w_max {
            (libm::cbrt((w_max - cwnd) / C), w_max)
        } else {
            (0.0, cwnd)
        };
        Self {
            start,
            k,
            origin,
            reno: cwnd,
        }
    }

    /// `W_cubic` (RFC 9438, equation 1).
    fn cubic(&self, t: Duration) -> f64 {
        let distance = t.as_secs_f64() - self.k;
        self.origin + C * distance * distance * distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs round trips of `rtt` seconds and returns the window after each.
    fn run(cubic: &mut Cubic, mut cwnd: f64, rtt: f64, rounds: u32) -> Vec<f64> {
        let mut now = 0.0;
        let mut windows = Vec::new();
        for _ in 0..rounds {
            let segments = cwnd as u32;
            for n in 0..segments {
                let at = now + rtt * f64::from(n) / f64::from(segments);
                cwnd += cubic.growth(Growth {
                    now: Instant::ZERO + Duration::from_secs_f64(at),
                    cwnd,
                    acked: 1.0,
                    min_rtt: Duration::from_secs_f64(rtt),
                }) as f64;
            }
            now += rtt;
            windows.push(cwnd);
        }
        windows
    }

    #[test]
    fn the_plateau_is_reached_after_k() {
        let mut cubic = Cubic::default();
        let cwnd = cubic.reduced(1000.0);
        assert!((cwnd - 700.2).abs() < 0.1, "{cwnd}");
        // K = cbrt(300 / 0.4) = 9.08 s.
        let windows = run(&mut cubic, cwnd, 0.1, 91);
        assert!((windows[90] - 1000.0).abs() < 10.0, "{}", windows[90]);
        assert!(
            windows[20] > 850.0 && windows[20] < 900.0,
            "{}",
            windows[20]
        );
    }

    #[test]
    fn small_windows_grow_as_fast_as_reno_would() {
        let mut cubic = Cubic::default();
        let cwnd = cubic.reduced(20.0);
        // K = 2.5 s is many short round trips away.
        let windows = run(&mut cubic, cwnd, 0.005, 20);
        assert!(
            (windows[19] - cwnd - 20.0 * ALPHA).abs() < 2.0,
            "{}",
            windows[19]
        );
    }

    #[test]
    fn a_second_loss_below_the_plateau_makes_room_for_others() {
        let mut cubic = Cubic::default();
        cubic.reduced(1000.0);
        cubic.reduced(800.0);
        assert!((cubic.w_max - 800.0 * (1.0 + BETA) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut cubic = Cubic::default();
        let cwnd = cubic.reduced(100.0);
        let busy = run(&mut cubic.clone(), cwnd, 0.1, 1)[0];
        run(&mut cubic, cwnd, 0.1, 1);
        cubic.skip(Duration::from_secs(60));
        let after = Growth {
            now: Instant::ZERO + Duration::from_secs(60),
            cwnd: busy,
            acked: 1.0,
            min_rtt: Duration::from_millis(100),
        };
        assert_eq!(cubic.growth(after), 0);
    }
}
