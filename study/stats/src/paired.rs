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
    /// The same in percent of the size of the mean of `before`; `None` if that is zero.
    pub percent: Option<Mean>,
}

impl PairedDifference {
    /// The difference `after - before` over pairs.
    ///
    /// `None` as for [`Mean::of`], or if the numbers of runs differ.
    pub fn of(before: &[f64], after: &[f64]) -> Option<Self> {
        if before.len() != after.len() {
            return None;
        }
        let pairs = before.iter().zip(after);
        let differences: Vec<f64> = pairs.map(|(before, after)| after - before).collect();
        let absolute = Mean::of(&differences)?;
        let whole = Mean::of(before)?.mean.abs();
        let percent = |value: f64| 100.0 * value / whole;
        Some(Self {
            absolute,
            percent: (whole > 0.0).then(|| Mean {
                mean: percent(absolute.mean),
                half_width: absolute.half_width.map(percent),
                n: absolute.n,
            }),
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
    fn percent_are_of_the_mean_before_whatever_its_sign() {
        for (before, after) in [
            ([10.0, 30.0], [11.0, 33.0]),
            ([-30.0, -10.0], [-28.0, -8.0]),
        ] {
            let paired = PairedDifference::of(&before, &after).unwrap();
            let percent = paired.percent.unwrap();
            assert!((percent.mean - 10.0).abs() < 1e-9, "{percent:?}");
            let of_half = 5.0 * paired.absolute.half_width.unwrap();
            assert!((percent.half_width.unwrap() - of_half).abs() < 1e-9);
            assert_eq!(percent.n, 2);
        }
    }

    #[test]
    fn nothing_to_compare_with_has_no_percent() {
        let paired = PairedDifference::of(&[0.0; 2], &[1.0, 3.0]).unwrap();
        assert_eq!((paired.absolute.mean, paired.percent), (2.0, None));
    }
}
