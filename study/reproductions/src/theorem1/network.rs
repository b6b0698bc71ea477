//! Networks of relays with capacities and circuits over them.

use hopflow_random::{Stream, Streams};
use hopflow_stats::FairFlow;
use serde::Deserialize;

/// How the capacities of relays are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Capacities {
    /// All have 1.
    Equal,
    /// Anything between two bounds.
    Uniform([f64; 2]),
    /// Around 1, with this standard deviation of the natural logarithm.
    Lognormal(f64),
}

/// Which relays circuits have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shared {
    /// All, drawn at random.
    #[default]
    All,
    /// One relay, which all circuits take; the others of each circuit are its own, and scaled so
    /// that they leave some circuits less than an equal share.
    One,
}

/// Relays and the circuits over them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Network {
    pub(super) capacities: Vec<f64>,
    pub(super) circuits: Vec<FairFlow>,
}

/// What a network is drawn from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) capacities: Capacities,
    pub(super) shared: Shared,
    pub(super) relays: usize,
    pub(super) path: usize,
    pub(super) circuits: usize,
}

impl Plan {
    /// The network of a seed.
    ///
    /// Networks of one seed that differ in their circuits have the same relays, and those that
    /// differ in their capacities have the same circuits.
    pub(super) fn network(&self, seed: u64) -> Network {
        let streams = Streams::new(seed);
        let mut capacities = streams.stream("theorem1 capacities", 0);
        match self.shared {
            Shared::All => {
                let mut paths = streams.stream("theorem1 paths", self.circuits as u64);
                let circuit = |_| over(distinct(self.path, self.relays, &mut paths));
                Network {
                    capacities: (0..self.relays)
                        .map(|_| self.capacities.draw(&mut capacities))
                        .collect(),
                    circuits: (0..self.circuits).map(circuit).collect(),
                }
            }
            Shared::One => self.star(&mut capacities),
        }
    }

    /// Circuits that share relay 0 only.
    fn star(&self, stream: &mut Stream) -> Network {
        let own = self.path - 1;
        let mut capacities = vec![self.capacities.draw(stream)];
        // An own relay has between a fifth and four times what one circuit's share may be.
        let scale = 4.0 / self.circuits as f64;
        let private = (0..own * self.circuits).map(|_| scale * self.capacities.draw(stream));
        capacities.extend(private);
        let circuit = |n: usize| {
            let first = 1 + n * own;
            over(std::iter::once(0).chain(first..first + own).collect())
        };
        Network {
            capacities,
            circuits: (0..self.circuits).map(circuit).collect(),
        }
    }
}

impl Capacities {
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Equal => 1.0,
            Self::Uniform([low, high]) => low + (high - low) * stream.unit(),
            Self::Lognormal(sigma) => libm::exp(sigma * normal(stream)),
        }
    }
}

/// A number of the standard normal distribution.
///
/// Marsaglia and Bray, *A Convenient Method for Generating Normal Variables*, SIAM Review 6(3),
/// 1964; the second number of each pair is not used.
fn normal(stream: &mut Stream) -> f64 {
    loop {
        let (u, v) = (2.0 * stream.unit() - 1.0, 2.0 * stream.unit() - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            return u * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

/// So many different numbers below `end`.
fn distinct(count: usize, end: usize, stream: &mut Stream) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count {
        let next = stream.integer(0, end as u64 - 1) as usize;
        if !chosen.contains(&next) {
            chosen.push(next);
        }
    }
    chosen
}

/// A circuit that takes what it gets.
fn over(links: Vec<usize>) -> FairFlow {
    FairFlow {
        links,
        demand: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(capacities: Capacities, shared: Shared) -> Plan {
        Plan {
            capacities,
            shared,
            relays: 50,
            path: 3,
            circuits: 200,
        }
    }

    #[test]
    fn a_seed_has_the_same_circuits_whatever_the_capacities() {
        let equal = plan(Capacities::Equal, Shared::All).network(3);
        let other = plan(Capacities::Lognormal(1.0), Shared::All).network(3);
        assert_eq!(equal.circuits, other.circuits);
        assert_ne!(equal.capacities, other.capacities);
        for circuit in &equal.circuits {
            let [a, b, c] = circuit.links[..] else {
                panic!("a path of three relays")
            };
            assert!(a != b && b != c && a != c && a.max(b).max(c) < 50);
        }
    }

    #[test]
    fn circuits_of_a_star_share_one_relay_only() {
        let star = plan(Capacities::Uniform([0.2, 1.0]), Shared::One).network(1);
        let mut used = vec![0; star.capacities.len()];
        for link in star.circuits.iter().flat_map(|circuit| &circuit.links) {
            used[*link] += 1;
        }
        assert_eq!(used[0], 200);
        assert!(used[1..].iter().all(|count| *count == 1));
    }

    #[test]
    fn normal_numbers_have_the_moments_of_their_distribution() {
        let mut stream = Streams::new(1).stream("normal", 0);
        let numbers: Vec<f64> = (0..20_000).map(|_| normal(&mut stream)).collect();
        let moment = |power: i32| -> f64 {
            let powers = numbers.iter().map(|number| number.powi(power));
            powers.sum::<f64>() / numbers.len() as f64
        };
        let moments = [moment(1), moment(2), moment(4)];
        for (found, expected) in moments.into_iter().zip([0.0, 1.0, 3.0]) {
            assert!((found - expected).abs() < 0.15, "{moments:?}");
        }
    }
}
