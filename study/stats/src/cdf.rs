//! Empirical distribution functions over several runs.

use crate::{Mean, Survival};

/// One point of a distribution function that was averaged over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// The share of values at or below [`value`](Self::value).
    pub level: f64,
    /// The quantile at this level: mean and interval over the runs.
    pub value: Mean,
}

/// The distribution function of several independent runs, at `levels` equally spaced levels from
/// 0 to 1.
///
/// Each point is the mean over the runs of the runs' quantiles at that level, with a 95 %
/// confidence interval. The interval is *horizontal*: it holds for each quantile by itself, not
/// for the whole curve at once. Runs weigh the same however many values they have, because values
/// within a run depend on each other and runs do not. The function ends before the first level that
/// fewer values of a run [were seen](Survival::quantile) to reach.
///
/// Empty if there are no runs, or nothing was seen to end in one of them; `levels` is at least two.
pub fn cdf_band(runs: &[Survival], levels: usize) -> Vec<CdfPoint> {
    let last = levels.max(2) - 1;
    let point = |step: usize| {
        let level = step as f64 / last as f64;
        let quantiles: Option<Vec<f64>> = runs.iter().map(|run| run.quantile(level)).collect();
        let value = Mean::of(&quantiles?)?;
        Some(CdfPoint { level, value })
    };
    (0..=last).map_while(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lasted;

    fn run(values: &[f64]) -> Survival {
        Survival::of_ended(values.iter().copied()).unwrap()
    }

    #[test]
    fn a_band_averages_quantiles_level_by_level() {
        let band = cdf_band(&[run(&[1.0, 2.0, 3.0]), run(&[3.0, 4.0, 5.0])], 3);
        let means: Vec<(f64, f64)> = band.iter().map(|p| (p.level, p.value.mean)).collect();
        assert_eq!(means, [(0.0, 2.0), (0.5, 3.0), (1.0, 4.0)]);
        assert!(
            band.iter()
                .all(|p| p.value.half_width.is_some_and(|half| half > 0.0))
        );
    }

    #[test]
    fn a_single_run_has_a_curve_without_a_band() {
        let band = cdf_band(&[run(&[1.0, 9.0])], 11);
        assert_eq!(band.len(), 11);
        assert!(band.iter().all(|p| p.value.half_width.is_none()));
    }

    #[test]
    fn curves_rise_and_no_runs_have_none() {
        let band = cdf_band(&[run(&[1.0, 1.0, 8.0]), run(&[0.0, 5.0])], 50);
        assert!(band.is_sorted_by(|a, b| a.value.mean <= b.value.mean));
        assert!(cdf_band(&[], 50).is_empty());
    }

    #[test]
    fn a_curve_ends_where_too_few_of_a_run_ended() {
        let all = run(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let ended = [1.0, 2.0, 3.0, 4.0].map(Lasted::ended);
        for last in [Lasted::never(0.5), Lasted::open(9.0)] {
            let some = Survival::of(ended.into_iter().chain([last]).collect()).unwrap();
            let band = cdf_band(&[all.clone(), some], 11);
            assert_eq!(band.len(), 9);
            assert!(band[8].level <= 0.8 && band[8].value.mean <= 5.0);
        }
        let none = Survival::of(vec![Lasted::never(3.0)]).unwrap();
        assert!(cdf_band(&[all, none], 11).is_empty());
    }
}
