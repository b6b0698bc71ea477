//! The window of one CUBIC connection (RFC 9438), in segments.

use hopflow_units::Instant;

/// CUBIC's constants: C, α and 1 − β (sections 4.6 and 5).
const C: f64 = 0.4;
const ALPHA: f64 = 0.53;
const DECREASE: f64 = 0.3;
/// The most by which a window grows in a round trip, as a part of it (section 4.4).
const FASTEST: f64 = 0.5;
/// How a window grows with each segment before the first loss, in segments. A slow start's 1 would
/// overshoot by a whole window for each of the connections that the circuits count as.
const PROBING: f64 = 0.25;
/// The first window (two segments: RFC 5681, section 3.1) and the smallest: far below a segment, so
/// that a weight below 1 has its part of a link where a connection has one segment under way.
const FIRST: f64 = 2.0;
const LEAST: f64 = 0.25;
/// A loss ends in a time-out with this probability over the window: too few duplicate acknowledgements
/// follow. It is three for Reno (Padhye et al., SIGCOMM '98, section 2.2); limited transmit (RFC 3042)
/// needs less. A time-out lasts for so many round trips (RFC 5348, section 4.3), and this time in
/// seconds, Linux's least.
const TIMED_OUT: f64 = 2.0;
const TIME_OUT: f64 = 4.0;
const SHORTEST_TIME_OUT: f64 = 0.2;

/// A connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    window: f64,
    /// The window before the last loss event, and the part of it that the event has left.
    before: f64,
    left: f64,
    /// The plateau, `W_max`, and that before it.
    plateau: f64,
    former: f64,
    /// `None` until the window grows after a loss event.
    epoch: Option<Epoch>,
    /// Whether a loss has ended the first growth.
    avoids: bool,
    /// The part of the connections that count as one which wait for a time-out, and when that was so.
    idle: f64,
    idle_at: Instant,
}

/// A stretch of growth without a loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds until the plateau.
    k: f64,
    origin: f64,
    /// What Reno would have (section 4.3).
    reno: f64,
}

impl Cubic {
    /// A connection that begins with this window, or with the first one of TCP if that is more.
    pub(super) fn starting(window: f64) -> Self {
        Self {
            window: window.max(FIRST),
            left: 1.0,
            ..Self::default()
        }
    }

    /// What is under way on average.
    pub(super) fn window(&self) -> f64 {
        (self.window * (1.0 - self.idle)).max(LEAST)
    }

    /// Grows for a part of a segment that arrived, up to `most`; a round trip takes `trip` seconds.
    pub(super) fn grow(&mut self, now: Instant, segments: f64, (trip, most): (f64, f64)) {
        self.wake(now, trip);
        let grown = if self.avoids {
            let (window, plateau) = (self.window, self.plateau);
            let epoch = self.epoch.get_or_insert_with(|| Epoch {
                start: now,
                k: libm::cbrt((plateau - window).max(0.0) / C),
                origin: plateau.max(window),
                reno: window,
            });
            epoch.reno += ALPHA * segments / window;
            let t = now.saturating_since(epoch.start).as_secs_f64() + trip - epoch.k;
            let target = (epoch.origin + C * t * t * t).max(epoch.reno);
            window + ((target - window) / window).clamp(0.0, FASTEST) * segments
        } else {
            self.window + PROBING * segments
        };
        self.window = grown.min(most).max(LEAST);
    }

    /// Time-outs end.
    fn wake(&mut self, now: Instant, trip: f64) {
        let past = now.saturating_since(self.idle_at).as_secs_f64();
        self.idle_at = now;
        self.idle *= libm::exp(-past / (TIME_OUT * trip).max(SHORTEST_TIME_OUT));
    }

    /// A loss event begins, which has taken nothing yet.
    pub(super) const fn begin_event(&mut self) {
        self.avoids = true;
        (self.before, self.former) = (self.window, self.plateau);
        self.left = 1.0;
    }

    /// A loss event has met this part of the connections which count as one, so far. What the window grew
    /// by since the event began stays: events of many flows last for many round trips. A round trip takes
    /// `trip` seconds.
    pub(super) fn reduce(&mut self, now: Instant, part: f64, trip: f64) {
        self.wake(now, trip);
        let more = part - (1.0 - self.left) / DECREASE;
        self.idle += (1.0 - self.idle) * more * (TIMED_OUT / self.before).min(1.0);
        let left = 1.0 - DECREASE * part;
        self.window = (self.window * left / self.left).max(LEAST);
        self.left = left;
        // Fast convergence (section 4.7).
        self.plateau = if self.before < self.former {
            self.before * (1.0 - DECREASE * part / 2.0)
        } else {
            self.before
        };
        self.epoch = None;
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Duration;

    use super::*;

    /// The window after so many seconds of 100 segments each.
    fn grown(cubic: &mut Cubic, seconds: u64) -> f64 {
        for centis in 0..100 * seconds {
            let now = Instant::ZERO + Duration::from_millis(10 * centis);
            cubic.grow(now, 1.0, (0.1, 1e9));
        }
        cubic.window()
    }

    #[test]
    fn a_window_grows_back_to_its_plateau_in_cubics_time() {
        let mut cubic = Cubic::starting(100.0);
        cubic.begin_event();
        cubic.reduce(Instant::ZERO, 1.0, 0.1);
        assert_eq!(cubic.window, 70.0);
        // K = cbrt(30 / 0.4) = 4.2 s.
        let window = grown(&mut cubic, 4);
        assert!((98.0..=101.0).contains(&window), "{window}");
    }

    #[test]
    fn an_event_that_meets_a_part_takes_a_part_however_it_is_told() {
        let mut cubic = Cubic::starting(100.0);
        cubic.begin_event();
        for part in [0.1, 0.2, 0.5] {
            cubic.reduce(Instant::ZERO, part, 0.1);
        }
        assert!((cubic.window - 85.0).abs() < 1e-9);
    }

    #[test]
    fn small_windows_time_out() {
        let mut cubic = Cubic::starting(4.0);
        cubic.begin_event();
        cubic.reduce(Instant::ZERO, 1.0, 0.01);
        // Half of the connections that have 2.8 segments each are idle.
        assert!((cubic.window() - 1.4).abs() < 1e-9);
        cubic.reduce(Instant::ZERO, 1.0, 0.01);
        assert!((cubic.window() - 1.4).abs() < 1e-9, "they are idle already");
        let later = Instant::ZERO + Duration::from_secs(2);
        cubic.grow(later, 1e-9, (0.01, 1e9));
        assert!(cubic.window() > 2.79);
    }

    #[test]
    fn growth_while_an_event_lasts_stays() {
        let mut cubic = Cubic::starting(100.0);
        cubic.begin_event();
        cubic.reduce(Instant::ZERO, 0.5, 0.1);
        grown(&mut cubic, 1);
        let window = cubic.window;
        assert!(window > 86.0, "{window}");
        cubic.reduce(Instant::ZERO + Duration::from_secs(1), 0.5, 0.1);
        let change = (cubic.window - window).abs();
        assert!(change < 1e-9, "the event has taken its part before");
    }

    #[test]
    fn no_window_is_beyond_its_bounds() {
        let mut cubic = Cubic::starting(0.0);
        assert_eq!(cubic.window(), FIRST);
        for _ in 0..100 {
            cubic.begin_event();
            cubic.reduce(Instant::ZERO, 1.0, 0.1);
        }
        assert_eq!(cubic.window(), LEAST);
        let later = Instant::ZERO + Duration::from_secs(10);
        cubic.grow(later, 1e12, (1.0, 50.0));
        assert_eq!(cubic.window, 50.0);
    }
}
