//! The relays that a network takes from its source.

use std::sync::Arc;

use hopflow_paths::{PathSelector, Population};
use hopflow_random::Streams;

use super::{Scenario, Source, TorPath};

/// Samples of a table that are drawn before it is taken for granted that none has a path.
const SAMPLES: u32 = 100;

impl Scenario {
    /// The relays of the source in the network that the streams belong to, in the order of their
    /// numbers; none without a source.
    ///
    /// A sample of a table that leaves no path of three relays is drawn again.
    pub(super) fn population(&self, streams: Streams) -> Option<Arc<Population>> {
        let Source::Population(source) = self.network.source.as_ref()? else {
            return self.loaded.relays.clone();
        };
        let mut stream = streams.stream("population", 0);
        let relays = source.relays as usize;
        let population = match &self.loaded.relays {
            None => Population::builtin(relays, &mut stream).ok()?,
            Some(all) => (0..SAMPLES).find_map(|_| {
                let sample = all.scale(relays, &mut stream).ok()?;
                let selector = PathSelector::new(&sample, TorPath::SHORTEST as usize).ok()?;
                selector.draw(&mut stream).map(|_| sample)
            })?,
        };
        Some(Arc::new(population))
    }
}
