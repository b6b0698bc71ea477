//! Several tests that are judged together.

/// Which of several hypotheses are rejected, so that with probability `1 - level` none of them is
/// rejected wrongly, however they depend on each other.
///
/// `p` has the p-value of each. The rule is Holm's (*A Simple Sequentially Rejective Multiple Test
/// Procedure*, Scandinavian Journal of Statistics 6, 1979). What is not a number is not rejected.
///
/// ```
/// assert_eq!(hopflow_stats::holm(&[0.01, 0.04, 0.03], 0.05), [true, false, false]);
/// ```
pub fn holm(p: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    // What is not a number comes last without a sign, and first with one.
    order.sort_by(|a, b| p[*a].abs().total_cmp(&p[*b].abs()));
    let mut rejected = vec![false; p.len()];
    for (before, place) in order.into_iter().enumerate() {
        let left = (p.len() - before) as f64;
        let is_improbable = p[place] * left <= level;
        if !is_improbable {
            break;
        }
        rejected[place] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_m_must_be_m_times_as_small_and_the_last_not_at_all() {
        assert_eq!(holm(&[0.04], 0.05), [true]);
        assert_eq!(holm(&[0.04, 0.04], 0.05), [false, false]);
        assert_eq!(holm(&[0.024, 0.04], 0.05), [true, true]);
        assert_eq!(
            holm(&[0.9, 0.0, 0.026, 0.02], 0.05),
            [false, true, false, false]
        );
        assert_eq!(holm(&[], 0.05), [] as [bool; 0]);
    }

    #[test]
    fn what_is_not_a_number_is_not_rejected() {
        assert_eq!(holm(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert_eq!(holm(&[-f64::NAN, 0.001], 0.05), [false, true]);
    }
}
