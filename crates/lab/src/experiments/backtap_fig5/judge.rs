//! Values with what the paper leads to expect of them.

use hopflow_results::{Value, Verdict};
use hopflow_stats::{Line, Mean};
use hopflow_units::Duration;

use super::ID;
use super::measure::Measured;
use super::model::Window;
use super::plan::{Curve, Plan, Rule};

/// A quantity of every curve at every round-trip time.
struct Quantity {
    name: &'static str,
    unit: &'static str,
    of: fn(&Measured) -> f64,
}

const QUANTITIES: [Quantity; 9] = [
    Quantity::new("rate", "kB/s", |run| run.steady.rate),
    Quantity::new("goodput", "kB/s", |run| run.goodput),
    Quantity::new("backlog", "kB", |run| run.steady.backlog),
    Quantity::new("delay", "ms", |run| run.steady.delay),
    Quantity::new("settling", "s", |run| run.settling),
    Quantity::new("peak-backlog", "kB", |run| run.peak),
    Quantity::new("rate-at-60s", "kB/s", |run| run.minute.rate),
    Quantity::new("backlog-at-60s", "kB", |run| run.minute.backlog),
    Quantity::new("delay-at-60s", "ms", |run| run.minute.delay),
];

impl Quantity {
    const fn new(name: &'static str, unit: &'static str, of: fn(&Measured) -> f64) -> Self {
        Self { name, unit, of }
    }
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Expected {
    paper: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Expected {
    fn within(paper: f64, share: f64) -> Self {
        Self {
            paper,
            low: Some(paper * (1.0 - share)),
            high: Some(paper * (1.0 + share)),
        }
    }

    /// A value beyond a bound by no more than the bound lies from the paper's value has the same
    /// shape.
    fn verdict(&self, value: f64) -> Verdict {
        let beyond = |bound: Option<f64>, sign: f64| {
            let bound = bound?;
            let slack = sign * (bound - self.paper);
            let excess = sign * (value - bound);
            (excess > 0.0).then_some(excess <= slack)
        };
        match beyond(self.low, -1.0).or(beyond(self.high, 1.0)) {
            None => Verdict::Reproduced,
            Some(true) => Verdict::SameShape,
            Some(false) => Verdict::NotReproduced,
        }
    }
}

/// The values of the experiment; `runs` holds the runs of each curve at each round-trip time.
pub(super) fn values(plan: &Plan, runs: &[Vec<Vec<Measured>>]) -> Vec<Value> {
    let mut values = Vec::new();
    for quantity in &QUANTITIES {
        for (curve, by_rtt) in plan.curves.iter().zip(runs) {
            for (&rtt_ms, runs) in plan.rtts_ms.iter().zip(by_rtt) {
                let numbers: Vec<f64> = runs.iter().map(quantity.of).collect();
                let expected = expected(plan, curve, quantity.name, rtt_ms);
                let labels = (quantity.name, quantity.unit, curve);
                values.extend(value(labels, Some(rtt_ms), &numbers, expected));
            }
        }
    }
    for (curve, by_rtt) in plan.curves.iter().zip(runs) {
        let expected = linear(plan, curve);
        let numbers = expected.map_or_else(Vec::new, |_| linearity(plan, by_rtt));
        let labels = ("backlog-linearity", "", curve);
        values.extend(value(labels, None, &numbers, expected));
    }
    values
}

fn value(
    (quantity, unit, curve): (&str, &str, &Curve),
    rtt_ms: Option<u64>,
    numbers: &[f64],
    expected: Option<Expected>,
) -> Option<Value> {
    let mean = Mean::of(numbers)?;
    Some(Value {
        figure: ID.to_owned(),
        quantity: quantity.to_owned(),
        unit: unit.to_owned(),
        transport: curve.label.clone(),
        x: rtt_ms.map(|rtt| rtt as f64),
        n: mean.n as u64,
        mean: mean.mean,
        ci_low: mean.low(),
        ci_high: mean.high(),
        paper: expected.map(|expected| expected.paper),
        band_low: expected.and_then(|expected| expected.low),
        band_high: expected.and_then(|expected| expected.high),
        verdict: expected.map_or(Verdict::NotJudged, |expected| expected.verdict(mean.mean)),
    })
}

/// How well a line over the round-trip time explains the backlog, seed by seed.
fn linearity(plan: &Plan, by_rtt: &[Vec<Measured>]) -> Vec<f64> {
    let seeds = by_rtt.first().map_or(0, Vec::len);
    let of_seed = |seed: usize| {
        let point = |(rtt, runs): (&u64, &Vec<Measured>)| {
            Some((*rtt as f64, runs.get(seed)?.steady.backlog))
        };
        let points: Option<Vec<_>> = plan.rtts_ms.iter().zip(by_rtt).map(point).collect();
        Line::fit(&points?)?.r_squared
    };
    (0..seeds).filter_map(of_seed).collect()
}

fn rules<'a>(
    plan: &'a Plan,
    curve: &'a Curve,
    quantity: &'a str,
) -> impl Iterator<Item = &'a Rule> {
    let concerned = move |band: &&super::plan::Band| {
        band.quantity == quantity && band.curves.contains(&curve.label)
    };
    plan.bands.iter().filter(concerned).map(|band| &band.rule)
}

