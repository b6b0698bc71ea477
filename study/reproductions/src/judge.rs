//! Verdicts: whether what was measured is what a paper says, as far as the intervals tell.
//!
//! `docs/reproductions.md` states the rules for readers.

use hopflow_results::{Value, Verdict};
use hopflow_stats::{holm, student_t_cdf, student_t_quantile};

/// The largest number of runs that an undecided value asks for.
const MOST: u64 = 100;
/// The probability that one end or the other of a 95 % interval is on the wrong side, and that any
/// claim of a family is wrongly said to hold, or wrongly said not to.
const LEVEL: f64 = 0.025;
/// A difference of less than so many percent is none: a claim that there is one is that there is one
/// of at least so much.
const NOTHING: f64 = 1.0;

/// Judges all values of an experiment, and all claims together.
///
/// A value is reproduced if its whole 95 % interval lies in its band, not reproduced if all of it
/// lies outside, and undecided if it lies across an end of the band or there is none. A claim is a
/// value whose band says in which direction two things differ, or how little; the claims are a
/// family ([`holm`]). A claim without a band or without an interval is undecided, and one of the family.
pub fn judge(values: &mut [Value]) {
    for value in values.iter_mut() {
        value.verdict = in_band(value);
    }
    judge_claims(values);
    for value in values {
        let undecided = value.verdict == Verdict::Undecided;
        value.wanted = undecided.then(|| wanted(value)).flatten();
    }
}

fn in_band(value: &Value) -> Verdict {
    if value.band_low.is_none() && value.band_high.is_none() && !value.is_claim() {
        return Verdict::NotJudged;
    }
    let Some((low, high)) = value.ci_low.zip(value.ci_high) else {
        return Verdict::Undecided;
    };
    let [lowest, highest] = ends(value);
    if lowest <= low && high <= highest {
        Verdict::Reproduced
    } else if high < lowest || highest < low {
        Verdict::NotReproduced
    } else {
        Verdict::Undecided
    }
}

/// The ends of the band; infinite where it has none.
fn ends(value: &Value) -> [f64; 2] {
    [
        value.band_low.unwrap_or(f64::NEG_INFINITY),
        value.band_high.unwrap_or(f64::INFINITY),
    ]
}

/// Judges the claims among the values as one family: with a probability of 95 % none of them is
/// said to hold and does not, or is said not to hold and does. Both are told at the same end, so that
/// no claim can be both.
fn judge_claims(values: &mut [Value]) {
    let claims = values.iter_mut().filter(|value| value.is_claim());
    let mut claims: Vec<&mut Value> = claims.collect();
    let evidence: Vec<_> = claims.iter().map(|value| Evidence::of(value)).collect();
    let p = |of: fn(&Evidence) -> f64| -> Vec<f64> {
        let p = evidence.iter();
        p.map(|evidence| evidence.as_ref().map_or(1.0, of))
            .collect()
    };
    let holds = holm(&p(|evidence| evidence.holds), LEVEL);
    let fails = holm(&p(|evidence| evidence.fails), LEVEL);
    for (claim, (holds, fails)) in claims.iter_mut().zip(holds.into_iter().zip(fails)) {
        claim.verdict = match (holds, fails) {
            (true, _) => Verdict::Reproduced,
            (false, true) => Verdict::NotReproduced,
            (false, false) => Verdict::Undecided,
        };
    }
}

/// How improbable what was measured of a claim is.
struct Evidence {
    /// If the claim did not hold.
    holds: f64,
    /// If it did.
    fails: f64,
}

