//! BackTap, Figure 5: rate, backlog and delay of a single circuit over the round-trip time.
//!
//! F. Tschorsch and B. Scheuermann, "Mind the Gap: Towards a Backpressure-Based Transport Protocol
//! for the Tor Network", NSDI 2016, section 4.1. [`model`] is what theory predicts;
//! `docs/reproductions.md` tells the result.

mod measure;
pub mod model;
mod page;
mod story;
mod values;

use hopflow_lab::scenario::{Distribution, InputError, Scenario, Text};
use hopflow_report::{Document, FigurePage};
use hopflow_results::{Tables, Value};
use hopflow_stats::Line;
use hopflow_units::Duration;

use crate::{Curve, Expectations, Experiment, Measured, Method, Part, Sweep};

/// Access links that a cell and its answer pass between client and exit: three hops with two
/// links each, there and back.
const LINKS: f64 = 12.0;

/// Whether a transport's windows change by a cell per round trip for long: from the beginning, or
/// after they overshot because bursts of 100 ms hide that cells wait.
fn is_slow(label: &str) -> bool {
    label.starts_with("backtap-as-printed") || label == "backtap+refill-100ms"
}

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

    fn method(&self) -> Method<'_> {
        Method::Simulated(self)
    }

    fn summarise(&self, curve: &Curve<'_>) -> Option<Measured> {
        if curve.quantity != "backlog" {
            return None;
        }
        let points = curve.points.iter();
        let points: Vec<_> = points
            .filter_map(|(x, value)| Some(((*x)?, *value)))
            .collect();
        let linearity = Line::fit(&points)?.r_squared?;
        Some(Measured::new("backlog-linearity", "", linearity))
    }

    fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        page::document(page, values)
    }
}

impl Sweep for BacktapFig5 {
    /// The swept value is the end-to-end round-trip time in milliseconds.
    fn parts(
        &self,
        scenario: &Scenario,
        expectations: &Expectations,
    ) -> Result<Vec<Part>, InputError> {
        let at = |x: f64, slow: bool| {
            let mut part = scenario.clone();
            let delay = Duration::from_secs_f64(x / 1e3 / LINKS);
            part.network.access.delay = Some(Distribution::Fixed(delay));
            let labels = scenario.transports.labels();
            part.transports = labels
                .filter(|label| is_slow(label) == slow)
                .filter_map(|label| {
                    let choice = scenario.transports.get(label)?;
                    Some((label.to_owned(), choice.clone()))
                })
                .collect();
            if slow {
                part.duration = Text(Duration::from_secs_f64(slow_run(x / 1e3)));
            }
            Part {
                case: String::new(),
                x: Some(x),
                scenario: part,
            }
        };
        let xs = expectations.description().x.values.iter();
        Ok(xs.flat_map(|x| [at(*x, false), at(*x, true)]).collect())
    }

    fn measure(&self, _: &Part, run: &Tables) -> Vec<Measured> {
        measure::measure(&run.samples)
    }
}

/// Seconds that a run takes whose windows grow by one cell per round trip of a hop: half as long
/// again as growing to what the hop holds takes, and time to measure; at least a minute.
///
/// A hop has a third of the round trip, and holds 2930 cells per second of it.
fn slow_run(rtt: f64) -> f64 {
    let hop = rtt / 3.0;
    let growth = 1.5e6 / model::CELL as f64 * hop * hop;
    (1.5 * growth + 40.0).max(60.0).ceil()
}

#[cfg(test)]
mod tests {
    use hopflow_units::Rate;

    use super::page::WINDOWS;
    use super::*;
    use crate::{Reproduction, Setting, find};

    #[test]
    fn slow_transports_run_until_their_windows_have_grown() {
        assert_eq!([0.0, 0.1, 0.5].map(slow_run), [60.0, 60.0, 163.0]);
    }

    #[test]
    fn the_rates_of_the_data_file_are_those_of_the_closed_form() {
        let bucket = Rate::from_kilobytes_per_sec(1500);
        let data = Expectations::parse(BacktapFig5.data(), "").unwrap();
        for (transport, window) in WINDOWS {
            let mut curves = data.curves().iter();
            let curve = curves.find(|c| c.transport == transport && c.quantity == "rate");
            for x in &data.description().x.values {
                let Some(expected) = curve.unwrap().at(Some(*x)) else {
                    assert!(*x < 5.0, "{transport} at {x} has no band");
                    continue;
                };
                let rate = window.rate(bucket, Duration::from_secs_f64(x / 1e3)) / 1e3;
                for (found, expected) in [
                    (expected.value, rate),
                    (expected.low, 0.93 * rate),
                    (expected.high, 1.02 * rate),
                ] {
                    assert!(
                        (found - expected).abs() < 0.1,
                        "{transport} at {x}: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_sweep_has_every_transport_at_every_round_trip_once() {
        let scenario = Scenario::parse(BacktapFig5.scenario(), "").unwrap();
        let data = Expectations::parse(BacktapFig5.data(), "").unwrap();
        let parts = BacktapFig5.parts(&scenario, &data).unwrap();
        let labels = parts.iter().map(|part| part.scenario.transports.len());
        let xs = data.description().x.values.len();
        assert_eq!(labels.sum::<usize>(), xs * scenario.transports.len());
        Reproduction::plan(find("backtap-fig5").unwrap(), &Setting::default(), "").unwrap();
    }
}
