//! Sections 5 and 6.2: connections that meet at one slow link. How long its queue is, and what they
//! leave to another application.

use hopflow_results::{Direction, Tables};

use crate::study::{self, MeasuredStudy, study};
use crate::{Curve, Measured};

/// The relay behind the slow link, which its packets leave downwards.
const NEAR: &str = "near";
/// What grows with the number of connections.
const QUEUE: &str = "mean queue";

/// Section 5: n connections against one.
pub(crate) static QUEUES: MeasuredStudy = MeasuredStudy {
    study: study!("guidelines-sec5", &[], "guidelines"),
    measure: |_, run| queues(run),
    summarise: growth,
    page: |page, values| study::document(page, values, |_| false),
};
/// Section 6.2: n circuits against one connection beside the overlay.
pub(crate) static SHARES: MeasuredStudy = MeasuredStudy {
    study: study!("guidelines-sec6", &[], "guidelines"),
    measure: |_, run| shares(run),
    summarise: growth,
    page: |page, values| study::document(page, values, |_| false),
};

/// What waits at the slow link, what it drops, and what gets through.
fn queues(run: &Tables) -> Vec<Measured> {
    let mut queues = run.queues.iter();
    let slow = queues.find(|q| q.name == NEAR && q.direction == Direction::Down);
    let mut report = Vec::new();
    if let Some(slow) = slow {
        let lost = 100.0 * slow.drops as f64 / slow.packets as f64;
        report.push(Measured::new(QUEUE, "packets", slow.mean_packets));
        report.push(Measured::new("packets lost", "%", lost));
    }
    report.push(Measured::new("goodput", "kB/s", run.goodput() / 1e3));
    report
}

/// How the overlay and the connections beside it share the slow link.
fn shares(run: &Tables) -> Vec<Measured> {
    let [overlay, beside] = [run.goodput(), run.cross_goodput()];
    let [circuits, flows] = [run.circuits.len(), run.cross.len()].map(|n| n as f64);
    let share = overlay / (overlay + beside);
    let others = (1.0 - share) * (circuits + flows) / flows;
    vec![
        Measured::new("share of the overlay", "%", 100.0 * share),
        Measured::new("(n + 1) times the other application's share", "", others),
        Measured::new("goodput of all", "kB/s", (overlay + beside) / 1e3),
    ]
}

/// The mean queue with several circuits, by that with one.
fn growth(curve: &Curve<'_>) -> Option<Measured> {
    let [(x, one), several @ ..] = curve.points.as_slice() else {
        return None;
    };
    let case = curve.quantity.strip_prefix(QUEUE)?;
    let sum: f64 = several.iter().map(|(_, value)| value).sum();
    let growth = sum / several.len() as f64 / one;
    let quantity = format!("{QUEUE} of several circuits over that of one{case}");
    (*x == Some(1.0) && growth.is_finite()).then(|| Measured::new(quantity, "", growth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reproduction, Setting};
    use hopflow_results::{Circuit, Class, CrossFlow, Queue};

    fn circuit(goodput: f64) -> Circuit {
        Circuit {
            goodput_bytes_per_s: goodput,
            ..Circuit::idle(0, 1, Class::Bulk)
        }
    }

    fn named(measured: &[Measured], quantity: &str) -> f64 {
        let found = measured.iter().find(|value| value.quantity == quantity);
        found.unwrap().value
    }

    #[test]
    fn equal_connections_leave_the_other_application_its_share() {
        let run = Tables {
            circuits: vec![circuit(100.0); 4],
            cross: vec![CrossFlow {
                flow: 0,
                goodput_bytes_per_s: 100.0,
            }],
            ..Tables::default()
        };
        let measured = shares(&run);
        assert!((named(&measured, "share of the overlay") - 80.0).abs() < 1e-9);
        let other = named(&measured, "(n + 1) times the other application's share");
        assert!((other - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_queue_is_that_of_the_slow_link_downwards() {
        let queue = |name: &str, direction, mean_packets| Queue {
            name: name.to_owned(),
            direction,
            mean_packets,
            mean_bytes: 0.0,
            packets: 200,
            drops: 4,
        };
        let run = Tables {
            queues: vec![
                queue("near", Direction::Up, 1.0),
                queue("near", Direction::Down, 7.0),
                queue("far", Direction::Down, 2.0),
            ],
            ..Tables::default()
        };
        let measured = queues(&run);
        assert!((named(&measured, "mean queue") - 7.0).abs() < 1e-9);
        assert!((named(&measured, "packets lost") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn growth_is_the_mean_over_several_circuits_by_that_of_one() {
        let curve = |quantity, points: &[(f64, f64)]| Curve {
            transport: "pctcp",
            quantity,
            network: 1,
            points: points.iter().map(|(x, mean)| (Some(*x), *mean)).collect(),
        };
        let points = [(1.0, 10.0), (2.0, 11.0), (5.0, 12.0)];
        let found = growth(&curve("mean queue, short", &points)).unwrap();
        assert_eq!(
            found.quantity,
            "mean queue of several circuits over that of one, short"
        );
        assert!((found.value - 1.15).abs() < 1e-9);
        assert_eq!(growth(&curve("goodput, short", &points)), None);
        assert_eq!(growth(&curve("mean queue, short", &points[..1])), None);
    }

    #[test]
    fn plans_are_valid_scenarios() {
        for experiment in [&QUEUES, &SHARES] {
            Reproduction::plan(experiment, &Setting::default(), "").unwrap();
        }
    }
}