impl Evidence {
    /// `None` without an interval or without a band.
    fn of(claim: &Value) -> Option<Self> {
        let scale = Scale::of(claim);
        let estimate = scale.estimate(claim)?;
        let below = |end: f64| estimate.probability_below(scale.at(end));
        let above = |end: f64| 1.0 - below(end);
        Some(match scale.ends_of_claim(claim) {
            // Probabilities that the true difference lies there, which are p-values of its not
            // lying on the other side.
            (Some(low), Some(high)) => Self {
                holds: below(low).max(above(high)),
                fails: 2.0 * above(low).min(below(high)),
            },
            (Some(low), None) => {
                // What is the same on all networks is not higher.
                let higher = estimate.probability_above(scale.at(low));
                Self {
                    holds: 1.0 - higher,
                    fails: higher,
                }
            }
            (None, Some(high)) => Self {
                holds: above(high),
                fails: below(high),
            },
            (None, None) => return None,
        })
    }
}

/// On which scale the interval is symmetric.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Plain,
    /// Differences in percent are intervals of logarithms of ratios.
    Ratio,
}

/// A mean on its scale.
#[derive(Clone, Copy)]
struct Estimate {
    mean: f64,
    /// Standard deviation of a single run.
    deviation: f64,
    runs: u64,
}

impl Scale {
    fn of(value: &Value) -> Self {
        if value.is_claim() && value.unit == "%" {
            Self::Ratio
        } else {
            Self::Plain
        }
    }

    /// Where a claim begins to hold: a claim that there is a difference, at the least that counts as
    /// one. An end that leaves room for a difference is meant as it is, and so is zero where the
    /// quantity has no ratios.
    fn ends_of_claim(self, claim: &Value) -> (Option<f64>, Option<f64>) {
        match (claim.band_low, claim.band_high) {
            (Some(0.0), None) if self == Self::Ratio => (Some(NOTHING), None),
            (None, Some(0.0)) if self == Self::Ratio => (None, Some(-NOTHING)),
            ends => ends,
        }
    }

    fn at(self, number: f64) -> f64 {
        match self {
            Self::Plain => number,
            Self::Ratio => libm::log1p(number / 100.0),
        }
    }

    /// `None` without an interval.
    fn estimate(self, value: &Value) -> Option<Estimate> {
        let (low, high) = value.ci_low.zip(value.ci_high)?;
        let mean = self.at(value.mean);
        let half = (self.at(high) - self.at(low)) / 2.0;
        let factor = match value.n {
            // What is computed has an interval without width.
            0 | 1 => (half == 0.0).then_some(1.0)?,
            n => student_t_quantile(1.0 - LEVEL, n - 1)?,
        };
        Some(Estimate {
            mean,
            deviation: half / factor * (value.n as f64).sqrt(),
            runs: value.n,
        })
    }
}

impl Estimate {
    /// How probable it is that the true value is below `end`.
    fn probability_below(&self, end: f64) -> f64 {
        let distance = end - self.mean;
        let error = self.deviation / (self.runs as f64).sqrt();
        if error <= 0.0 || !distance.is_finite() {
            return if distance > 0.0 { 1.0 } else { 0.0 };
        }
        student_t_cdf(distance / error, self.runs.max(2) - 1).unwrap_or(0.5)
    }

    /// How probable it is that the true value is above `end`.
    fn probability_above(&self, end: f64) -> f64 {
        let mirrored = Self {
            mean: -self.mean,
            ..*self
        };
        mirrored.probability_below(-end)
    }

    /// Runs that make half the interval as wide as `distance`.
    fn runs_for(&self, distance: f64) -> Option<u64> {
        let half = |runs: u64| {
            let factor = student_t_quantile(1.0 - LEVEL, runs - 1)?;
            Some(factor * self.deviation / (runs as f64).sqrt())
        };
        (self.runs + 1..=MOST).find(|runs| half(*runs).is_some_and(|half| half <= distance))
    }
}

