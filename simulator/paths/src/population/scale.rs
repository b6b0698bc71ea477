//! Smaller networks that look like a big one.

use hopflow_random::Stream;

use super::apportion::apportion;
use super::flags::Class;
use super::{Population, PopulationError};

/// The fewest relays that can form a path of three.
const LEAST: usize = 3;

impl Population {
    /// A stratified sample of `relays` of these relays, in their order, with bandwidth weights to
    /// match. A sample of all relays is this population, with its bandwidth weights as they are.
    ///
    /// Each class of flags keeps its share. Within a class the relays are ordered by weight and
    /// cut into as many slices as relays are wanted; one of each slice is drawn. So did the
    /// generators of Tor networks for simulations that the papers used (Jansen, Bauer, Hopper and
    /// Dingledine, *Methodically Modeling the Tor Network*, CSET 2012).
    ///
    /// # Errors
    /// If fewer than three relays are asked for, or more than there are.
    pub fn scale(&self, relays: usize, stream: &mut Stream) -> Result<Self, PopulationError> {
        if !(LEAST..=self.relays.len()).contains(&relays) {
            return Err(PopulationError::Size {
                relays,
                least: LEAST,
                most: self.relays.len(),
            });
        }
        if relays == self.relays.len() {
            return Ok(self.clone());
        }
        let classes = Class::ALL.map(|class| self.by_weight(class));
        let counts = apportion(relays, &classes.each_ref().map(Vec::len));
        let mut chosen: Vec<usize> = Vec::with_capacity(relays);
        for (members, count) in classes.iter().zip(counts) {
            for slice in 0..count {
                let first = slice * members.len() / count;
                let last = (slice + 1) * members.len() / count - 1;
                let rank = stream.integer(first as u64, last as u64) as usize;
                chosen.push(members[rank]);
            }
        }
        chosen.sort_unstable();
        Ok(Self::new(
            chosen.iter().map(|&at| self.relays[at].clone()).collect(),
        ))
    }

    /// The relays of `class` from the least to the greatest weight.
    fn by_weight(&self, class: Class) -> Vec<usize> {
        let mut members: Vec<usize> = (0..self.relays.len())
            .filter(|&at| self.relays[at].flags.class() == class)
            .collect();
        members.sort_by_key(|&at| self.relays[at].weight);
        members
    }
}
