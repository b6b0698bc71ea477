//! Times of which some are known only to be longer than what was seen of them.

use std::cmp::Ordering;

/// A time that was seen to its end, or as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lasted {
    /// How long it lasted, or has lasted at least.
    pub time: f64,
    /// What is known of its end.
    pub end: End,
}

/// What is known of the end of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was seen.
    Seen,
    /// It was not seen; that it was not has nothing to do with how long the time is.
    Unseen,
    /// There is none, and will be none.
    Never,
}

impl Lasted {
    /// A time that was seen to its end.
    pub const fn ended(time: f64) -> Self {
        let end = End::Seen;
        Self { time, end }
    }

    /// A time that was not.
    pub const fn open(time: f64) -> Self {
        let end = End::Unseen;
        Self { time, end }
    }

    /// A time that has no end. It is longer than all others; where a number is needed, it counts as
    /// `time` at least.
    pub const fn never(time: f64) -> Self {
        let end = End::Never;
        Self { time, end }
    }

    /// By time. Of equal times those that ended come first, because the others lasted longer; what
    /// never ends comes last of all.
    fn order(&self, other: &Self) -> Ordering {
        let [a, b] = [self, other].map(|lasted| match lasted.end {
            End::Seen => (lasted.time, 0),
            End::Unseen => (lasted.time, 1),
            End::Never => (f64::INFINITY, 2),
        });
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    }
}

/// The distribution of times by the estimate of Kaplan and Meier (*Nonparametric estimation from
/// incomplete observations*, JASA 53, 1958).
///
/// A time whose end was not seen counts as long as it was seen, and then as those that lasted
/// longer. A time that has no end counts as longer than all that was seen, whenever it was given up:
/// counted as the first kind, what breaks off would be taken for what would have ended in time. If all
/// ends were seen, quantiles are those of [`Sorted`](crate::Sorted).
#[derive(Clone, Debug, PartialEq)]
pub struct Survival {
    /// Ends that were seen, rising, each with the share of times that ended before.
    ends: Vec<(f64, f64)>,
    /// The share of times that lasted longer than the last end.
    rest: f64,
    /// The largest level at which there is a time, if none is cut off between two ends.
    scale: f64,
    longest: f64,
}

impl Survival {
    /// The distribution of `times`; `None` if there are none, or not all of them are finite.
    pub fn of(mut times: Vec<Lasted>) -> Option<Self> {
        if times.is_empty() || times.iter().any(|lasted| !lasted.time.is_finite()) {
            return None;
        }
        times.sort_by(Lasted::order);
        let longest = times
            .iter()
            .map(|lasted| lasted.time)
            .fold(f64::MIN, f64::max);
        let count = times.len();
        let mut ends: Vec<(f64, f64)> = Vec::new();
        let mut rest = 1.0;
        // What was cut off before the first end has no weight.
        let mut with_weight = count;
        for (before, lasted) in times.iter().enumerate() {
            if lasted.end == End::Seen {
                let left = count - before;
                if ends.is_empty() {
                    with_weight = left;
                }
                ends.push((lasted.time, 1.0 - rest));
                rest *= 1.0 - 1.0 / left as f64;
            }
        }
        let scale = 1.0 - 1.0 / with_weight as f64;
        Some(Self {
            ends,
            rest,
            scale,
            longest,
        })
    }

    /// The distribution of times that were all seen to their ends; `None` as for [`Survival::of`].
    pub fn of_ended(times: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::of(times.into_iter().map(Lasted::ended).collect())
    }

    /// The time within which a share `level` ended; `None` if fewer were seen to end.
    ///
    /// Levels are those of type 7 of Hyndman and Fan, as in [`Sorted`](crate::Sorted).
    pub fn quantile(&self, level: f64) -> Option<f64> {
        let (last, largest) = *self.ends.last()?;
        let wanted = level.clamp(0.0, 1.0);
        let level = wanted * self.scale;
        if level > largest {
            // Rounding must not hide the last of all ends.
            return (wanted <= 1.0 - self.rest + 1e-12).then_some(last);
        }
        let above = self.ends.partition_point(|(_, before)| *before < level);
        let above = above.min(self.ends.len() - 1);
        let (time, at) = self.ends[above];
        let Some((time_below, below)) = above.checked_sub(1).map(|place| self.ends[place]) else {
            return Some(time);
        };
        let part = ((level - below) / (at - below)).min(1.0);
        Some(time_below + part * (time - time_below))
    }

    /// The time within which a share `level` ended, or the longest of all times if fewer were seen
    /// to end: it is at least that.
    pub fn quantile_or_longest(&self, level: f64) -> f64 {
        self.quantile(level).unwrap_or(self.longest)
    }

    /// The mean of the times, of which what was not seen to end counts as the longest of all: it is
    /// at least that.
    pub fn mean_or_more(&self) -> f64 {
        self.mean_within(self.longest)
    }

    /// The share of times that ended within `time`.
    pub fn share_within(&self, time: f64) -> f64 {
        let within = self.ends.partition_point(|(end, _)| *end <= time);
        self.ends
            .get(within)
            .map_or(1.0 - self.rest, |(_, before)| *before)
    }

