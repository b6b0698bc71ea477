//! Weighted draws under constraints.

use hopflow_random::Stream;

use crate::candidate::Candidate;
use crate::population::{BandwidthWeights, Flags, Position};

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
    /// The relays that may take `position`, by weight times bandwidth weight; none if no relay may.
    ///
    /// If none of them has a weight, all are equally likely, as in networks that are too young to
    /// be measured.
    pub(super) fn at(
        relays: &[Candidate],
        weights: &BandwidthWeights,
        position: Position,
    ) -> Option<Self> {
        let unweighted = relays.iter().all(|relay| relay.weight == 0);
        Self::of(relays, |relay| {
            let weight = if unweighted { 1 } else { relay.weight };
            let factor = weights.factor(position, relay.flags.class());
            u128::from(weight) * u128::from(factor)
        })
    }

    /// The relays with a weight; none if there is none.
    pub(super) fn of(relays: &[Candidate], weight: impl Fn(&Candidate) -> u128) -> Option<Self> {
        let mut weighted = Vec::new();
        for (index, relay) in (0_u32..).zip(relays) {
            let weight = weight(relay);
            if relay.flags.contains(Flags::FAST) && weight > 0 {
                weighted.push((index, weight));
            }
        }
        let total: u128 = weighted.iter().map(|&(_, weight)| weight).sum();
        if total == 0 {
            return None;
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
        Some(Self { relays, sums })
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
