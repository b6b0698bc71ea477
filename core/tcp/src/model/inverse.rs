//! Where a falling function of a probability has a value.

/// Probabilities that are told from 0 and from 1.
const LEAST: f64 = 1e-12;
const MOST: f64 = 1.0 - 1e-12;
/// Steps that bisection alone would need for the interval at hand, and more.
const STEPS: u32 = 100;
/// Change of the logarithm by which the slope is taken.
const SLOPE_STEP: f64 = 1e-6;
/// Relative error of the result.
const PRECISION: f64 = 1e-13;

/// The probability at which `rate`, which falls, is `wanted`; `None` if it is nowhere.
///
/// On logarithms a power law is a line, so that Newton's method finds its way in a few steps; a step
/// that leaves the interval in which the solution is known to lie is replaced by halving that.
pub(super) fn solve(rate: impl Fn(f64) -> f64, wanted: f64) -> Option<f64> {
    if !(rate(MOST) <= wanted && wanted <= rate(LEAST)) {
        return None;
    }
    let excess = |x: f64| libm::log(rate(libm::exp(x)) / wanted);
    let (mut low, mut high) = (libm::log(LEAST), libm::log(MOST));
    let mut x = f64::midpoint(low, high);
    for _ in 0..STEPS {
        let above = excess(x);
        if above > 0.0 {
            low = x;
        } else {
            high = x;
        }
        // Towards zero, where the rate is defined for sure.
        let slope = (above - excess(x - SLOPE_STEP)) / SLOPE_STEP;
        let newton = x - above / slope;
        let next = if low < newton && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        let moved = (next - x).abs();
        x = next;
        if moved <= PRECISION {
            break;
        }
    }
    Some(libm::exp(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_inverted_to_the_last_digits() {
        for p in [1e-9_f64, 1e-3, 0.2, 0.9] {
            let found = solve(|p| 1.0 / (p * p.sqrt()), 1.0 / (p * p.sqrt())).unwrap();
            assert!((found / p - 1.0).abs() < 1e-12, "{found} {p}");
        }
    }

    #[test]
    fn a_function_with_a_kink_and_a_plateau_is_inverted() {
        let rate = |p: f64| if p < 0.1 { 10.0 } else { 1.0 / p };
        assert!((solve(rate, 4.0).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(solve(rate, 11.0), None);
        assert_eq!(solve(rate, 0.5), None);
    }
}