    /// The mean of the times, each cut off at `horizon`: what lasted longer counts as `horizon`.
    pub fn mean_within(&self, horizon: f64) -> f64 {
        let mut area = 0.0;
        let mut from = 0.0;
        for (end, before) in &self.ends {
            let end = end.min(horizon);
            area += (1.0 - before) * (end - from);
            from = end;
        }
        area + self.rest * (horizon - from).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sorted;

    const fn ended(time: f64) -> Lasted {
        Lasted::ended(time)
    }

    const fn open(time: f64) -> Lasted {
        Lasted::open(time)
    }

    #[test]
    fn if_all_ended_quantiles_and_mean_are_the_usual_ones() {
        let times = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0];
        let survival = Survival::of(times.map(ended).to_vec()).unwrap();
        let sorted = Sorted::new(times.to_vec()).unwrap();
        for level in [0.0, 0.1, 0.25, 0.5, 0.73, 0.9, 1.0] {
            let found = survival.quantile(level).unwrap();
            assert!((found - sorted.quantile(level)).abs() < 1e-9, "{level}");
        }
        assert!((survival.mean_within(10.0) - 25.0 / 7.0).abs() < 1e-9);
        assert!((survival.share_within(2.0) - 3.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn what_never_ends_is_longer_than_all_that_was_seen() {
        let nine = (1..10).map(|time| ended(f64::from(time)));
        let with = |last| Survival::of(nine.clone().chain([last]).collect()).unwrap();
        // Given up early, it counts as if it had been waited for to the last.
        let (never, open) = (with(Lasted::never(0.5)), with(open(9.5)));
        assert_eq!(never.quantile(0.5), open.quantile(0.5));
        assert_eq!(never.quantile(0.5), Some(5.5));
        assert!((never.share_within(9.0) - 0.9).abs() < 1e-9);
        assert_eq!(
            (never.quantile(1.0), never.quantile_or_longest(1.0)),
            (None, 9.0)
        );
        assert!((never.mean_or_more() - 5.4).abs() < 1e-9);
        // An early one that may have gone on as the others did says nothing.
        let unseen = with(self::open(0.5));
        assert!((unseen.share_within(9.0) - 1.0).abs() < 1e-9);
        let all = Survival::of(vec![Lasted::never(3.0); 2]).unwrap();
        assert_eq!((all.quantile(0.5), all.mean_or_more()), (None, 3.0));
    }

    #[test]
    fn what_was_cut_off_before_the_first_end_changes_nothing() {
        for last in [ended(3.0), open(3.0), Lasted::never(3.0)] {
            let of = |cut: usize| {
                let cut = std::iter::repeat_n(open(0.1), cut);
                Survival::of(cut.chain([ended(1.0), ended(2.0), last]).collect()).unwrap()
            };
            for level in [0.0, 0.1, 0.5, 0.6, 0.9, 1.0] {
                let [with, without] = [of(8), of(0)].map(|times| times.quantile(level));
                match (with, without) {
                    (Some(with), Some(without)) => {
                        assert!((with - without).abs() < 1e-9, "{level}");
                    }
                    _ => assert_eq!(with, without, "{level}"),
                }
            }
        }
        let cut = vec![open(0.1), open(0.1), ended(1.0), ended(3.0)];
        assert_eq!(Survival::of(cut).unwrap().quantile(0.5), Some(2.0));
    }

    #[test]
    fn the_estimate_is_that_of_the_textbook() {
        // Remission times of 6-MP, Freireich et al. (1963): S(6) = 0.857, S(10) = 0.753,
        // S(23) = 0.448; the median is 23.
        let seen = [6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0];
        let unseen = [
            6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0,
        ];
        let times = seen.map(ended).into_iter().chain(unseen.map(open));
        let survival = Survival::of(times.collect()).unwrap();
        for (time, left) in [(6.0, 0.857), (10.0, 0.753), (23.0, 0.448), (40.0, 0.448)] {
            let found = 1.0 - survival.share_within(time);
            assert!((found - left).abs() < 5e-4, "{time}: {found}");
        }
        assert_eq!(survival.quantile(0.6), None);
        assert_eq!(survival.quantile(0.5), Some(23.0));
    }

    #[test]
    fn what_is_not_seen_to_end_lasts_as_long_as_anything() {
        let survival = Survival::of(vec![ended(1.0), open(2.0), open(90.0)]).unwrap();
        assert_eq!(survival.quantile_or_longest(0.9), 90.0);
        assert!((survival.mean_or_more() - (1.0 + 2.0 * 90.0) / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_never_ends_counts_as_the_horizon() {
        let times = vec![ended(1.0), ended(1.0), open(60.0), open(60.0)];
        let survival = Survival::of(times).unwrap();
        assert!((survival.mean_within(60.0) - 30.5).abs() < 1e-9);
        assert_eq!(survival.quantile(0.9), None);
        let none = Survival::of(vec![open(5.0)]).unwrap();
        assert_eq!(none.quantile(0.0), None);
        assert!((none.mean_within(60.0) - 60.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_and_what_is_not_finite_have_no_distribution() {
        assert_eq!(Survival::of(Vec::new()), None);
        assert_eq!(Survival::of(vec![ended(f64::NAN)]), None);
    }
}
