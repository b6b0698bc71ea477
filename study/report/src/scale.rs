//! Scales: from values to places, and ticks that a reader can count.

use crate::model::Axis;

/// Smaller numbers and differences lose their digits, or are zero when they are divided.
const LEAST: f64 = f64::MIN_POSITIVE;
/// Sums and differences of larger numbers may be infinite.
const MOST: f64 = f64::MAX / 4.0;

/// A mapping from values of an axis to the unit interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// A scale that holds all finite `values` and those that the axis includes, widened to the
    /// next ticks if `round`. Values too small or large to reckon with count as the nearest
    /// that is not.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, round: bool) -> Self {
        let fits = |value: &f64| value.is_finite() && (!axis.log || *value > 0.0);
        let all = values.chain(axis.include.iter().copied()).filter(fits);
        let all = all.map(|value| within_range(axis.log, value));
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = match (low <= high, axis.log) {
            (false, false) => (0.0, 1.0),
            (false, true) => (1.0, 10.0),
            (true, false) if high - low < LEAST => (
                low.min(0.0),
                if high >= LEAST {
                    high * 1.1
                } else {
                    // By as much as the next floats differ, at least.
                    low + f64::max(1.0, low.abs() / 1e9)
                },
            ),
            (true, true) if low == high => (low / 2.0, high * 2.0),
            (true, _) => (low, high),
        };
        let scale = Self {
            low,
            high,
            log: axis.log,
        };
        if round { scale.rounded() } else { scale }
    }

    /// Where a value lies, from 0 to 1; `None` if it is not finite or has no place on a
    /// logarithmic axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.log && value <= 0.0) {
            return None;
        }
        let value = within_range(self.log, value);
        let (low, high, value) = (self.map(self.low), self.map(self.high), self.map(value));
        Some(((value - low) / (high - low)).clamp(-1.0, 2.0))
    }

    /// Lowest and highest value.
    pub(crate) const fn bounds(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// About `count` values to label, ascending.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        if self.log && self.high / self.low >= 8.0 {
            self.log_ticks(count)
        } else {
            self.linear_ticks(count)
        }
    }

    fn map(&self, value: f64) -> f64 {
        if self.log { libm::log10(value) } else { value }
    }

    fn rounded(mut self) -> Self {
        if self.log {
            return self;
        }
        let step = self.step(5);
        self.low = (self.low / step + 1e-9).floor() * step;
        self.high = (self.high / step - 1e-9).ceil() * step;
        self
    }

    /// The step among 1, 2, 2.5 and 5 times a power of ten that gives about `count` ticks.
    fn step(&self, count: usize) -> f64 {
        let raw = (self.high - self.low) / count.max(1) as f64;
        let power = libm::pow(10.0, libm::log10(raw).floor());
        let factors = [1.0, 2.0, 2.5, 5.0, 10.0];
        power
            * factors
                .into_iter()
                .find(|factor| factor * power >= raw * 0.999)
                .unwrap_or(10.0)
    }

    fn linear_ticks(&self, count: usize) -> Vec<f64> {
        let step = self.step(count);
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let steps = (last - first).max(0.0) as usize;
        (0..=steps).map(|i| (first + i as f64) * step).collect()
    }

    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let (first, last) = (
            libm::log10(self.low).floor() as i32,
            libm::log10(self.high).ceil() as i32,
        );
        let within = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
        let decades = |factors: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|power| {
                    factors
                        .iter()
                        .map(move |f| f * libm::pow(10.0, f64::from(power)))
                })
                .filter(within)
                .collect()
        };
        let fine = decades(&[1.0, 2.0, 5.0]);
        if fine.len() <= count + 3 {
            fine
        } else {
            decades(&[1.0])
        }
    }
}

/// The value nearest to `value` with which an axis can reckon.
fn within_range(log: bool, value: f64) -> f64 {
    value.clamp(if log { LEAST } else { -MOST }, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(log: bool, values: &[f64]) -> Scale {
        Scale::new(&Axis::default().log(log), values.iter().copied(), true)
    }

    #[test]
    fn a_linear_axis_ends_on_ticks() {
        let scale = scale(false, &[0.3, 9.7]);
        assert_eq!(scale.bounds(), (0.0, 10.0));
        assert_eq!(scale.ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(scale.place(5.0), Some(0.5));
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_at_powers_of_ten() {
        let scale = scale(true, &[0.1, 1000.0, -5.0, 0.0]);
        assert_eq!(scale.bounds(), (0.1, 1000.0));
        let ticks = scale.ticks(4);
        assert_eq!(ticks.len(), 5);
        assert!((ticks[2] - 10.0).abs() < 1e-9);
        assert!((scale.place(10.0).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(scale.place(0.0), None);
    }

    #[test]
    fn an_axis_without_data_or_extent_is_still_an_axis() {
        for values in [&[][..], &[0.0], &[7.0, 7.0], &[f64::NAN], &[-3.0]] {
            for log in [false, true] {
                let scale = scale(log, values);
                let (low, high) = scale.bounds();
                assert!(low < high, "{values:?}");
                let ticks = scale.ticks(5);
                assert!(
                    ticks.len() < 20 && ticks.iter().all(|tick| tick.is_finite()),
                    "{values:?}"
                );
            }
        }
    }

    #[test]
    fn the_least_and_the_greatest_floats_have_a_place() {
        let ends = [f64::MIN, -5e-324, 0.0, 5e-324, f64::MAX];
        for (low, high) in ends.iter().flat_map(|low| ends.map(|high| (*low, high))) {
            for log in [false, true] {
                let scale = scale(log, &[low, high]);
                let (least, most) = scale.bounds();
                assert!(least < most && most.is_finite(), "{low} to {high}");
                let ticks = scale.ticks(5);
                assert!(
                    ticks.len() < 700 && ticks.iter().all(|tick| tick.is_finite()),
                    "{low} to {high}"
                );
                let place = scale.place(high);
                assert!(
                    place.is_none_or(|it| (-0.1..=1.1).contains(&it)),
                    "{low} to {high}: {place:?}"
                );
            }
        }
    }

    #[test]
    fn ticks_are_few_whatever_the_range() {
        for (low, high) in [(0.0, 1e-9), (-1e12, 1e12), (99.0, 101.0), (0.0, 0.37)] {
            let ticks = scale(false, &[low, high]).ticks(5);
            assert!(
                (3..=12).contains(&ticks.len()),
                "{low} to {high}: {ticks:?}"
            );
        }
    }
}
