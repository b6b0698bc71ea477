//! What TCP's throughput is in theory: the model of Padhye et al., and its inverse.
//!
//! J. Padhye, V. Firoiu, D. Towsley and J. Kurose, "Modeling TCP Throughput: A Simple Model and its
//! Empirical Validation", SIGCOMM 1998, section 2. Reno in its steady state: a loss in a round takes
//! the rest of the round with it, rounds do not depend on each other, and there is no SACK.
//! The endpoints of this crate are not such a Reno; `tests/padhye.rs` measures how far they differ.

mod inverse;

use hopflow_units::Duration;

/// How the rate is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The whole model: equation 32.
    Full,
    /// The approximation of the paper's abstract, which many others use.
    Approximate,
}

/// What the model must know of a connection besides its losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reno {
    /// Mean round-trip time; above zero.
    pub round_trip: Duration,
    /// Mean time until a retransmission timer first expires, T0 in the paper.
    pub timeout: Duration,
    /// Segments that one acknowledgement acknowledges, b in the paper; at least 1.
    pub per_ack: f64,
    /// The largest window in segments, if the receiver bounds it.
    pub window: Option<f64>,
}

impl Reno {
    /// Segments sent per second if each is, with probability `loss`, the first of a loss.
    ///
    /// It falls as `loss` rises. One exception: with a bound on the window and `per_ack` below 2, the
    /// full model has a small step up where the bound ceases to bind.
    ///
    /// # Panics
    /// If `loss` is not between 0 and 1, both excluded.
    pub fn rate(&self, form: Form, loss: f64) -> f64 {
        assert!(
            0.0 < loss && loss < 1.0,
            "a loss probability lies between 0 and 1, not at {loss}"
        );
        match form {
            Form::Full => self.full(loss),
            Form::Approximate => self.approximate(loss),
        }
    }

    /// The loss probability at which [`rate`](Self::rate) is `rate`, or `None` if it never is.
    ///
    /// Newton's method on logarithms, within an interval that shrinks with every step.
    pub fn loss(&self, form: Form, rate: f64) -> Option<f64> {
        inverse::solve(|loss| self.rate(form, loss), rate)
    }

    fn full(&self, p: f64) -> f64 {
        let b = self.per_ack;
        let open = unbounded_window(b, p);
        let bound = self.window.filter(|bound| *bound <= open);
        let window = bound.unwrap_or(open);
        let rounds = match bound {
            None => b / 2.0 * open + 1.0,
            Some(bound) => b / 8.0 * bound + (1.0 - p) / (p * bound) + 2.0,
        };
        let timeouts = share_of_timeouts(p, window);
        let segments = (1.0 - p) / p + window + timeouts / (1.0 - p);
        let waiting = timeouts * backed_off(p) * self.timeout.as_secs_f64() / (1.0 - p);
        segments / (self.round_trip.as_secs_f64() * rounds + waiting)
    }

    fn approximate(&self, p: f64) -> f64 {
        let (round_trip, b) = (self.round_trip.as_secs_f64(), self.per_ack);
        let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
        let waiting = self.timeout.as_secs_f64() * timeouts * p * (1.0 + 32.0 * p * p);
        let rate = 1.0 / (round_trip * (2.0 * b * p / 3.0).sqrt() + waiting);
        self.window
            .map_or(rate, |window| rate.min(window / round_trip))
    }
}

/// The mean window at the end of a period without timeouts: equation 13.
fn unbounded_window(b: f64, p: f64) -> f64 {
    let constant = (2.0 + b) / (3.0 * b);
    constant + (8.0 * (1.0 - p) / (3.0 * b * p) + constant * constant).sqrt()
}

/// The probability that a loss in a window of `w` segments ends in a timeout: equation 24.
fn share_of_timeouts(p: f64, w: f64) -> f64 {
    // Fewer segments than that never yield three duplicates.
    if w <= 3.0 {
        return 1.0;
    }
    let kept = |segments: f64| libm::pow(1.0 - p, segments);
    let three = kept(3.0);
    ((1.0 - three) * (1.0 + three * (1.0 - kept(w - 3.0))) / (1.0 - kept(w))).min(1.0)
}

/// The mean length of a sequence of timeouts, in first timeouts, times 1 - p: equation 29. The timer
/// doubles six times at most.
fn backed_off(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

#[cfg(test)]
mod tests;
