//! How long a switch takes, and what relays carry before and after (Figures 4 to 6).

use std::ops::ControlFlow;

use hopflow_lab::scenario::{Scenario, Transports};
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{LegTraffic, Outcome, World};
use hopflow_units::{Duration, Instant, NodeId};
use rayon::prelude::*;

use crate::{Computation, Computed, Expectations, Experiment, Measured, Method};

/// The transport as its paper describes it, and as ours differs: labels of the scenario.
const ARMS: [&str; 2] = ["switching-as-printed", "switching"];
/// Over what rates are taken before the first switch and after it.
const SPAN: Duration = Duration::from_secs(30);
/// The relays whose rates are compared, as the scenario numbers them.
const RELAYS: [&str; 6] = ["entry1", "middle1", "exit1", "entry2", "middle2", "exit2"];
/// The users whose spare circuit has the same entry.
const SAME_ENTRY: [u32; 2] = [1, 2];
/// The threshold of all figures but Figure 4.
const BETA: f64 = 0.5;

/// What happens when circuits are switched: simulated directly, since results say nothing of the
/// paths that users take.
#[derive(Debug)]
pub(crate) struct Moves;

impl Experiment for Moves {
    fn id(&self) -> &'static str {
        "switching-fig4"
    }

    fn also(&self) -> &'static [&'static str] {
        &["switching-fig5", "switching-fig6"]
    }

    fn data(&self) -> &'static str {
        include_str!("../../experiments/switching-fig4.toml")
    }

    fn scenario(&self) -> &'static str {
        include_str!("../../experiments/switching.scenario.toml")
    }

    fn method(&self) -> Method<'_> {
        Method::Computed(self)
    }
}

impl Computation for Moves {
    fn seeds(&self) -> u32 {
        self.parsed().seeds.list().len() as u32
    }

    fn compute(&self, expectations: &Expectations, seeds: &[u64]) -> Vec<Computed> {
        let scenario = self.parsed();
        let betas = expectations.description().x.values.iter();
        let of_beta = |beta: &f64| {
            let arms = ARMS.into_iter().map(|arm| (arm, *beta));
            arms.flat_map(|arm| seeds.iter().map(move |seed| (arm, *seed)))
                .collect::<Vec<_>>()
        };
        let runs: Vec<((&str, f64), u64)> = betas.flat_map(of_beta).collect();
        let computed = runs.par_iter().map(|((arm, beta), seed)| {
            let run = Run::of(&scenario, arm, *beta, *seed);
            let measured = run.measure(*beta);
            let value = |measured| Computed {
                curve: (*arm).to_owned(),
                seed: *seed,
                measured,
            };
            measured.into_iter().map(value).collect::<Vec<_>>()
        });
        computed.collect::<Vec<_>>().concat()
    }
}

impl Moves {
    fn parsed(&self) -> Scenario {
        Scenario::parse(self.scenario(), self.id()).expect("the scenario is tested")
    }
}

/// A run and its world.
struct Run {
    world: WorldSpec,
    outcome: Outcome,
}

/// A switch of a user's circuit.
struct Move {
    circuit: u32,
    /// When the first cell left the user for the new circuit.
    at: Instant,
    /// Since the last cell for the old one.
    gap: Duration,
    /// The same as the first relay of each circuit saw it; zero if the old circuit was still busy.
    gap_at_entry: Duration,
}

impl Run {
    fn of(scenario: &Scenario, arm: &str, beta: f64, seed: u64) -> Self {
        let world = scenario.sample(seed);
        let mut scenario = scenario.clone();
        let arms = &scenario.transports;
        let mut choice = arms.get(arm).expect("the scenario has the arms").clone();
        let beta = toml::Value::from(beta);
        choice.options.insert("switch-beta".to_owned(), beta);
        scenario.transports = Transports::from_iter([(arm.to_owned(), choice)]);
        let factory = scenario.transport(arm).expect("the threshold is a share");
        let mut running = World::new(&world, factory.as_ref()).expect("the world makes sense");
        running.run(&mut |_| ControlFlow::Continue(()));
        let outcome = running.into_outcome();
        Self { world, outcome }
    }

    fn leg(&self, circuit: u32, leg: u32, hop: u32) -> Option<&LegTraffic> {
        let mut uses = self.outcome.legs.iter();
        uses.find(|used| (used.circuit, used.leg, used.hop) == (circuit, leg, hop))
    }

