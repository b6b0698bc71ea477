//! Student's t distribution.
//!
//! Its distribution function is a regularised incomplete beta function (NIST DLMF 8.17, Abramowitz
//! and Stegun 26.7.1), which a continued fraction evaluates (DLMF 8.17.22) by the modified Lentz
//! scheme. The quantile is the root of that function, so it exists for every probability and
//! number of degrees of freedom, whereas a table has holes.

/// Terms of the continued fraction at most; it converges within about the square root of the
/// degrees of freedom.
const MAX_TERMS: u32 = 100_000;

/// Beyond these degrees of freedom, quantiles keep to those at this number; at 95 % they differ
/// from the normal distribution's by less than 2e-8.
const MAX_DEGREES: f64 = 1e8;

/// Stands in for a zero denominator in the Lentz scheme.
const TINY: f64 = 1e-300;

/// The probability that a value with Student's t distribution is at most `t`.
///
/// `None` if there are no degrees of freedom or `t` is not a number.
pub fn student_t_cdf(t: f64, degrees_of_freedom: u64) -> Option<f64> {
    if degrees_of_freedom == 0 || t.is_nan() {
        return None;
    }
    let tail = tail(t.abs(), (degrees_of_freedom as f64).min(MAX_DEGREES));
    Some(if t > 0.0 { 1.0 - tail } else { tail })
}

/// The value below which a share `p` of Student's t distribution lies.
///
/// `None` if there are no degrees of freedom or `p` is not strictly between 0 and 1.
///
/// ```
/// // The factor of a two-sided 95 % interval over three runs.
/// let t = hopflow_stats::student_t_quantile(0.975, 2).unwrap();
/// assert!((t - 4.302_652_729_9).abs() < 1e-9);
/// ```
pub fn student_t_quantile(p: f64, degrees_of_freedom: u64) -> Option<f64> {
    if degrees_of_freedom == 0 || !(p > 0.0 && p < 1.0) {
        return None;
    }
    let nu = degrees_of_freedom as f64;
    let t = upper_root(p.min(1.0 - p), nu.min(MAX_DEGREES));
    Some(if p < 0.5 { -t } else { t })
}

/// The `t` of at least zero with a share `q` of at most one half above it.
fn upper_root(q: f64, nu: f64) -> f64 {
    let mut low = 0.0;
    let mut high = 1.0;
    while tail(high, nu) > q {
        low = high;
        high *= 2.0;
    }
    // The tail falls monotonously, so bisection ends between neighbouring floats.
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if tail(middle, nu) > q {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The probability above `t >= 0`: half the regularised incomplete beta function with parameters
/// `nu / 2` and `1 / 2` at `x = nu / (nu + t²)`.
fn tail(t: f64, nu: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    let a = 0.5 * nu;
    let x = nu / (nu + square);
    let y = square / (nu + square);
    // x^a · y^(1/2) / B(a, 1/2), with ln x = -ln(1 + t²/nu) precise where x is close to one.
    let power = -a * libm::log1p(square / nu) - ln_beta_half(a);
    let front = libm::exp(power) * y.sqrt();
    // The fraction converges fast below the mean; above it, that of the mirror image does.
    0.5 * if x < (a + 1.0) / (a + 2.5) {
        front * beta_fraction(x, a, 0.5) / a
    } else {
        1.0 - front * beta_fraction(y, 0.5, a) / 0.5
    }
}

/// The logarithm of the beta function of `a` and 1/2.
fn ln_beta_half(a: f64) -> f64 {
    let ln_gamma_half = 0.5 * libm::log(core::f64::consts::PI);
    // Two large logarithms would cancel; their difference has an expansion (DLMF 5.11.13).
    let difference = if a > 1000.0 {
        0.5 * libm::log(a) - 1.0 / (8.0 * a)
    } else {
        libm::lgamma(a + 0.5) - libm::lgamma(a)
    };
    ln_gamma_half - difference
}

/// The continued fraction of DLMF 8.17.22 with parameters `a` and `b`.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut ratio = 1.0;
    let mut inverse = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = inverse;
    for term in 1..MAX_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            inverse = 1.0 / nonzero(1.0 + coefficient * inverse);
            ratio = nonzero(1.0 + coefficient / ratio);
            fraction *= inverse * ratio;
        }
        if (fraction - before).abs() < f64::EPSILON * fraction.abs() {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64, tolerance: f64) {
        let found = found.unwrap();
        let error = (found / expected - 1.0).abs();
        assert!(error < tolerance, "{found} instead of {expected}");
    }

    #[test]
    fn quantiles_agree_with_published_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, and closed forms.
        let table = [
            (0.975, 1, 12.706_204_736_432_1),
            (0.975, 2, 4.302_652_729_911_3),
            (0.975, 4, 2.776_445_105_197_8),
            (0.975, 9, 2.262_157_162_740_9),
            (0.975, 29, 2.045_229_642_132_7),
            (0.975, 100, 1.983_971_518_523_6),
            (0.95, 5, 2.015_048_372_669_2),
            (0.995, 10, 3.169_272_672_616_9),
            (0.999_5, 3, 12.923_978_636_687_5),
        ];
        for (p, nu, t) in table {
            close(student_t_quantile(p, nu), t, 1e-9);
            close(student_t_quantile(1.0 - p, nu), -t, 1e-9);
        }
    }

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        for t in [0.1, 1.0, 3.0, 1e3] {
            let expected = 0.5 + libm::atan(t) / core::f64::consts::PI;
            close(student_t_cdf(t, 1), expected, 1e-12);
            close(student_t_cdf(-t, 1), 1.0 - expected, 1e-9);
        }
    }

    #[test]
    fn many_degrees_of_freedom_approach_the_normal_distribution() {
        close(
            student_t_quantile(0.975, 1_000_000),
            1.959_966_356_810_1,
            1e-9,
        );
        close(
            student_t_quantile(0.975, u64::MAX),
            1.959_963_984_540_1,
            2e-8,
        );
    }

    #[test]
    fn quantile_and_distribution_function_are_inverse() {
        for nu in [1, 2, 3, 7, 30, 365] {
            for p in [1e-6, 0.01, 0.3, 0.5, 0.77, 0.999] {
                let t = student_t_quantile(p, nu).unwrap();
                close(student_t_cdf(t, nu), p, 1e-9);
            }
        }
    }

    #[test]
    fn what_does_not_exist_is_none() {
        assert_eq!(student_t_quantile(0.975, 0), None);
        for p in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(student_t_quantile(p, 3), None);
        }
        assert_eq!(student_t_cdf(f64::NAN, 3), None);
        assert_eq!(student_t_cdf(f64::INFINITY, 3), Some(1.0));
        assert_eq!(student_t_cdf(f64::NEG_INFINITY, 3), Some(0.0));
    }
}
