//! The trade-off front: points that no other point beats.

use super::metric::{Better, Metric};

/// Whether each point is on the front of some metrics: none other is at least as good in all of
/// them and better in one.
///
/// A point without a value of one of the metrics is not on it, and beats nothing.
pub(super) fn front(metrics: &[Metric], values: &[Vec<Option<f64>>]) -> Vec<bool> {
    let costs: Vec<Option<Vec<f64>>> = values
        .iter()
        .map(|values| metrics.iter().zip(values).map(cost).collect())
        .collect();
    let beaten = |costs_here: &Vec<f64>| {
        let others = costs.iter().flatten();
        others.into_iter().any(|other| beats(other, costs_here))
    };
    costs
        .iter()
        .map(|costs| costs.as_ref().is_some_and(|costs| !beaten(costs)))
        .collect()
}

/// The value, so that smaller is better.
fn cost((metric, value): (&Metric, &Option<f64>)) -> Option<f64> {
    match metric.better() {
        Better::Lower => *value,
        Better::Higher => value.map(|value| -value),
    }
}

fn beats(a: &[f64], b: &[f64]) -> bool {
    let pairs = || a.iter().zip(b);
    pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: [Metric; 2] = [Metric::Goodput, Metric::Latency];

    fn on_front(values: &[(f64, f64)]) -> Vec<bool> {
        let values: Vec<_> = values
            .iter()
            .map(|(goodput, latency)| vec![Some(*goodput), Some(*latency)])
            .collect();
        front(&METRICS, &values)
    }

    #[test]
    fn more_goodput_at_the_same_latency_beats() {
        let found = on_front(&[
            (3.0, 10.0),
            (4.0, 10.0),
            (5.0, 20.0),
            (1.0, 9.0),
            (1.0, 21.0),
        ]);
        assert_eq!(found, [false, true, true, true, false]);
    }

    #[test]
    fn points_that_are_alike_do_not_beat_each_other() {
        assert_eq!(on_front(&[(3.0, 10.0), (3.0, 10.0)]), [true, true]);
    }

    #[test]
    fn a_point_without_a_value_is_not_on_the_front_and_beats_nothing() {
        let values = [vec![Some(9.0), None], vec![Some(1.0), Some(5.0)]];
        assert_eq!(front(&METRICS, &values), [false, true]);
    }
}