    fn moves(&self) -> Vec<Move> {
        let of = |circuit| {
            let [old, new] = [0, 1].map(|leg| self.leg(circuit, leg, 0));
            let [old_relay, new_relay] = [0, 1].map(|leg| self.leg(circuit, leg, 1));
            Some(Move {
                circuit,
                at: new?.first,
                gap: new?.first.saturating_since(old?.last),
                gap_at_entry: new_relay?.first.saturating_since(old_relay?.last),
            })
        };
        let circuits = 0..self.outcome.circuits.len() as u32;
        circuits.filter_map(of).collect()
    }

    fn measure(&self, beta: f64) -> Vec<Measured> {
        let moves = self.moves();
        let mut report = vec![Measured::new("circuits switched", "", moves.len() as f64)];
        let mut add = |quantity: &str, chosen: &dyn Fn(&Move) -> Option<Duration>| {
            let times = moves.iter().filter_map(chosen);
            let median = median(times.map(Duration::as_secs_f64).collect());
            report.extend(median.map(|time| Measured::new(quantity, "s", time)));
        };
        add("switch time", &|moved| Some(moved.gap));
        add("switch time at the entry", &|moved| {
            Some(moved.gap_at_entry)
        });
        add("time to the first cell on the new circuit", &|moved| {
            Some(moved.at.saturating_since(Instant::ZERO))
        });
        if beta == BETA {
            let by = |same: bool| {
                move |moved: &Move| {
                    let here = SAME_ENTRY.contains(&moved.circuit) == same;
                    here.then_some(moved.gap)
                }
            };
            add("switch time, by the same entry", &by(true));
            add("switch time, by another entry", &by(false));
            report.extend(self.capacities(&moves));
        }
        for measured in &mut report {
            measured.x = Some(beta);
        }
        report
    }

    /// What relays carry after the first switch less what they carried before it.
    fn capacities(&self, moves: &[Move]) -> Vec<Measured> {
        let Some(at) = moves.iter().map(|moved| moved.at).min() else {
            return Vec::new();
        };
        let before = Instant::ZERO + at.saturating_since(Instant::ZERO).saturating_sub(SPAN);
        // What was queued on the old circuit drains first.
        let after = at + SPAN;
        let carried = |relay: usize, from: Instant, leg_at: Instant| -> f64 {
            let circuits = 0..self.outcome.circuits.len() as u32;
            let through = circuits.filter(|circuit| {
                let left = |moved: &Move| moved.circuit == *circuit && moved.at <= leg_at;
                let leg = usize::from(moves.iter().any(left));
                let paths = self.world.circuits[*circuit as usize].paths();
                let path = paths.into_iter().nth(leg).unwrap_or_default();
                path.contains(&NodeId::new(relay as u32))
            });
            through.map(|circuit| self.rate(circuit, from)).sum()
        };
        let relays = RELAYS.iter().enumerate();
        relays
            .map(|(relay, name)| {
                let gained = carried(relay, after, after) - carried(relay, before, before);
                Measured::new(
                    format!("capacity gained at {name}"),
                    "Mbit/s",
                    gained * 8e-6,
                )
            })
            .collect()
    }

    /// Bytes of a circuit's data that arrived per second in a span.
    fn rate(&self, circuit: u32, from: Instant) -> f64 {
        let samples = self.outcome.samples.iter();
        let mut within = samples.filter(|sample| {
            sample.circuit == circuit && from <= sample.at && sample.at <= from + SPAN
        });
        let (Some(first), Some(last)) = (within.next(), within.next_back()) else {
            return 0.0;
        };
        let bytes = last.delivered.saturating_sub(first.delivered).as_f64();
        bytes / last.at.saturating_since(first.at).as_secs_f64()
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuits_of_the_paper_are_switched_and_take_a_round_trip_for_it() {
        let [printed, ours] = ARMS.map(|arm| Run::of(&Moves.parsed(), arm, BETA, 1).moves());
        assert_eq!(printed.len(), 0);
        let moves = ours;
        assert!(
            !moves.is_empty() && moves.len() < 4,
            "{} moves",
            moves.len()
        );
        for moved in moves {
            assert!(moved.gap < Duration::from_secs(2), "{:?}", moved.gap);
        }
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
