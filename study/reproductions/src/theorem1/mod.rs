//! PredicTor, Theorem 1: whether the solution of equation 8 is max-min fair.
//!
//! C. Döpmann, F. Fiedler, S. Lucia and F. Tschorsch, "Optimization-Based Predictive Congestion
//! Control for the Tor Network: Opportunities and Challenges", ACM TOIT 22(4), 2022, section 3.1.
//! Nothing is simulated: both allocations are computed. `docs/fairness.md` says what is found.

mod network;

use hopflow_stats::{FairFlow, fairness_index, max_min, nearest};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Deserialize;

use self::network::{Capacities, Network, Plan, Shared};
use crate::{Computation, Computed, Expectations, Experiment, Measured, Method};

/// A circuit with less than this part of the largest capacity has nothing.
const NOTHING: f64 = 1e-6;

/// Theorem 1 on random networks.
#[derive(Debug)]
pub(super) struct Theorem1;

/// What is solved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    networks: u32,
    relays: usize,
    path: usize,
    circuits: Vec<usize>,
    curves: Vec<Curve>,
}

/// Networks of a kind, and what their circuits strive for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    name: String,
    capacities: Capacities,
    /// As a multiple of the largest capacity.
    target: f64,
    #[serde(default)]
    shared: Shared,
}

impl Experiment for Theorem1 {
    fn id(&self) -> &'static str {
        "predictor-theorem1"
    }

    fn data(&self) -> &'static str {
        include_str!("../../experiments/predictor-theorem1.toml")
    }

    fn scenario(&self) -> &'static str {
        include_str!("../../experiments/predictor-theorem1.settings.toml")
    }

    fn method(&self) -> Method<'_> {
        Method::Computed(self)
    }
}

impl Computation for Theorem1 {
    fn seeds(&self) -> u32 {
        self.settings().networks
    }

    fn compute(&self, _: &Expectations, seeds: &[u64]) -> Vec<Computed> {
        let settings = self.settings();
        let mut cells = Vec::new();
        for curve in &settings.curves {
            cells.extend(settings.circuits.iter().map(|circuits| (curve, *circuits)));
        }
        let computed = cells
            .par_iter()
            .map(|(curve, circuits)| settings.compare(curve, *circuits, seeds));
        computed.collect::<Vec<_>>().concat()
    }
}

impl Theorem1 {
    fn settings(&self) -> Settings {
        toml::from_str(self.scenario()).expect("the settings are tested")
    }
}

impl Settings {
    /// Both allocations on the networks of all seeds.
    fn compare(&self, curve: &Curve, circuits: usize, seeds: &[u64]) -> Vec<Computed> {
        let plan = Plan {
            capacities: curve.capacities,
            shared: curve.shared,
            relays: self.relays,
            path: self.path,
            circuits,
        };
        let of = |seed, (quantity, unit, value): (&str, &'static str, f64)| Computed {
            curve: curve.name.clone(),
            seed,
            measured: Measured {
                x: Some(circuits as f64),
                ..Measured::new(quantity, unit, value)
            },
        };
        let mut computed = Vec::new();
        let mut lowest = f64::INFINITY;
        for seed in seeds {
            let found = Comparison::of(&plan.network(*seed), curve.target);
            lowest = lowest.min(found.fairness);
            computed.extend(found.quantities().map(|quantity| of(*seed, quantity)));
        }
        computed.push(of(0, ("lowest fairness index", "", lowest)));
        computed
    }
}

/// How the solution of equation 8 differs from the max-min fair rates.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    /// The index F, 1 if they are the same.
    fairness: f64,
    /// The part of the circuits that have nothing.
    starved: f64,
    /// The part of the circuits that have less than half of their fair rate.
    below_half: f64,
    /// The sum of the rates, by that of the fair rates.
    total: f64,
}

impl Comparison {
    /// On one network, with a target that is a multiple of the largest capacity.
    fn of(network: &Network, target: f64) -> Self {
        let Network {
            capacities,
            circuits,
        } = network;
        let largest = capacities.iter().copied().fold(0.0, f64::max);
        let rates = nearest(capacities, circuits, target * largest)
            .expect("a sampled network is valid")
            .rates;
        let fair = fair_rates(capacities, circuits);
        let part = |wanted: &dyn Fn(f64, f64) -> bool| {
            let pairs = rates.iter().zip(&fair);
            let count = pairs.filter(|(rate, fair)| wanted(**rate, **fair)).count();
            count as f64 / rates.len() as f64
        };
        Self {
            fairness: fairness_index(&fair, &rates).expect("fair rates are positive"),
            starved: part(&|rate, _| rate < NOTHING * largest),
            below_half: part(&|rate, fair| rate < fair / 2.0),
            total: rates.iter().sum::<f64>() / fair.iter().sum::<f64>(),
        }
    }

