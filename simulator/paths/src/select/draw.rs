//! Weighted draws under constraints.

use hopflow_random::Stream;

use crate::population::{Flags, Population, PopulationError, Position};

/// Draws that may be refused before the allowed relays are counted one by one: most constraints
/// exclude few relays.
const REFUSALS: usize = 16;

/// The relays that may take a position, with their weights.
#[derive(Clone, Debug)]
pub(super) struct WeightedRelays {
    /// Indices into the population.
    relays: Vec<u32>,
    /// The sum of the weights up to and including the relay at the same place.
    sums: Vec<u64>,
}

impl WeightedRelays {
    /// The relays of `population` that may take `position`.
    ///
    /// If none of them has a weight, all are equally likely, as in networks that are too young to
    /// be measured.
    pub(super) fn at(population: &Population, position: Position) -> Result<Self, PopulationError> {
        let unweighted = population.relays.iter().all(|relay| relay.weight == 0);
        let mut weighted = Vec::new();
        for (index, relay) in (0_u32..).zip(&population.relays) {
            let factor = population.weights.factor(position, relay.flags.class());
            let weight = if unweighted { 1 } else { relay.weight };
            if relay.flags.contains(Flags::FAST) && weight > 0 && factor > 0 {
                weighted.push((index, u128::from(weight) * u128::from(factor)));
            }
        }
        let total: u128 = weighted.iter().map(|&(_, weight)| weight).sum();
        if total == 0 {
            return Err(PopulationError::NoRelay { position });
        }
        // Fewer digits where the sum would not fit.
        let shift = (u128::BITS - total.leading_zeros()).saturating_sub(u64::BITS - 1);
        let mut sum = 0;
        let (relays, sums) = weighted
            .into_iter()
            .map(|(index, weight)| {
                sum += (weight >> shift) as u64;
                (index, sum)
            })
            .unzip();
        Ok(Self { relays, sums })
    }

    /// A relay that is `allowed`, by weight; none if no relay is.
    pub(super) fn draw(&self, stream: &mut Stream, allowed: impl Fn(u32) -> bool) -> Option<u32> {
        let total = self.sums[self.sums.len() - 1];
        for _ in 0..REFUSALS {
            let mark = stream.integer(0, total - 1);
            let relay = self.relays[self.sums.partition_point(|&sum| sum <= mark)];
            if allowed(relay) {
                return Some(relay);
            }
        }
        self.draw_by_counting(stream, allowed)
    }

    /// The same for constraints that exclude most relays.
    pub(super) fn draw_by_counting(
        &self,
        stream: &mut Stream,
        allowed: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let mut left = Vec::new();
        let (mut before, mut total) = (0, 0);
        for (&relay, &sum) in self.relays.iter().zip(&self.sums) {
            if allowed(relay) {
                total += sum - before;
                left.push((relay, total));
            }
            before = sum;
        }
        let mark = stream.integer(0, u64::checked_sub(total, 1)?);
        let at = left.partition_point(|&(_, sum)| sum <= mark);
        Some(left[at].0)
    }
}