/// About how many runs would decide an undecided value, at most [`MOST`]. The rule for families
/// may want some more.
fn wanted(value: &Value) -> Option<u64> {
    let scale = Scale::of(value);
    let estimate = scale.estimate(value).filter(|estimate| estimate.runs > 1)?;
    let (low, high) = if value.is_claim() {
        scale.ends_of_claim(value)
    } else {
        (value.band_low, value.band_high)
    };
    let distance = |end: f64| (scale.at(end) - estimate.mean).abs();
    let reach = low.into_iter().chain(high).map(distance).reduce(f64::min)?;
    estimate.runs_for(reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(n: u64, ci: Option<[f64; 2]>, band: [Option<f64>; 2]) -> Value {
        let mean = ci.map_or(104.0, |[low, high]| f64::midpoint(low, high));
        Value {
            figure: "figure".to_owned(),
            quantity: "rate".to_owned(),
            unit: "kB/s".to_owned(),
            transport: "a".to_owned(),
            x: None,
            n,
            mean,
            ci_low: ci.map(|[low, _]| low),
            ci_high: ci.map(|[_, high]| high),
            paper: Some(100.0),
            band_low: band[0],
            band_high: band[1],
            verdict: Verdict::NotJudged,
            wanted: None,
        }
    }

    fn judged(value: Value) -> Value {
        let mut values = [value];
        judge(&mut values);
        let [value] = values;
        value
    }

    /// A claim that something is lower, which was measured with an interval in percent.
    fn claim(n: u64, ci: [f64; 2]) -> Value {
        let logarithms = ci.map(|end| libm::log1p(end / 100.0));
        let mean = 100.0 * libm::expm1(f64::midpoint(logarithms[0], logarithms[1]));
        Value {
            quantity: "rate: difference".to_owned(),
            unit: "%".to_owned(),
            transport: "a vs b".to_owned(),
            mean,
            paper: None,
            ..value(n, Some(ci), [None, Some(0.0)])
        }
    }

    #[test]
    fn the_whole_interval_must_lie_in_the_band_or_outside() {
        let band = [Some(95.0), Some(105.0)];
        let verdict = |ci| judged(value(10, Some(ci), band)).verdict;
        assert_eq!(verdict([96.0, 104.0]), Verdict::Reproduced);
        assert_eq!(verdict([94.0, 96.0]), Verdict::Undecided);
        assert_eq!(verdict([104.0, 106.0]), Verdict::Undecided);
        assert_eq!(verdict([90.0, 110.0]), Verdict::Undecided);
        assert_eq!(verdict([105.1, 106.0]), Verdict::NotReproduced);
        assert_eq!(verdict([80.0, 94.0]), Verdict::NotReproduced);
        let open = judged(value(10, Some([96.0, 104.0]), [None, None]));
        assert_eq!(open.verdict, Verdict::NotJudged);
    }

    #[test]
    fn one_run_decides_nothing_and_what_is_computed_is_exact() {
        let band = [Some(95.0), Some(105.0)];
        let one = judged(value(1, None, band));
        assert_eq!((one.verdict, one.wanted), (Verdict::Undecided, None));
        let exact = judged(value(1, Some([104.0, 104.0]), band));
        assert_eq!(exact.verdict, Verdict::Reproduced);
    }

    #[test]
    fn what_is_undecided_says_how_many_runs_would_do_up_to_a_limit() {
        let band = [Some(95.0), Some(105.0)];
        // Half the interval is 4 and must be 1: some sixteen times as many runs.
        let wide = judged(value(5, Some([100.0, 108.0]), band));
        assert!((30..=60).contains(&wide.wanted.unwrap()), "{wide:?}");
        let close = judged(value(5, Some([100.9, 109.0]), band));
        assert_eq!((close.verdict, close.wanted), (Verdict::Undecided, None));
        let decided = judged(value(5, Some([100.0, 104.0]), band));
        assert_eq!(decided.wanted, None);
    }

    #[test]
    fn a_claim_holds_fails_or_is_open() {
        assert_eq!(
            judged(claim(10, [-20.0, -3.0])).verdict,
            Verdict::Reproduced
        );
        assert_eq!(
            judged(claim(10, [2.0, 9.0])).verdict,
            Verdict::NotReproduced
        );
        // No difference that matters is no difference.
        assert_eq!(
            judged(claim(10, [-0.4, 0.5])).verdict,
            Verdict::NotReproduced
        );
        // Nor is what is the same on all networks lower, or higher.
        let same = claim(10, [0.0, 0.0]);
        let higher = Value {
            band_low: Some(0.0),
            band_high: None,
            ..same.clone()
        };
        for claim in [same, higher] {
            let without_ratios = Value {
                unit: "kB/s".to_owned(),
                ..claim.clone()
            };
            assert_eq!(judged(claim).verdict, Verdict::NotReproduced);
            assert_eq!(judged(without_ratios).verdict, Verdict::NotReproduced);
        }
        let open = judged(claim(10, [-9.0, 2.0]));
        assert_eq!(open.verdict, Verdict::Undecided);
        assert!(open.wanted.is_some_and(|wanted| wanted > 10), "{open:?}");
    }

    #[test]
    fn a_difference_that_is_surely_there_and_surely_none_does_not_hold() {
        let lower = |ci| judged(claim(10, ci)).verdict;
        assert_eq!(lower([-0.7, -0.3]), Verdict::NotReproduced);
        // Surely there, and perhaps less than what counts.
        assert_eq!(lower([-1.6, -0.5]), Verdict::Undecided);
        assert_eq!(lower([-1.6, -1.1]), Verdict::Reproduced);
        let higher = |ci| {
            let [band_low, band_high] = [Some(0.0), None];
            let lower = claim(10, ci);
            let higher = Value {
                band_low,
                band_high,
                ..lower
            };
            judged(higher).verdict
        };
        assert_eq!(higher([0.3, 0.7]), Verdict::NotReproduced);
        assert_eq!(higher([0.5, 1.6]), Verdict::Undecided);
        assert_eq!(higher([1.1, 1.6]), Verdict::Reproduced);
        // Without ratios there is no percentage that counts as none.
        let absolute = Value {
            unit: "kB/s".to_owned(),
            mean: -0.5,
            ..claim(10, [-0.7, -0.3])
        };
        assert_eq!(judged(absolute).verdict, Verdict::Reproduced);
    }

    #[test]
    fn a_claim_of_not_much_less_has_its_end_where_it_says() {
        let not_below = |ci| Value {
            band_low: Some(-2.0),
            band_high: None,
            ..claim(10, ci)
        };
        assert_eq!(judged(not_below([-1.9, 5.0])).verdict, Verdict::Reproduced);
        let less = judged(not_below([-6.0, -2.1]));
        assert_eq!(less.verdict, Verdict::NotReproduced);
        // Between the end and the difference that is none.
        assert_eq!(judged(not_below([-2.4, -1.2])).verdict, Verdict::Undecided);
    }

    #[test]
    fn claims_of_one_file_are_a_family() {
        // Significant alone, and not as one of forty that show nothing.
        let near = claim(10, [-20.0, -1.2]);
        assert_eq!(judged(near.clone()).verdict, Verdict::Reproduced);
        let mut family = vec![near];
        family.resize(41, claim(10, [-9.0, 9.0]));
        judge(&mut family);
        assert_eq!(family[0].verdict, Verdict::Undecided);
        // A value that is no claim does not take part.
        let mut values = vec![claim(10, [-20.0, -1.2])];
        values.resize(
            41,
            value(10, Some([90.0, 110.0]), [Some(95.0), Some(105.0)]),
        );
        judge(&mut values);
        assert_eq!(values[0].verdict, Verdict::Reproduced);
    }

    #[test]
    fn a_claim_of_no_change_must_be_shown_too() {
        let flat = |ci| Value {
            band_low: Some(-25.0),
            band_high: Some(25.0),
            ..claim(10, ci)
        };
        assert_eq!(judged(flat([-9.0, 12.0])).verdict, Verdict::Reproduced);
        assert_eq!(judged(flat([60.0, 90.0])).verdict, Verdict::NotReproduced);
        assert_eq!(judged(flat([10.0, 40.0])).verdict, Verdict::Undecided);
    }
}
