//! BackTap, Figure 5: rate, backlog and delay of a single circuit over the round-trip time.

use hopflow_results::{Sample, Tables};
use hopflow_stats::Line;
use hopflow_units::Duration;

use super::{Experiment, Measured};
use crate::scenario::{Distribution, Scenario};

/// Access links that a cell and its answer pass between client and exit: three hops with two
/// links each, there and back.
const LINKS: f64 = 12.0;

/// Figure 5 of the BackTap paper.
#[derive(Debug)]
pub(super) struct BacktapFig5;

impl Experiment for BacktapFig5 {
    fn id(&self) -> &'static str {
        "backtap-fig5"
    }

    fn data(&self) -> &'static str {
        include_str!("../../experiments/backtap-fig5.toml")
    }

    fn scenario(&self) -> &'static str {
        include_str!("../../experiments/backtap-fig5.scenario.toml")
    }

    /// `x` is the end-to-end round-trip time in milliseconds.
    fn at(&self, mut scenario: Scenario, x: f64) -> Scenario {
        let delay = Duration::from_secs_f64(x / 1e3 / LINKS);
        scenario.network.access.delay = Some(Distribution::Fixed(delay));
        scenario
    }

    fn measure(&self, run: &Tables) -> Vec<Measured> {
        steady_state(&run.samples).unwrap_or_default()
    }
}

/// Rate, backlog and delay from lines through R(t) and W(t) (section 4.1): the slope of W, and the
/// vertical and the horizontal distance of the lines in the middle of the time.
fn steady_state(samples: &[Sample]) -> Option<Vec<Measured>> {
    let points = |amount: fn(&Sample) -> u64| -> Vec<(f64, f64)> {
        samples
            .iter()
            .map(|sample| (sample.t_s, amount(sample) as f64))
            .collect()
    };
    let packaged = Line::fit(&points(|sample| sample.packaged_bytes))?;
    let delivered = Line::fit(&points(|sample| sample.delivered_bytes))?;
    let middle = f64::midpoint(samples.first()?.t_s, samples.last()?.t_s);
    let rate = delivered.slope;
    let backlog = packaged.at(middle) - delivered.at(middle);
    let measured = |quantity, value| Measured { quantity, value };
    let mut all = vec![
        measured("rate", rate / 1e3),
        measured("backlog", backlog / 1e3),
    ];
    if rate > 0.0 {
        all.push(measured("delay", backlog / rate * 1e3));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_backlog_and_delay_are_slope_height_and_width_between_the_lines() {
        let sample = |n: u64| Sample {
            circuit: 0,
            t_s: n as f64 / 100.0,
            packaged_bytes: 10_000 * n + 200_000,
            delivered_bytes: 10_000 * n,
        };
        let samples: Vec<_> = (100..300).map(sample).collect();
        let measured = steady_state(&samples).unwrap();
        for (measured, (quantity, value)) in
            measured
                .iter()
                .zip([("rate", 1000.0), ("backlog", 200.0), ("delay", 200.0)])
        {
            assert_eq!(measured.quantity, quantity);
            assert!((measured.value - value).abs() < 1e-6, "{measured:?}");
        }
        assert_eq!(steady_state(&[]), None);
    }
}
