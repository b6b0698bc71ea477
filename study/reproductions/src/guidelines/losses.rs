//! Figures 2 and 4: losses of circuits that share a connection, or have one each, by Padhye's model.

use hopflow_lab::scenario::Text;
use hopflow_tcp::model::{Form, Reno};
use hopflow_units::{Bytes, Duration, Rate};
use serde::Deserialize;

use crate::{Computation, Computed, Expectations, Experiment, Measured, Method};

/// What Figure 2 shows.
const PROBABILITY: &str = "loss probability";
/// What Figure 4 shows.
const EVENTS: &str = "loss events that a circuit notices";

/// The model of TCP's throughput, solved for the losses.
#[derive(Debug)]
pub(crate) struct Losses;

/// What the circuits share, and what is solved.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Settings {
    rate: Text<Rate>,
    segment: Text<Bytes>,
    round_trip: Text<Duration>,
    per_ack: f64,
    circuits: Vec<u32>,
    curves: Vec<Curve>,
}

/// Circuits over connections of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    name: String,
    connections: Connections,
    form: FormName,
    timeout: Text<Duration>,
}

/// How circuits are mapped to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Connections {
    /// All circuits share one.
    Joint,
    /// Each circuit has its own.
    Separate,
}

/// A form of the model.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FormName {
    Approximate,
    Full,
}

impl Experiment for Losses {
    fn id(&self) -> &'static str {
        "guidelines-fig2"
    }

    fn also(&self) -> &'static [&'static str] {
        &["guidelines-fig4"]
    }

    fn data(&self) -> &'static str {
        include_str!("../../experiments/guidelines-fig2.toml")
    }

    fn scenario(&self) -> &'static str {
        include_str!("../../experiments/guidelines-fig2.settings.toml")
    }

    fn method(&self) -> Method<'_> {
        Method::Computed(self)
    }
}

impl Computation for Losses {
    fn seeds(&self) -> u32 {
        1
    }

    fn compute(&self, _: &Expectations, seeds: &[u64]) -> Vec<Computed> {
        let settings = self.settings();
        let seed = seeds.first().copied().unwrap_or(0);
        let mut computed = Vec::new();
        for curve in &settings.curves {
            let values = settings.circuits.iter().flat_map(|n| {
                let [joint, own] = [1, *n].map(|n| settings.losses(curve, n));
                let at = move |measured| Measured {
                    x: Some(f64::from(*n)),
                    ..measured
                };
                match curve.connections {
                    Connections::Joint => joint.quantities().to_vec(),
                    Connections::Separate => [own.quantities(), own.against(&joint)].concat(),
                }
                .into_iter()
                .map(at)
            });
            computed.extend(values.map(|measured| Computed {
                curve: curve.name.clone(),
                seed,
                measured,
            }));
        }
        computed
    }
}

impl Losses {
    fn settings(&self) -> Settings {
        toml::from_str(self.scenario()).expect("the settings are tested")
    }
}

impl Settings {
    /// The losses of each of `connections` that share the rate evenly.
    fn losses(&self, curve: &Curve, connections: u32) -> Lost {
        let reno = Reno {
            round_trip: self.round_trip.0,
            timeout: curve.timeout.0,
            per_ack: self.per_ack,
            window: None,
        };
        let form = match curve.form {
            FormName::Approximate => Form::Approximate,
            FormName::Full => Form::Full,
        };
        let segments = self.rate.0.as_f64() / self.segment.0.as_f64() / f64::from(connections);
        let probability = reno
            .loss(form, segments)
            .expect("the settings are tested: the model knows such a rate");
        Lost {
            probability,
            events: probability * segments,
        }
    }
}

/// The losses of one connection.
#[derive(Clone, Copy, Debug)]
struct Lost {
    /// That a segment is the first of a loss.
    probability: f64,
    /// Losses per second: each holds up all circuits of the connection.
    events: f64,
}

impl Lost {
    /// What Figures 2 and 4 show.
    fn quantities(&self) -> [Measured; 2] {
        [
            Measured::new(PROBABILITY, "%", 100.0 * self.probability),
            Measured::new(EVENTS, "1/s", self.events),
        ]
    }

    /// The same as multiples of what they are with a joint connection.
    fn against(&self, joint: &Self) -> [Measured; 2] {
        let multiple = |quantity, of: fn(&Self) -> f64| {
            let quantity = format!("{quantity}, of the joint connection's");
            Measured::new(quantity, "", of(self) / of(joint))
        };
        [
            multiple(PROBABILITY, |lost| lost.probability),
            multiple(EVENTS, |lost| lost.events),
        ]
    }
}

#[cfg(test)]
mod tests {
    use hopflow_results::Verdict;

    use super::*;
    use crate::{Reproduction, Setting, find};
    use hopflow_lab::run::Silent;

    fn lost(curve: &str, n: u32) -> Lost {
        let settings = Losses.settings();
        let curve = settings.curves.iter().find(|c| c.name == curve).unwrap();
        settings.losses(curve, n)
    }

    #[test]
    fn settings_and_data_file_agree() {
        let settings = Losses.settings();
        let data = Expectations::parse(Losses.data(), "").unwrap();
        let swept = settings.circuits.iter().map(|n| f64::from(*n));
        assert_eq!(data.description().x.values, swept.collect::<Vec<_>>());
        for expected in data.curves() {
            let known = |curve: &Curve| curve.name == expected.transport;
            assert!(settings.curves.iter().any(known), "{}", expected.transport);
        }
    }

    #[test]
    fn all_is_as_the_paper_says_but_for_figure_4_with_100_circuits() {
        let found = find("guidelines-fig4").unwrap();
        let (reproduction, campaign) = Reproduction::plan(found, &Setting::default(), "").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let finished = campaign.run(folder.path(), None, &Silent).unwrap();
        let values = reproduction.evaluate(&finished).unwrap();
        let of = |verdict| values.iter().filter(move |value| value.verdict == verdict);
        assert_eq!(of(Verdict::Reproduced).count(), 21);
        let failed: Vec<_> = of(Verdict::NotReproduced).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].x, Some(100.0));
        assert!((1.9..2.0).contains(&failed[0].mean), "{failed:?}");
    }

    #[test]
    fn losses_of_a_joint_connection_are_those_of_the_square_root_law() {
        // With few timeouts: p = 3 / (2 b) / (B RTT)^2 with B RTT = 16.7 segments.
        let joint = lost("one joint connection", 1);
        let law = 0.75 / (1e6 / 12_000.0 * 0.2_f64).powi(2);
        assert!((0.85..1.0).contains(&(joint.probability / law)));
    }

    #[test]
    fn many_connections_lose_often_and_few_segments_bound_how_often() {
        let events = |n| lost("separate connections", n).events;
        assert!(events(2) > events(1) && events(10) > 3.0 * events(1));
        assert!(events(100) < events(10));
        let probability = |n| lost("separate connections", n).probability;
        let steps = Losses.settings().circuits;
        assert!(
            steps
                .windows(2)
                .all(|n| probability(n[0]) < probability(n[1]))
        );
    }
}
