//! Named random streams whose numbers are the same bits on every machine.
//!
//! Each component draws from a stream of its own, found by the run's seed, a name and an index:
//! a component that draws more often, or that is added, leaves every other stream as it was.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, *Scrambled Linear Pseudorandom Number
//! Generators*, ACM TOMS 47(4), 2021), seeded with a 64-bit digest of seed, name and index. Two of
//! `n` streams coincide with a probability of about `n²` / 2⁶⁵. Floating-point results use the
//! basic operations of IEEE 754 and the logarithm of the `libm` crate only.

use std::fmt;

use hopflow_units::Duration;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The family of random streams of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of component `index` of the kind called `name`, from its beginning.
    pub fn stream(&self, name: &str, index: u64) -> Stream {
        let words = name.as_bytes().chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        // The length tells a name from the same name with zero bytes behind it.
        let digest = std::iter::once(name.len() as u64)
            .chain(words)
            .chain(std::iter::once(index))
            .fold(mix(self.seed), |digest, word| mix(digest ^ word));
        Stream(Xoshiro256PlusPlus::seed_from_u64(digest))
    }
}

/// One step of `SplitMix64`: a bijection that spreads each bit over all bits.
///
/// Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014, figure 17.
const fn mix(word: u64) -> u64 {
    let z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to 1, 1 excluded: a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An integer from `low` to `high`, both included, without bias.
    ///
    /// Lemire, *Fast Random Integer Generation in an Interval*, ACM TOMACS 29(1), 2019.
    ///
    /// # Panics
    /// If `low` is above `high`.
    #[inline]
    pub fn integer(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "a range goes up");
        let Some(count) = (high - low).checked_add(1) else {
            return self.bits();
        };
        loop {
            let product = u128::from(self.bits()) * u128::from(count);
            let fraction = product as u64;
            // The first test spares the division almost always.
            if fraction >= count || fraction >= count.wrapping_neg() % count {
                return low + (product >> 64) as u64;
            }
        }
    }

    /// A time from `low` to `high`, both included, to the nanosecond.
    ///
    /// # Panics
    /// If `low` is above `high`.
    #[inline]
    pub fn uniform(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.integer(low.as_nanos(), high.as_nanos()))
    }

    /// An exponentially distributed time, rounded to the nanosecond.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        // 1 - u lies in (0, 1], so that the logarithm is finite.
        let spans = -libm::log(1.0 - self.unit());
        Duration::from_nanos((mean.as_nanos() as f64 * spans).round() as u64)
    }

    /// A normally distributed number with mean 0 and variance 1.
    ///
    /// The polar method (Marsaglia and Bray, *A Convenient Method for Generating Normal Variables*,
    /// SIAM Review 6(3), 1964), of whose two numbers one is taken: nothing is kept between draws.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Whether an event of this probability happens; a certain outcome draws nothing.
    #[inline]
    pub fn bernoulli(&mut self, probability: f64) -> bool {
        if probability <= 0.0 {
            false
        } else if probability >= 1.0 {
            true
        } else {
            self.unit() < probability
        }
    }

    /// A value of the distribution that `table` describes.
    pub fn value(&mut self, table: &CdfTable) -> f64 {
        table.inverse(self.unit())
    }
}

/// A distribution as a piecewise linear cumulative function.
#[derive(Clone, Debug, PartialEq)]
pub struct CdfTable {
    /// Pairs of a value and the probability of at most this value; both never decrease.
    points: Vec<(f64, f64)>,
}

impl CdfTable {
    /// The distribution through `points`, each a value and the probability of at most that value.
    ///
    /// Between two points the probability grows linearly; two points of one value make a jump
    /// there; a first point of positive probability is a jump at the least value.
    ///
    /// # Errors
    /// If a number is not finite, values or probabilities decrease, the first probability is
    /// negative, one is above 1, or the last is not 1.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, CdfError> {
        let mut floor = (f64::NEG_INFINITY, 0.0);
        for (index, &point) in points.iter().enumerate() {
            let problem = if !(point.0.is_finite() && point.1.is_finite()) {
                "is not finite; allowed are finite numbers"
            } else if point.0 < floor.0 {
                "has a lower value than the point before it; allowed are values that never decrease"
            } else if point.1 < floor.1 {
                "has too low a probability; allowed are probabilities that rise from 0 or more to 1"
            } else if point.1 > 1.0 {
                "has a probability above 1; allowed are probabilities that rise from 0 or more to 1"
            } else {
                floor = point;
                continue;
            };
            return Err(CdfError {
                index,
                point,
                problem,
            });
        }
        if points.is_empty() || floor.1 != 1.0 {
            return Err(CdfError {
                index: points.len().saturating_sub(1),
                point: points.last().copied().unwrap_or((0.0, 0.0)),
                problem: "ends the table without reaching probability 1",
            });
        }
        Ok(Self { points })
    }

    /// The value at which the cumulative function reaches `probability`, which is from 0 to 1.
    pub fn inverse(&self, probability: f64) -> f64 {
        let above = self.points.partition_point(|point| point.1 <= probability);
        let Some(&(high, to)) = self.points.get(above) else {
            return self.points[self.points.len() - 1].0;
        };
        match above.checked_sub(1).map(|below| self.points[below]) {
            Some((low, from)) => low + (high - low) * ((probability - from) / (to - from)),
            None => high,
        }
    }
}

/// A table that is not a cumulative distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct CdfError {
    index: usize,
    point: (f64, f64),
    problem: &'static str,
}

impl fmt::Display for CdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, probability) = self.point;
        write!(
            f,
            "point {} (value {value}, probability {probability}) {}",
            self.index, self.problem
        )
    }
}

impl std::error::Error for CdfError {}

#[cfg(test)]
mod tests;
