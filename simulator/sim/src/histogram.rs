//! Histograms of latencies.

use std::ops::Range;

use hopflow_units::Duration;

/// Latencies counted in logarithmic classes of about 3 % width.
///
/// Takes memory for the classes between the least and the greatest latency alone: a circuit's
/// latencies lie within a few doublings, far above zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// The class of the first count.
    first: u32,
    counts: Vec<u32>,
    total: u64,
    sum: u128,
}

impl LatencyHistogram {
    /// Classes per doubling.
    const SUB: u64 = 32;

    /// Counts one latency.
    ///
    /// # Panics
    /// If a class has 2^32 latencies already.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        let class = Self::class(latency.as_nanos());
        let place = class.wrapping_sub(self.first as usize);
        if place >= self.counts.len() {
            self.widen(class);
        }
        let count = &mut self.counts[class - self.first as usize];
        *count = count.checked_add(1).expect("a class has fewer latencies");
        self.total += 1;
        self.sum += u128::from(latency.as_nanos());
    }

    /// Makes a place for the counts of a class.
    #[cold]
    fn widen(&mut self, class: usize) {
        let first = self.first as usize;
        if self.counts.is_empty() {
            self.first = class as u32;
            self.counts.push(0);
        } else if class < first {
            let more = std::iter::repeat_n(0, first - class);
            self.counts.splice(0..0, more);
            self.first = class as u32;
        } else {
            let wanted = class - first + 1;
            self.counts
                .reserve_exact((wanted - self.counts.len()).max(8));
            self.counts.resize(wanted, 0);
        }
    }

    /// Latencies counted.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// The mean, `None` if nothing was counted.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.total))?;
        Some(Duration::from_nanos(mean as u64))
    }

    /// The latency below which a share of `q` of all lies, to the width of a class.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let rank = (q * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        let class = u64::from(self.first) + place as u64;
        Some(Duration::from_nanos(Self::upper(class)))
    }

    /// The classes that counted something, rising: their ends and their count.
    pub fn classes(&self) -> impl Iterator<Item = (Range<Duration>, u64)> {
        let counts = (u64::from(self.first)..).zip(&self.counts);
        let counts = counts.filter(|(_, count)| **count > 0);
        counts.map(|(class, count)| (Self::range(class), u64::from(*count)))
    }

    /// The latencies of a class.
    fn range(class: u64) -> Range<Duration> {
        let start = class
            .checked_sub(1)
            .map_or(0, |below| Self::upper(below) + 1);
        Duration::from_nanos(start)..Duration::from_nanos(Self::upper(class) + 1)
    }

    fn class(nanos: u64) -> usize {
        if nanos < Self::SUB {
            return nanos as usize;
        }
        let shift = nanos.ilog2() - Self::SUB.ilog2();
        (u64::from(shift) * Self::SUB + (nanos >> shift)) as usize
    }

    fn upper(class: u64) -> u64 {
        if class < 2 * Self::SUB {
            return class;
        }
        let shift = class / Self::SUB - 1;
        (((class % Self::SUB + Self::SUB) + 1) << shift) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_within_a_class_of_the_truth() {
        let mut histogram = LatencyHistogram::default();
        for millis in 1..=1000 {
            histogram.record(Duration::from_millis(millis));
        }
        for (q, truth) in [(0.5, 500e-3), (0.95, 950e-3), (1.0, 1.0)] {
            let found = histogram.quantile(q).unwrap().as_secs_f64();
            assert!(
                (found / truth - 1.0).abs() < 0.04,
                "{q}: {found} for {truth}"
            );
        }
        assert_eq!(histogram.mean(), Some(Duration::from_micros(500_500)));
        assert_eq!(LatencyHistogram::default().quantile(0.5), None);
    }

    #[test]
    fn latencies_may_come_in_any_order() {
        let mut histogram = LatencyHistogram::default();
        let nanos = [70_000, 90_000, 1_000, 70_001, 2_000_000, 3];
        for nanos in nanos {
            histogram.record(Duration::from_nanos(nanos));
        }
        let counted: Vec<_> = histogram.classes().collect();
        assert_eq!(counted.iter().map(|(_, count)| count).sum::<u64>(), 6);
        for nanos in nanos.map(Duration::from_nanos) {
            assert!(counted.iter().any(|(class, _)| class.contains(&nanos)));
        }
        assert_eq!(histogram.quantile(0.0), Some(Duration::from_nanos(3)));
    }

    #[test]
    fn classes_are_monotonous_and_contain_their_values() {
        for nanos in (0..5000).chain((1..60).map(|bits| 1u64 << bits)) {
            let class = LatencyHistogram::class(nanos);
            assert!(LatencyHistogram::upper(class as u64) >= nanos);
            assert!(class == 0 || LatencyHistogram::upper(class as u64 - 1) < nanos);
        }
    }
}
