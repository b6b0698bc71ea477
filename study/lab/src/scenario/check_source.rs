//! What must hold between a scenario's circuits and the source of its relays.

use std::collections::BTreeSet;

use hopflow_paths::PathSelector;
use hopflow_random::Streams;

use super::limits::{Check, LARGEST_COUNT, fail};
use super::{InputError, Network, PopulationSource, Relays, Scenario, Shaping, Source, TorPath};

/// Networks of which it is tried whether they have paths.
const TRIED: usize = 3;

impl Network {
    fn population(&self) -> Option<&PopulationSource> {
        match &self.source {
            Some(Source::Population(population)) => Some(population),
            Some(Source::Circuits(_)) | None => None,
        }
    }

    /// The names of relays that the scenario must not give to others.
    ///
    /// Those of other sources are fingerprints in upper case, which no name in a scenario is.
    pub(super) fn made_up_names(&self) -> BTreeSet<String> {
        let made_up = self.population().filter(|made| made.table.is_none());
        let count = made_up.map_or(0, |made| made.relays);
        (0..count).map(|number| format!("relay-{number}")).collect()
    }
}

impl Scenario {
    /// Number of relays, listed or from the source.
    pub fn relay_count(&self) -> u64 {
        let listed: u64 = self.network.relays.iter().map(Relays::size).sum();
        let file = self.loaded.circuits.as_ref();
        let from_source = match self.network.population() {
            Some(population) => u64::from(population.relays),
            None => file.map_or(0, |file| file.relays.len() as u64),
        };
        listed + from_source
    }

    pub(super) fn check_source(&self) -> Check {
        if let (Some(_), Shaping::Bucket(bucket)) = (&self.network.source, &self.network.bucket) {
            bucket.check_times("network.bucket")?;
            let takes_rate = |relays: &Relays| match &relays.bucket {
                None => true,
                Some(Shaping::Bucket(own)) => own.rate.is_none(),
                Some(Shaping::Unlimited) => false,
            };
            if bucket.rate.is_some() && !self.network.relays.iter().any(takes_rate) {
                let problem = "no relay takes it: those of network.source have rates of their own; \
                               allowed here are depth, refill and pays";
                return fail("network.bucket.rate", problem);
            }
        }
        let Some(population) = self.network.population() else {
            return Ok(());
        };
        let key = "network.source.population.relays";
        let all = self.loaded.relays.as_ref();
        let most = all.map_or(LARGEST_COUNT, |all| all.relays.len() as u64);
        let relays = u64::from(population.relays);
        if !(u64::from(TorPath::SHORTEST)..=most).contains(&relays) {
            let whence = all.map_or("", |_| ", as many as the table has");
            let least = TorPath::SHORTEST;
            let problem =
                format!("{relays} is outside of what is allowed: {least} to {most}{whence}");
            return fail(key, problem);
        }
        if self.population(Streams::new(1)).is_none() {
            let problem = format!(
                "{relays} relays of the table leave no path of three; allowed is a number that \
                 holds guards, exits and others, and bandwidth weights that let them be chosen"
            );
            return fail(key, problem);
        }
        Ok(())
    }

    /// Checks that the relays of the source have paths of this length, at the key `key`.
    pub(super) fn check_tor(&self, key: &str, length: u32) -> Check {
        if self.network.source.is_none() {
            let problem = "needs relays with flags and weights: network.source = { population = { \
                           relays = 100 } } or { circuits = FILE }";
            return fail(key, problem);
        }
        if length < TorPath::SHORTEST {
            let problem = format!(
                "{length} is outside of what is allowed: {} (guard, middle, exit) or more",
                TorPath::SHORTEST
            );
            return fail(key, problem);
        }
        for seed in self.seeds.list().into_iter().take(TRIED) {
            let streams = Streams::new(seed);
            let population = self.population(streams).expect("the source was checked");
            let selector = PathSelector::new(&population, length as usize)
                .map_err(|error| InputError::at(key, error.to_string()))?;
            if selector.draw(&mut streams.stream("path", 0)).is_none() {
                let problem = format!(
                    "the {} relays of network.source have no path of {length}; allowed is a \
                     length that their flags, weights and families leave",
                    population.relays.len()
                );
                return fail(key, problem);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn worlds_have_the_relays_that_are_counted() {
        for builtin in builtin::scenarios() {
            let (scenario, _) = Scenario::load(builtin.name).unwrap();
            let world = scenario.sample(1);
            let groups = scenario.groups().map(|(_, group)| group);
            let clients = groups.filter(|group| group.client);
            let clients: u32 = clients.map(|group| group.count).sum();
            let others = clients as usize + world.cross.len();
            let relays = (world.nodes.len() - others) as u64;
            assert_eq!(scenario.relay_count(), relays, "{}", builtin.name);
        }
    }
}
