//! Verdicts: how measured values compare with a paper's.

use hopflow_results::{Value, Verdict};

/// Values of the paper that differ by less, relative to the larger, count as equal in a trend.
const DISTINCT: f64 = 0.1;

/// Judges all values of an experiment.
///
/// A value within its band is reproduced. One outside has the same shape if it stands to the other
/// values of its quantity as the paper's does: along its own curve, and against the other
/// transports at the same x, all that the paper tells apart by more than a tenth is in the paper's
/// order. Otherwise it is not reproduced. Where the paper says nothing there is no verdict.
pub(super) fn judge(values: &mut [Value]) {
    let verdicts: Vec<_> = values.iter().map(|value| verdict(value, values)).collect();
    for (value, verdict) in values.iter_mut().zip(verdicts) {
        value.verdict = verdict;
    }
}

fn verdict(value: &Value, all: &[Value]) -> Verdict {
    let (Some(_), Some(low), Some(high)) = (value.paper, value.band_low, value.band_high) else {
        return Verdict::NotJudged;
    };
    if (low..=high).contains(&value.mean) {
        return Verdict::Reproduced;
    }
    let comparable = |other: &&Value| {
        let same = other.figure == value.figure && other.quantity == value.quantity;
        same && (other.transport == value.transport || other.x == value.x)
    };
    let mut others = all.iter().filter(comparable);
    if others.all(|other| same_order(value, other)) {
        Verdict::SameShape
    } else {
        Verdict::NotReproduced
    }
}

/// Whether two values are in the order of the paper's, as far as those differ.
fn same_order(a: &Value, b: &Value) -> bool {
    let (Some(paper_a), Some(paper_b)) = (a.paper, b.paper) else {
        return true;
    };
    let distinct = (paper_a - paper_b).abs() > DISTINCT * paper_a.abs().max(paper_b.abs());
    !distinct || (paper_a < paper_b) == (a.mean < b.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(transport: &str, x: f64, mean: f64, paper: Option<f64>) -> Value {
        Value {
            figure: "figure".to_owned(),
            quantity: "rate".to_owned(),
            unit: String::new(),
            transport: transport.to_owned(),
            x: Some(x),
            n: 1,
            mean,
            ci_low: None,
            ci_high: None,
            paper,
            band_low: paper.map(|paper| paper * 0.95),
            band_high: paper.map(|paper| paper * 1.05),
            verdict: Verdict::NotJudged,
        }
    }

    fn verdicts(mut values: Vec<Value>) -> Vec<Verdict> {
        judge(&mut values);
        values.into_iter().map(|value| value.verdict).collect()
    }

    #[test]
    fn a_value_within_its_band_is_reproduced_and_one_without_a_paper_is_not_judged() {
        let values = vec![
            value("a", 1.0, 104.0, Some(100.0)),
            value("a", 2.0, 7.0, None),
        ];
        assert_eq!(verdicts(values), [Verdict::Reproduced, Verdict::NotJudged]);
    }

    #[test]
    fn a_curve_that_falls_as_the_papers_does_has_the_same_shape() {
        let values = vec![
            value("a", 1.0, 80.0, Some(100.0)),
            value("a", 2.0, 40.0, Some(50.0)),
        ];
        assert_eq!(verdicts(values), [Verdict::SameShape, Verdict::SameShape]);
        let values = vec![
            value("a", 1.0, 40.0, Some(100.0)),
            value("a", 2.0, 80.0, Some(50.0)),
        ];
        assert_eq!(
            verdicts(values),
            [Verdict::NotReproduced, Verdict::NotReproduced]
        );
    }

    #[test]
    fn transports_in_another_order_than_the_papers_are_not_reproduced() {
        let values = vec![
            value("a", 1.0, 130.0, Some(100.0)),
            value("b", 1.0, 120.0, Some(120.0)),
        ];
        assert_eq!(
            verdicts(values),
            [Verdict::NotReproduced, Verdict::Reproduced]
        );
    }
}