    fn quantities(self) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
        [
            ("fairness index", "", self.fairness),
            ("circuits without any rate", "%", 100.0 * self.starved),
            (
                "circuits below half of their fair rate",
                "%",
                100.0 * self.below_half,
            ),
            (
                "total rate, of the fair allocation's",
                "%",
                100.0 * self.total,
            ),
        ]
        .into_iter()
    }
}

/// The max-min fair rates.
fn fair_rates(capacities: &[f64], circuits: &[FairFlow]) -> Vec<f64> {
    let shares = max_min(capacities, circuits).expect("a sampled network is valid");
    shares.into_iter().map(|share| share.rate).collect()
}

#[cfg(test)]
mod tests {
    use hopflow_results::Verdict;

    use super::*;
    use crate::{Reproduction, Setting, find};
    use hopflow_lab::run::Silent;

    fn means(quantity: &str, curve: &str, circuits: usize, seeds: &[u64]) -> f64 {
        let settings = Theorem1.settings();
        let mut curves = settings.curves.iter();
        let curve = curves.find(|c| c.name == curve).unwrap();
        let computed = settings.compare(curve, circuits, seeds);
        let values = computed.iter().map(|computed| &computed.measured);
        let values = values.filter(|value| value.quantity == quantity);
        values.map(|value| value.value).sum::<f64>() / seeds.len() as f64
    }

    #[test]
    fn settings_and_data_file_agree() {
        let settings = Theorem1.settings();
        let data = Expectations::parse(Theorem1.data(), "").unwrap();
        let swept = settings.circuits.iter().map(|circuits| *circuits as f64);
        assert_eq!(data.description().x.values, swept.collect::<Vec<_>>());
        for curve in &settings.curves {
            let mut expected = data.curves().iter();
            let expected = expected.find(|expected| expected.transport == curve.name);
            let x = settings.circuits.first().map(|circuits| *circuits as f64);
            assert!(expected.unwrap().at(x).is_some(), "{}", curve.name);
        }
    }

    #[test]
    fn it_is_made_again_without_runs_and_judged() {
        let setting = Setting {
            seeds: Some(6),
            ..Setting::default()
        };
        let make = || {
            let found = find("predictor-theorem1").unwrap();
            let (reproduction, campaign) = Reproduction::plan(found, &setting, "").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let finished = campaign.run(folder.path(), None, &Silent).unwrap();
            let values = reproduction.evaluate(&finished).unwrap();
            let hash = reproduction.fingerprint(&finished, &values);
            (reproduction.provisional(), values, hash)
        };
        let (provisional, values, hash) = make();
        assert!(provisional.unwrap().contains("6 of the 25"));
        assert_eq!(hash, make().2);
        let judged = values.iter().filter(|v| v.quantity == "fairness index");
        for value in judged {
            let verdict = match value.transport.as_str() {
                "one shared relay" => Verdict::Reproduced,
                _ => Verdict::NotReproduced,
            };
            assert_eq!(value.n, 6);
            // Ten circuits may by chance not meet at several relays.
            assert!(
                value.verdict == verdict || value.x == Some(10.0),
                "{value:?}"
            );
        }
    }

    #[test]
    fn the_theorem_holds_where_circuits_share_one_relay() {
        for circuits in [10, 100] {
            let fairness = means("fairness index", "one shared relay", circuits, &[1, 2, 3]);
            assert!((fairness - 1.0).abs() < 1e-9, "{fairness}");
        }
    }

    #[test]
    fn the_theorem_fails_where_circuits_share_several_relays() {
        let seeds = [1, 2, 3, 4, 5];
        let fairness = means("fairness index", "equal", 100, &seeds);
        assert!((0.2..0.5).contains(&fairness), "{fairness}");
        let starved = means("circuits without any rate", "equal", 100, &seeds);
        assert!((5.0..25.0).contains(&starved), "{starved}");
    }
}
