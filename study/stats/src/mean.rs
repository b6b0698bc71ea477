//! Means and their confidence intervals.

use crate::student::student_t_quantile;

/// The probability below the upper end of a two-sided 95 % interval.
const UPPER: f64 = 0.975;

/// A mean over independent runs with its two-sided 95 % confidence interval.
///
/// The interval is Student's: `mean ± t(0.975, n - 1) · s / √n`, with `s` the sample standard
/// deviation. It holds for values that are about normal, as means over a run are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The arithmetic mean.
    pub mean: f64,
    /// Values it was taken over, at least one.
    pub n: usize,
    /// Half the width of the interval; `None` for a single value.
    pub half_width: Option<f64>,
}

impl Mean {
    /// The mean of `values`; `None` if there are none, or not all of them are finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let n = values.len();
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let half_width = (n > 1).then(|| {
            let error = (squares / (n - 1) as f64 / n as f64).sqrt();
            let t = student_t_quantile(UPPER, n as u64 - 1).expect("n - 1 is at least one");
            t * error
        });
        Some(Self {
            mean,
            n,
            half_width,
        })
    }

    /// The lower end of the interval.
    pub fn low(&self) -> Option<f64> {
        self.half_width.map(|half| self.mean - half)
    }

    /// The upper end of the interval.
    pub fn high(&self) -> Option<f64> {
        self.half_width.map(|half| self.mean + half)
    }

    /// Whether `value` lies within the interval; `None` if there is none.
    pub fn covers(&self, value: f64) -> Option<bool> {
        self.half_width
            .map(|half| (value - self.mean).abs() <= half)
    }
}

/// The plain mean; `None` for no values or values that are not finite.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let first = values.iter().sum::<f64>() / n;
    // A second pass takes off the rounding of the first.
    let rest = values.iter().map(|v| v - first).sum::<f64>() / n;
    let mean = first + rest;
    mean.is_finite().then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{found} {expected}"
        );
    }

    #[test]
    fn an_interval_agrees_with_a_worked_example() {
        // s = 2.138089935, n = 8, t(0.975, 7) = 2.364624252.
        let found = Mean::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        close(found.mean, 5.0);
        close(found.half_width.unwrap(), 1.787_487_917_0);
        close(found.low().unwrap() + found.high().unwrap(), 10.0);
        assert_eq!(found.covers(6.7), Some(true));
        assert_eq!(found.covers(3.2), Some(false));
    }

    #[test]
    fn a_single_value_has_no_interval_and_nothing_has_no_mean() {
        let single = Mean::of(&[3.0]).unwrap();
        assert_eq!((single.mean, single.n, single.half_width), (3.0, 1, None));
        assert_eq!(
            (single.low(), single.high(), single.covers(3.0)),
            (None, None, None)
        );
        assert_eq!(Mean::of(&[]), None);
    }

    #[test]
    fn values_that_are_not_finite_have_no_mean() {
        assert_eq!(Mean::of(&[1.0, f64::NAN]), None);
        assert_eq!(Mean::of(&[1.0, f64::INFINITY]), None);
        assert_eq!(Mean::of(&[f64::MAX, f64::MAX]), None);
    }

    #[test]
    fn a_large_offset_does_not_swallow_the_spread() {
        let offset = 1e9;
        let found = Mean::of(&[offset + 4.0, offset + 7.0, offset + 13.0, offset + 16.0]).unwrap();
        close(found.mean, offset + 10.0);
        let plain = Mean::of(&[4.0, 7.0, 13.0, 16.0]).unwrap();
        close(found.half_width.unwrap(), plain.half_width.unwrap());
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        assert_eq!(Mean::of(&[0.1; 7]).unwrap().half_width.unwrap(), 0.0);
    }
}
