//! What the paper measures in a run: R(t) and W(t), and the lines through them.

use hopflow_results::Sample;
use hopflow_stats::Line;

use super::model::CELL;
use crate::Measured;

/// Seconds at the end of a run from which the steady state is taken.
const STEADY: f64 = 25.0;
/// The span that shows the state after a minute, in seconds.
const MINUTE: (f64, f64) = (50.0, 60.0);
/// The share of the final rate from which a circuit counts as settled.
const SETTLED: f64 = 0.95;
/// What a refill every 100 ms lets out at once, in kB.
const BURST: f64 = 150.0;
/// Application bytes of a data cell, as relays cut them (`docs/spec/wire.md`).
const DATA: f64 = hopflow_wire::CELL_DATA as f64;

/// Rate, backlog and delay over a span, from the lines through R and W (section 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// Slope of W, in kB/s.
    rate: f64,
    /// Vertical distance of the lines in the middle of the span, in kB.
    backlog: f64,
    /// Horizontal distance of the lines there, in ms.
    delay: f64,
}

/// All quantities of a run; those that its samples do not tell are left out.
pub(super) fn measure(samples: &[Sample]) -> Vec<Measured> {
    let series = Series::new(samples);
    let mut all = Vec::new();
    let mut add = |quantity: &str, unit, value| all.push(Measured::new(quantity, unit, value));
    let end = samples.last().map_or(0.0, |sample| sample.t_s);
    if let Some(state) = series.state((end - STEADY, end)) {
        add("rate", "kB/s", state.rate);
        add("goodput", "kB/s", state.rate * DATA / CELL as f64);
        add("backlog", "kB", state.backlog);
        add("delay", "ms", state.delay);
        add("settling", "s", series.settling(state.rate));
        add("draining", "s", series.draining(state.backlog));
    }
    add("peak-backlog", "kB", series.peak());
    if end >= MINUTE.1 - 1.0
        && let Some(state) = series.state(MINUTE)
    {
        add("rate-at-60s", "kB/s", state.rate);
        add("backlog-at-60s", "kB", state.backlog);
        add("delay-at-60s", "ms", state.delay);
    }
    all
}

/// R and W of one circuit over time, in kB; cells count with 512 bytes.
struct Series {
    packaged: Vec<(f64, f64)>,
    delivered: Vec<(f64, f64)>,
}

impl Series {
    fn new(samples: &[Sample]) -> Self {
        let scale = CELL as f64 / DATA / 1e3;
        let line = |bytes: fn(&Sample) -> u64| {
            let point = |sample: &Sample| (sample.t_s, bytes(sample) as f64 * scale);
            samples.iter().map(point).collect()
        };
        Self {
            packaged: line(|sample| sample.packaged_bytes),
            delivered: line(|sample| sample.delivered_bytes),
        }
    }

    /// The state over a span; `None` if there are no samples or nothing was delivered in it.
    fn state(&self, (from, to): (f64, f64)) -> Option<State> {
        let within = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let inside = |point: &&(f64, f64)| (from..to).contains(&point.0);
            points.iter().filter(inside).copied().collect()
        };
        let packaged = Line::fit(&within(&self.packaged))?;
        let delivered = Line::fit(&within(&self.delivered))?;
        let middle = f64::midpoint(from, to);
        let backlog = packaged.at(middle) - delivered.at(middle);
        (delivered.slope > 0.0).then(|| State {
            rate: delivered.slope,
            backlog,
            delay: backlog / delivered.slope * 1e3,
        })
    }

    /// Seconds from the first delivery to the middle of the last span of two seconds whose rate is
    /// too low; zero if there is none.
    ///
    /// The slope of a line, not the difference of its ends: bursts at the ends weigh less.
    fn settling(&self, steady: f64) -> f64 {
        let points = &self.delivered;
        let Some(first) = points.iter().position(|point| point.1 > 0.0) else {
            return 0.0;
        };
        let per_second = points.iter().take_while(|point| point.0 < 1.0).count();
        let starts = (first..points.len().saturating_sub(2 * per_second)).step_by(10);
        let slow = starts.rev().find(|&from| {
            let line = Line::fit(&points[from..=from + 2 * per_second]);
            line.is_some_and(|line| line.slope < SETTLED * steady)
        });
        slow.map_or(0.0, |from| points[from].0 + 1.0 - points[first].0)
    }

    /// Seconds from the first delivery to the last backlog that is above twice the steady one and
    /// a burst; zero if there is none.
    fn draining(&self, steady: f64) -> f64 {
        let first = self.delivered.iter().find(|point| point.1 > 0.0);
        let mut pairs = self.packaged.iter().zip(&self.delivered);
        let high = pairs.rfind(|(r, w)| r.1 - w.1 > 2.0 * steady + BURST);
        first
            .zip(high)
            .map_or(0.0, |(first, (last, _))| (last.0 - first.0).max(0.0))
    }

    fn peak(&self) -> f64 {
        let pairs = self.packaged.iter().zip(&self.delivered);
        pairs.map(|(r, w)| r.1 - w.1).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples every 10 ms for a minute, of bytes as functions of seconds.
    fn samples(packaged: fn(f64) -> f64, delivered: fn(f64) -> f64) -> Vec<Sample> {
        let sample = |n: u32| {
            let t_s = f64::from(n) / 100.0;
            Sample {
                circuit: 0,
                t_s,
                packaged_bytes: packaged(t_s) as u64,
                delivered_bytes: delivered(t_s) as u64,
            }
        };
        (0..=6000).map(sample).collect()
    }

    fn value(measured: &[Measured], quantity: &str) -> f64 {
        let mut found = measured.iter().filter(|m| m.quantity == quantity);
        found.next().unwrap().value
    }

    #[test]
    fn rate_backlog_and_delay_are_slope_height_and_width_between_the_lines() {
        // 1000 cells per second, 0.2 s apart.
        let measured = measure(&samples(|t| 498e3 * t, |t| 498e3 * (t - 0.2).max(0.0)));
        for (quantity, expected) in [
            ("rate", 512.0),
            ("goodput", 498.0),
            ("backlog", 102.4),
            ("delay", 200.0),
            ("settling", 0.0),
            ("peak-backlog", 102.4),
            ("rate-at-60s", 512.0),
        ] {
            let found = value(&measured, quantity);
            assert!((found - expected).abs() < 0.01, "{quantity}: {found}");
        }
    }

    #[test]
    fn settling_ends_when_the_rate_stays_high() {
        let stalled = samples(
            |t| 498e3 * t,
            |t| 498e3 * (t.min(10.0) + (t - 20.0).max(0.0)),
        );
        let settling = value(&measure(&stalled), "settling");
        assert!((settling - 20.0).abs() < 1.0, "{settling}");
    }

    #[test]
    fn draining_ends_when_the_backlog_stays_low() {
        let burst = samples(
            |t| 498e3 * t + if t < 3.0 { 2e6 } else { 1e5 },
            |t| 498e3 * t + if t < 3.0 { 1e3 } else { 0.0 },
        );
        let draining = value(&measure(&burst), "draining");
        assert!((draining - 2.99).abs() < 0.01, "{draining}");
    }

    #[test]
    fn a_run_without_deliveries_tells_no_rate() {
        let silent = measure(&samples(|_| 0.0, |_| 0.0));
        assert_eq!(silent.len(), 1, "{silent:?}");
        assert_eq!(measure(&[]).len(), 1);
    }
}
