//! A tiny seeded random generator.

use hopflow_units::Duration;

/// `SplitMix64` (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*,
/// OOPSLA 2014, figure 17): more than random enough for tests.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 to 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `bound`, which is positive.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// Whether an event of this probability happens; a certain outcome draws nothing.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && (probability >= 1.0 || self.unit() < probability)
    }

    /// A time from zero to `most`.
    pub const fn time(&mut self, most: Duration) -> Duration {
        match most.as_nanos() {
            0 => Duration::ZERO,
            nanos => Duration::from_nanos(self.below(nanos)),
        }
    }
}

/// Spreads each bit of `word` over all bits.
pub(crate) const fn mix(word: u64) -> u64 {
    let z = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_numbers() {
        // The first outputs for seed 1234567 of the authors' reference implementation.
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.bits(), 6_457_827_717_110_365_317);
        assert_eq!(rng.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn chances_come_about_as_often_as_they_should() {
        let mut rng = Rng::new(1);
        let hits = (0..10_000).filter(|_| rng.chance(0.3)).count();
        assert!((2800..3200).contains(&hits), "{hits}");
    }
}
