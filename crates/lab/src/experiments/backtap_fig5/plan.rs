//! What is swept, and what is expected: the data file of the experiment.

use hopflow_units::{Duration, Rate};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The data file `experiments/backtap-fig5.toml`.
const TEXT: &str = include_str!("../../../experiments/backtap-fig5.toml");

/// The experiment as its data file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Plan {
    /// Runs per curve and round-trip time.
    pub(super) seeds: u64,
    /// End-to-end round-trip times, in milliseconds.
    pub(super) rtts_ms: Vec<u64>,
    /// What the middle relay's bucket grants.
    #[serde(deserialize_with = "parsed")]
    pub(super) bucket: Rate,
    /// Rate of each access link.
    #[serde(deserialize_with = "parsed")]
    pub(super) access_rate: Rate,
    /// Packets that each access link queues.
    pub(super) access_queue_packets: u32,
    /// When the user starts, drawn from between these.
    pub(super) start_s: Span,
    /// Time between samples of R and W.
    pub(super) sample_every_ms: u64,
    /// The span that shows the state after a minute.
    pub(super) minute_s: Span,
    /// The transports under test.
    pub(super) curves: Vec<Curve>,
    /// What the paper leads to expect.
    pub(super) bands: Vec<Band>,
}

/// A span of simulated time, in seconds.
pub(super) type Span = (f64, f64);

/// A transport under test.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Curve {
    /// The name in results.
    pub(super) label: String,
    /// The transport's preset.
    pub(super) preset: String,
    /// Options over the preset's.
    #[serde(default)]
    pub(super) options: toml::Table,
    /// Time between refills of the bucket; the transport's own where nothing is given.
    #[serde(default, deserialize_with = "parsed_option")]
    pub(super) refill: Option<Duration>,
    /// Whether the paper says nothing of this curve.
    #[serde(default)]
    pub(super) variant: bool,
    /// The span of the regression; the run ends with it.
    steady_s: Span,
    /// Another span for long round trips.
    long: Option<Long>,
}

/// The span of the regression for long round trips.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Long {
    above_rtt_ms: u64,
    steady_s: Span,
}

impl Curve {
    /// The span of the regression at a round-trip time.
    pub(super) fn steady(&self, rtt_ms: u64) -> Span {
        match self.long {
            Some(long) if rtt_ms > long.above_rtt_ms => long.steady_s,
            _ => self.steady_s,
        }
    }
}

/// What is expected of a quantity of some curves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Band {
    /// The labels of the curves.
    pub(super) curves: Vec<String>,
    /// The quantity.
    pub(super) quantity: String,
    /// What it is judged by.
    pub(super) rule: Rule,
}

/// How a quantity is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Rule {
    /// Data and SENDMEs come to the smaller of the bucket's rate and a window per round trip.
    #[serde(rename_all = "kebab-case")]
    Window {
        /// The window in cells.
        cells: u64,
        /// Cells per SENDME.
        increment: u64,
        /// Relative tolerance.
        within: f64,
        /// Round-trip times this close to the knee are not judged.
        near_knee: f64,
    },
    /// The paper's text names a level.
    #[serde(rename_all = "kebab-case")]
    Level {
        /// The level.
        paper: f64,
        /// Relative tolerance.
        within: f64,
        /// Where it is expected.
        rtts_ms: Vec<u64>,
    },
    /// At least a share of a level, everywhere.
    #[serde(rename_all = "kebab-case")]
    AtLeast {
        /// The level.
        paper: f64,
        /// The share.
        share: f64,
    },
    /// Half the round-trip time and a little more.
    #[serde(rename_all = "kebab-case")]
    HalfRtt {
        /// How much more, in milliseconds.
        above_ms: f64,
    },
    /// The means over the round-trip time lie on a line.
    #[serde(rename_all = "kebab-case")]
    Linear {
        /// The least share of the variance that the line explains.
        r_squared: f64,
    },
}

impl Plan {
    /// The plan that comes with the program.
    pub(super) fn built_in() -> Self {
        toml::from_str(TEXT).expect("the data file is part of the program, and tests read it")
    }

    /// The labels of the curves, in order.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.curves.iter().map(|curve| curve.label.as_str())
    }
}

fn parsed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

fn parsed_option<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    parsed(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_band_names_a_curve_and_a_swept_round_trip() {
        let plan = Plan::built_in();
        let labels: BTreeSet<_> = plan.labels().collect();
        assert_eq!(labels.len(), plan.curves.len(), "labels are unique");
        for band in &plan.bands {
            assert!(
                band.curves
                    .iter()
                    .all(|curve| labels.contains(curve.as_str()))
            );
            if let Rule::Level { rtts_ms, .. } = &band.rule {
                assert!(rtts_ms.iter().all(|rtt| plan.rtts_ms.contains(rtt)));
            }
        }
    }

    #[test]
    fn only_long_round_trips_take_the_long_span() {
        let plan = Plan::built_in();
        let printed = plan
            .curves
            .iter()
            .find(|curve| curve.label == "backtap-as-printed");
        let printed = printed.unwrap();
        assert_eq!(printed.steady(200), (40.0, 60.0));
        assert_eq!(printed.steady(250), (160.0, 190.0));
    }
}
