//! Users that arrive with the load.

use hopflow_random::Stream;
use hopflow_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InputError;
use super::limits::Check;
use super::quantity::Text;

/// A load over time: pairs of a time, rising, and how many users come there, as a factor from zero up.
/// Between two times the factor changes linearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Load(#[schemars(length(min = 2))] pub Vec<(Text<Duration>, f64)>);

impl Load {
    /// When a user arrives: at any time with a probability in proportion to the load then.
    pub(super) fn sample(&self, stream: &mut Stream) -> Duration {
        let areas = self.0.windows(2).map(area);
        let mut left = stream.unit() * areas.sum::<f64>();
        let last = self.0.len() - 2;
        for (number, span) in self.0.windows(2).enumerate() {
            let area = area(span);
            if left < area || number == last {
                return within(span, (left / area).clamp(0.0, 1.0));
            }
            left -= area;
        }
        unreachable!("the check saw to it that there are two times")
    }

    /// When users begin to arrive, if the load was checked.
    pub(super) fn first(&self) -> Duration {
        let mut spans = self.0.windows(2);
        let first = spans.find(|span| area(span) > 0.0);
        first.map_or(Duration::MAX, |span| span[0].0.0)
    }

    /// When the last users arrive, if the load was checked.
    pub(super) fn last(&self) -> Duration {
        let mut spans = self.0.windows(2);
        let last = spans.rfind(|span| area(span) > 0.0);
        last.map_or(Duration::ZERO, |span| span[1].0.0)
    }

    pub(super) fn check(&self, key: &str) -> Check {
        let at =
            |index: usize, problem: String| Err(InputError::at(format!("{key}[{index}]"), problem));
        for (index, (time, factor)) in self.0.iter().enumerate() {
            if !(factor.is_finite() && *factor >= 0.0) {
                let problem = format!("{factor} is outside of what is allowed: 0 or more");
                return at(index, problem);
            }
            if index > 0 && time.0 <= self.0[index - 1].0.0 {
                let problem = format!("\"{}\" does not come after the time before it", time.0);
                return at(index, problem);
            }
        }
        if self.0.len() < 2 || self.0.windows(2).map(area).sum::<f64>() <= 0.0 {
            let problem = "lets nobody arrive; needed are two times or more, and a load above zero \
                           at one of them";
            return Err(InputError::at(key, problem));
        }
        Ok(())
    }
}

/// The integral of the load between two times.
fn area(span: &[(Text<Duration>, f64)]) -> f64 {
    let length = (span[1].0.0 - span[0].0.0).as_secs_f64();
    length * f64::midpoint(span[0].1, span[1].1)
}

/// The time up to which such a share of the load between two times comes.
fn within(span: &[(Text<Duration>, f64)], share: f64) -> Duration {
    let [(Text(begin), low), (Text(end), high)] = [span[0], span[1]];
    // Where x goes from 0 to 1, low x + (high - low) x² / 2 of the load has come; the root is written
    // such that nothing cancels out.
    let come = share * (low + high) / 2.0;
    let root = (low * low + 2.0 * (high - low) * come).max(0.0).sqrt();
    let x = if come > 0.0 {
        (2.0 * come / (low + root)).min(1.0)
    } else {
        0.0
    };
    let length = (end - begin).as_nanos() as f64;
    begin + Duration::from_nanos((length * x).round() as u64)
}

#[cfg(test)]
mod tests {
    use hopflow_random::Streams;

    use super::*;

    #[test]
    fn users_arrive_in_proportion_to_the_load() {
        let at = |secs| Text(Duration::from_secs(secs));
        // Areas: 10, 20, 0, 10.
        let load = Load(vec![
            (at(0), 0.0),
            (at(20), 1.0),
            (at(40), 1.0),
            (at(41), 0.0),
        ]);
        let load = Load([load.0, vec![(at(50), 0.0), (at(60), 1.9)]].concat());
        let mut stream = Streams::new(1).stream("arrivals", 0);
        let mut counts = [0_u32; 60];
        let draws = 100_000;
        for _ in 0..draws {
            let secs = load.sample(&mut stream).as_nanos() / 1_000_000_000;
            counts[secs as usize] += 1;
        }
        let share = |range: std::ops::Range<usize>| {
            f64::from(counts[range].iter().sum::<u32>()) / f64::from(draws)
        };
        // 10 + 20 + 0.5 + 0 + 9.5.
        for (range, area) in [
            (0..10, 2.5),
            (10..20, 7.5),
            (20..40, 20.0),
            (40..41, 0.5),
            (41..50, 0.0),
            (50..60, 9.5),
        ] {
            let error = share(range.clone()) - area / 40.0;
            assert!(error.abs() < 0.006, "{range:?}: {error}");
        }
    }

    #[test]
    fn a_span_is_divided_by_its_load() {
        let at = |secs| Text(Duration::from_secs(secs));
        for (low, high, half) in [
            (1.0, 1.0, 5.0),
            (0.0, 1.0, 50_f64.sqrt()),
            (1.0, 0.0, 10.0 - 50_f64.sqrt()),
        ] {
            let found = within(&[(at(0), low), (at(10), high)], 0.5).as_secs_f64();
            assert!((found - half).abs() < 1e-9, "{found}");
        }
    }
}
