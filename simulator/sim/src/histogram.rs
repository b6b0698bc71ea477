//! Histograms of latencies.

use std::ops::Range;

use hopflow_units::Duration;

/// Latencies counted in logarithmic classes of about 3 % width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyHistogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
}

impl LatencyHistogram {
    /// Classes per doubling.
    const SUB: u64 = 32;

    /// Counts one latency.
    pub fn record(&mut self, latency: Duration) {
        let class = Self::class(latency.as_nanos());
        if class >= self.counts.len() {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.total += 1;
        self.sum += u128::from(latency.as_nanos());
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
        let class = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(Duration::from_nanos(Self::upper(class as u64)))
    }

    /// The classes that counted something, rising: their ends and their count.
    pub fn classes(&self) -> impl Iterator<Item = (Range<Duration>, u64)> {
        let counts = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        counts.map(|(class, count)| (Self::range(class), *count))
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
    fn classes_are_monotonous_and_contain_their_values() {
        for nanos in (0..5000).chain((1..60).map(|bits| 1u64 << bits)) {
            let class = LatencyHistogram::class(nanos);
            assert!(LatencyHistogram::upper(class as u64) >= nanos);
            assert!(class == 0 || LatencyHistogram::upper(class as u64 - 1) < nanos);
        }
    }
}
