//! What a paper claims of two transports, tested on networks that both met.

use hopflow_results::{Value, Verdict};
use hopflow_stats::PairedDifference;

use crate::description::{Claim, Direction};
use crate::observed::Observed;

/// The words between the two transports of a difference.
const VERSUS: &str = " vs ";

/// The names of the two transports, if `value` is the difference of two.
pub(super) fn pair(value: &Value) -> Option<(&str, &str)> {
    value.transport.split_once(VERSUS)
}

/// The differences that the claims are about, each with a verdict.
///
/// A difference is the mean over networks of the first transport's value less the other's on the
/// same network, in percent of the other's mean. A claim is reproduced if the 95 % interval lies
/// on its side of zero, and not reproduced if it does not.
pub(super) fn test(claims: &[Claim], observed: &Observed) -> Vec<Value> {
    let mut values = Vec::new();
    for claim in claims {
        let places: Vec<Option<f64>> = match claim.x.as_slice() {
            [] => vec![None],
            xs => xs.iter().copied().map(Some).collect(),
        };
        for x in places {
            let others = claim.from.iter();
            values.extend(others.filter_map(|other| difference(claim, other, x, observed)));
        }
    }
    values
}

fn difference(claim: &Claim, other: &str, x: Option<f64>, observed: &Observed) -> Option<Value> {
    let (firsts, others) = observed.pairs(&claim.quantity, x, [&claim.first, other]);
    let difference = PairedDifference::of(&others, &firsts)?.percent?;
    let [low, high] = [difference.low(), difference.high()];
    let holds = match claim.is {
        Direction::Lower => high.is_some_and(|high| high < 0.0),
        Direction::Higher => low.is_some_and(|low| low > 0.0),
    };
    Some(Value {
        figure: claim.figure.clone(),
        quantity: format!("{}: difference", claim.quantity),
        unit: "%".to_owned(),
        transport: format!("{}{VERSUS}{other}", claim.first),
        x,
        n: difference.n as u64,
        mean: difference.mean,
        ci_low: low,
        ci_high: high,
        paper: None,
        band_low: None,
        band_high: None,
        verdict: if holds {
            Verdict::Reproduced
        } else {
            Verdict::NotReproduced
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measured;

    fn claim(is: Direction) -> Claim {
        Claim {
            figure: "figure".to_owned(),
            quantity: "rate".to_owned(),
            x: Vec::new(),
            first: "a".to_owned(),
            from: vec!["b".to_owned()],
            is,
        }
    }

    fn observed(pairs: &[(f64, f64)]) -> Observed {
        let mut observed = Observed::default();
        for (network, (a, b)) in pairs.iter().enumerate() {
            for (transport, value) in [("a", a), ("b", b)] {
                let measured = Measured::new("rate", "kB/s", *value);
                observed.add(transport, network as u64, None, measured);
            }
        }
        observed
    }

    #[test]
    fn a_claim_holds_if_the_interval_of_the_paired_difference_lies_on_its_side() {
        let clear = observed(&[(11.0, 10.0), (22.0, 20.0), (33.0, 30.0)]);
        let higher = &test(&[claim(Direction::Higher)], &clear)[0];
        assert!((higher.mean - 10.0).abs() < 1e-9, "{}", higher.mean);
        assert_eq!(pair(higher), Some(("a", "b")));
        let noisy = observed(&[(11.0, 10.0), (18.0, 20.0), (41.0, 40.0)]);
        assert_eq!(
            test(&[claim(Direction::Higher)], &noisy)[0].verdict,
            Verdict::NotReproduced
        );
        let steady = observed(&[(11.0, 10.0), (11.0, 10.1), (11.0, 9.9)]);
        assert_eq!(
            test(&[claim(Direction::Higher)], &steady)[0].verdict,
            Verdict::Reproduced
        );
        assert_eq!(
            test(&[claim(Direction::Lower)], &steady)[0].verdict,
            Verdict::NotReproduced
        );
    }

    #[test]
    fn networks_that_only_one_transport_met_do_not_count() {
        let mut observed = observed(&[(11.0, 10.0), (11.0, 10.1), (11.0, 9.9)]);
        observed.add("a", 9, None, Measured::new("rate", "kB/s", 1e6));
        assert_eq!(test(&[claim(Direction::Higher)], &observed)[0].n, 3);
    }
}
