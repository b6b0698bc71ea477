//! Quantiles and the empirical distribution function.

/// Finite values in ascending order, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts `values`; `None` if there are none, or not all of them are finite.
    pub fn new(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some(Self(values))
    }

    /// The values, ascending.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The quantile at level `q`, which is held between 0 and 1.
    ///
    /// This is type 7 of Hyndman and Fan (*Sample Quantiles in Statistical Packages*, The American
    /// Statistician 50, 1996), the default of R and `NumPy`: the values stand at levels
    /// `0, 1/(n-1), …, 1`, and between them the quantile is linear.
    pub fn quantile(&self, q: f64) -> f64 {
        let last = self.0.len() - 1;
        let position = q.clamp(0.0, 1.0) * last as f64;
        let below = (position as usize).min(last);
        let above = (below + 1).min(last);
        let share = position - below as f64;
        self.0[below] + share * (self.0[above] - self.0[below])
    }

    /// The value in the middle.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The share of values that are at most `x`.
    pub fn share_at_most(&self, x: f64) -> f64 {
        self.0.partition_point(|v| *v <= x) as f64 / self.0.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_type_seven() {
        let sorted = Sorted::new(vec![10.0, 1.0, 4.0, 2.0]).unwrap();
        // R: quantile(c(1, 2, 4, 10), c(0, .1, .25, .5, .75, .9, 1), type = 7)
        let expected = [
            (0.0, 1.0),
            (0.1, 1.3),
            (0.25, 1.75),
            (0.5, 3.0),
            (0.75, 5.5),
            (0.9, 8.2),
            (1.0, 10.0),
        ];
        for (q, value) in expected {
            assert!((sorted.quantile(q) - value).abs() < 1e-12, "{q}");
        }
        assert_eq!(sorted.median(), 3.0);
    }

    #[test]
    fn levels_outside_the_unit_interval_are_its_ends() {
        let sorted = Sorted::new(vec![3.0, 5.0]).unwrap();
        assert_eq!((sorted.quantile(-1.0), sorted.quantile(7.0)), (3.0, 5.0));
        assert_eq!(sorted.quantile(f64::INFINITY), 5.0);
    }

    #[test]
    fn quantiles_never_fall_as_the_level_rises() {
        let sorted = Sorted::new(vec![0.1, 0.1, 0.3, 7.0, 7.0, 7.0, 8.5]).unwrap();
        let quantiles: Vec<f64> = (0..=1000)
            .map(|i| sorted.quantile(f64::from(i) / 1000.0))
            .collect();
        assert!(quantiles.is_sorted());
    }

    #[test]
    fn the_distribution_function_counts_ties() {
        let sorted = Sorted::new(vec![1.0, 2.0, 2.0, 3.0]).unwrap();
        let shares = [0.5, 1.0, 2.0, 2.5, 3.0].map(|x| sorted.share_at_most(x));
        assert_eq!(shares, [0.0, 0.25, 0.75, 0.75, 1.0]);
    }

    #[test]
    fn nothing_and_what_is_not_finite_have_no_order() {
        assert_eq!(Sorted::new(vec![]), None);
        assert_eq!(Sorted::new(vec![1.0, f64::NAN]), None);
        assert_eq!(Sorted::new(vec![3.0]).unwrap().median(), 3.0);
    }
}
