//! Linear regression.

use crate::mean::mean;

/// A line fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Change of y per unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// The share of the variance of y that the line explains; `None` if y does not vary.
    pub r_squared: Option<f64>,
    /// Points it was fitted to.
    pub n: usize,
}

impl Line {
    /// Fits a line to points `(x, y)`.
    ///
    /// The sums run over deviations from the means, which keeps them accurate for points far from
    /// the origin. `None` for fewer than two points, points that all share one x, or coordinates
    /// that are not finite.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let xs: Vec<f64> = points.iter().map(|p| p.0).collect();
        let ys: Vec<f64> = points.iter().map(|p| p.1).collect();
        let (x_mean, y_mean) = (mean(&xs)?, mean(&ys)?);
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (x, y) in points {
            let (dx, dy) = (x - x_mean, y - y_mean);
            xx += dx * dx;
            xy += dx * dy;
            yy += dy * dy;
        }
        let slope = xy / xx;
        if xx <= 0.0 || !slope.is_finite() {
            return None;
        }
        Some(Self {
            slope,
            intercept: y_mean - slope * x_mean,
            r_squared: (yy > 0.0).then(|| (slope * xy / yy).clamp(0.0, 1.0)),
            n: points.len(),
        })
    }

    /// The line's y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_are_fitted_exactly() {
        let points: Vec<(f64, f64)> = (0..10)
            .map(|i| (f64::from(i), 3.0 - 2.0 * f64::from(i)))
            .collect();
        let line = Line::fit(&points).unwrap();
        assert!((line.slope + 2.0).abs() < 1e-12 && (line.intercept - 3.0).abs() < 1e-12);
        assert!((line.r_squared.unwrap() - 1.0).abs() < 1e-12);
        assert!((line.at(20.0) + 37.0).abs() < 1e-12);
    }

    #[test]
    fn a_fit_agrees_with_published_values() {
        // Anscombe's first quartet (1973): slope 0.5001, intercept 3.0001, R² 0.6665.
        let xs = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let ys = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let points: Vec<(f64, f64)> = xs.into_iter().zip(ys).collect();
        let line = Line::fit(&points).unwrap();
        assert!((line.slope - 0.500_090_909).abs() < 1e-9);
        assert!((line.intercept - 3.000_090_909).abs() < 1e-9);
        assert!((line.r_squared.unwrap() - 0.666_542_460).abs() < 1e-8);
    }

    #[test]
    fn points_far_from_the_origin_keep_their_slope() {
        let far = 1e9;
        let points = [(far, far), (far + 1.0, far + 2.0), (far + 2.0, far + 4.0)];
        assert!((Line::fit(&points).unwrap().slope - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_no_line_fits_is_none() {
        assert_eq!(Line::fit(&[]), None);
        assert_eq!(Line::fit(&[(1.0, 1.0)]), None);
        assert_eq!(Line::fit(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Line::fit(&[(1.0, f64::NAN), (2.0, 2.0)]), None);
    }

    #[test]
    fn a_level_line_explains_no_variance() {
        let line = Line::fit(&[(1.0, 4.0), (2.0, 4.0)]).unwrap();
        assert_eq!(
            (line.slope, line.intercept, line.r_squared),
            (0.0, 4.0, None)
        );
    }
}