fn expected(plan: &Plan, curve: &Curve, quantity: &str, rtt_ms: u64) -> Option<Expected> {
    rules(plan, curve, quantity).find_map(|rule| match rule {
        Rule::Window {
            cells,
            increment,
            within,
            near_knee,
        } => {
            let window = Window {
                cells: *cells,
                increment: *increment,
            };
            window_rate(plan, window, rtt_ms, (*within, *near_knee))
        }
        Rule::Level {
            paper,
            within,
            rtts_ms,
        } => rtts_ms
            .contains(&rtt_ms)
            .then(|| Expected::within(*paper, *within)),
        Rule::AtLeast { paper, share } => Some(Expected {
            paper: *paper,
            low: Some(paper * share),
            high: None,
        }),
        Rule::HalfRtt { above_ms } => {
            let half = rtt_ms as f64 / 2.0;
            Some(Expected {
                paper: half,
                low: None,
                high: Some(half + above_ms),
            })
        }
        Rule::Linear { .. } => None,
    })
}

fn linear(plan: &Plan, curve: &Curve) -> Option<Expected> {
    rules(plan, curve, "backlog-linearity").find_map(|rule| match rule {
        Rule::Linear { r_squared } => Some(Expected {
            paper: 1.0,
            low: Some(*r_squared),
            high: None,
        }),
        _ => None,
    })
}

/// The paper's rate, and the band around it for the share that is data.
fn window_rate(
    plan: &Plan,
    window: Window,
    rtt_ms: u64,
    (within, near_knee): (f64, f64),
) -> Option<Expected> {
    let knee = window.knee(plan.bucket).as_millis_f64();
    if (rtt_ms as f64 / knee - 1.0).abs() < near_knee {
        return None;
    }
    let paper = window.paper_rate(plan.bucket, Duration::from_millis(rtt_ms)) / 1e3;
    let data = paper / window.with_sendmes();
    Some(Expected {
        paper,
        ..Expected::within(data, within)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve<'a>(plan: &'a Plan, label: &str) -> &'a Curve {
        plan.curves
            .iter()
            .find(|curve| curve.label == label)
            .unwrap()
    }

    #[test]
    fn a_verdict_tells_inside_from_near_from_far() {
        let level = Expected::within(100.0, 0.25);
        let verdicts = [75.0, 125.0, 126.0, 150.0, 151.0, 49.0].map(|v| level.verdict(v));
        use Verdict::{NotReproduced, Reproduced, SameShape};
        let expected = [
            Reproduced,
            Reproduced,
            SameShape,
            SameShape,
            NotReproduced,
            NotReproduced,
        ];
        assert_eq!(verdicts, expected);
        let least = Expected {
            paper: 1500.0,
            low: Some(1455.0),
            high: None,
        };
        let verdicts = [2000.0, 1455.0, 1410.0, 1409.0].map(|v| least.verdict(v));
        assert_eq!(verdicts, [Reproduced, Reproduced, SameShape, NotReproduced]);
    }

    #[test]
    fn rates_are_not_judged_near_the_knee() {
        let plan = Plan::built_in();
        let judged = |label, rtt| expected(&plan, curve(&plan, label), "rate", rtt);
        assert_eq!(judged("vanilla-circuit-window", 350), None);
        let far = judged("vanilla-circuit-window", 400).unwrap();
        assert!((far.paper - 1280.0).abs() < 1e-9);
        let low = far.low.unwrap();
        assert!((low - 1280.0 / 1.01 * 0.97).abs() < 1e-9);
        assert!(judged("vanilla-stream-window", 150).is_some());
        assert_eq!(judged("vanilla-stream-window+refill-10ms", 50), None);
    }

    #[test]
    fn levels_hold_where_the_paper_names_them() {
        let plan = Plan::built_in();
        let judged = |rtt| expected(&plan, curve(&plan, "vanilla-stream-window"), "backlog", rtt);
        assert_eq!(judged(50).map(|e| e.paper), Some(100.0));
        assert_eq!(judged(100), None);
        assert_eq!(judged(200).map(|e| e.paper), Some(125.0));
    }
}
