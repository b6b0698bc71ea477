//! Differences between runs that belong together.

use crate::mean::Mean;

/// How the runs of one thing differ from those of another over the same networks.
///
/// What the runs of a pair have in common cancels out, so the interval is narrower than one from
/// two separate means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDifference {
    /// The mean of the differences `after - before`.
    pub absolute: Mean,
    /// By how many percent `after` is more than `before`; `None` if a value is not above zero.
    pub percent: Option<Percent>,
}

/// A ratio of pairs, as a difference in percent, with its two-sided 95 % confidence interval.
///
/// It is the mean of the logarithms of the ratios, and Student's interval around it, both taken
/// back: the change of a typical network. No end of the interval is below -100 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent {
    /// The difference.
    pub mean: f64,
    /// The ends of the interval; `None` for a single pair.
    pub ends: Option<(f64, f64)>,
    /// Pairs it was taken over, at least one.
    pub n: usize,
}

impl Percent {
    /// From a mean of logarithms of ratios.
    fn of_logarithms(ratio: &Mean) -> Self {
        let percent = |logarithm: f64| 100.0 * libm::expm1(logarithm);
        let ends = ratio.low().zip(ratio.high());
        Self {
            mean: percent(ratio.mean),
            ends: ends.map(|(low, high)| (percent(low), percent(high))),
            n: ratio.n,
        }
    }
}

impl PairedDifference {
    /// The difference `after - before` over pairs.
    ///
    /// `None` as for [`Mean::of`], or if the numbers of runs differ.
    pub fn of(before: &[f64], after: &[f64]) -> Option<Self> {
        if before.len() != after.len() {
            return None;
        }
        let pairs = || before.iter().copied().zip(after.iter().copied());
        let differences: Vec<f64> = pairs().map(|(before, after)| after - before).collect();
        let absolute = Mean::of(&differences)?;
        let positive = pairs().all(|(before, after)| before > 0.0 && after > 0.0);
        let logarithms: Vec<f64> = pairs()
            .map(|(before, after)| libm::log(after / before))
            .collect();
        let ratio = Mean::of(&logarithms).filter(|_| positive);
        Some(Self {
            absolute,
            percent: ratio.as_ref().map(Percent::of_logarithms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairing_removes_what_runs_have_in_common() {
        let before = [10.0, 50.0, 90.0];
        let paired = PairedDifference::of(&before, &[11.0, 51.5, 90.5]).unwrap();
        assert!((paired.absolute.mean - 1.0).abs() < 1e-9);
        let separate = Mean::of(&before).unwrap().half_width.unwrap();
        assert!(paired.absolute.half_width.unwrap() < separate / 10.0);
        assert_eq!(PairedDifference::of(&before, &[11.0, 51.5]), None);
    }

    #[test]
    fn percent_are_those_of_ratios_and_twice_is_as_far_as_half() {
        let percent = |before: &[f64], after: &[f64]| {
            let paired = PairedDifference::of(before, after).unwrap();
            paired.percent.unwrap()
        };
        let same = percent(&[10.0, 30.0], &[11.0, 33.0]);
        assert!((same.mean - 10.0).abs() < 1e-9, "{same:?}");
        let (low, high) = same.ends.unwrap();
        assert!((low - 10.0).abs() < 1e-6 && (high - 10.0).abs() < 1e-6);
        let none = percent(&[10.0, 10.0], &[20.0, 5.0]);
        assert!(none.mean.abs() < 1e-9, "{none:?}");
        assert_eq!(none.n, 2);
        assert_eq!(percent(&[10.0], &[5.0]).ends, None);
    }

    #[test]
    fn no_interval_passes_minus_a_hundred_percent() {
        let before = [10.0, 40.0, 90.0, 20.0];
        let after = [0.1, 39.0, 5.0, 1.0];
        let percent = PairedDifference::of(&before, &after).unwrap().percent;
        let (low, high) = percent.unwrap().ends.unwrap();
        assert!(-100.0 < low && low < high, "{low} {high}");
    }

    #[test]
    fn what_is_not_above_zero_has_no_percent() {
        for (before, after) in [
            ([0.0, 1.0], [1.0, 3.0]),
            ([1.0, 2.0], [0.0, 3.0]),
            ([-1.0, -2.0], [-2.0, -4.0]),
        ] {
            let paired = PairedDifference::of(&before, &after).unwrap();
            assert_eq!(paired.percent, None);
        }
    }
}
