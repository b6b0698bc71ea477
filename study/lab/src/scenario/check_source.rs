//! What must hold between a scenario's circuits and the source of its relays.

use std::collections::BTreeSet;
use std::ops::Range;

use hopflow_paths::{PathSelector, Population};
use hopflow_random::Streams;

use super::check_path::NOTHING_DIFFERS;
use super::limits::{Check, LARGEST_COUNT, fail};
use super::paths::PATIENCE;
use super::{
    Circuits, InputError, Legs, Network, Path, PopulationSource, Relays, Scenario, Shaping, Source,
    TorPath,
};

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
        Ok(())
    }

    /// Checks that paths of this length, at the key `key`, can be drawn as Tor's.
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
        Ok(())
    }

    /// Checks that the network of each seed has its relays, and its circuits the paths that they draw.
    pub(super) fn check_drawn(&self) -> Check {
        if self.network.source.is_none() {
            return Ok(());
        }
        for seed in self.seeds.list() {
            let streams = Streams::new(seed);
            let Some(population) = self.population(streams) else {
                let relays = self.network.population().map_or(0, |source| source.relays);
                let problem = format!(
                    "{relays} relays of the table leave no path of three in the network of seed \
                     {seed}; allowed is a number that holds guards, exits and others, and bandwidth \
                     weights that let them be chosen"
                );
                return fail("network.source.population.relays", problem);
            };
            let mut first = 0;
            for (key, group) in self.groups() {
                let numbers = first..first + u64::from(group.count);
                first = numbers.end;
                if let Path::Tor(path) = &group.path {
                    let path = (group, path.tor);
                    self.check_paths(&key, path, &population, (seed, numbers))?;
                }
            }
        }
        Ok(())
    }

    /// Checks that circuits of these numbers, of the group at the key `key`, have paths of this length
    /// in the network of a seed, and that the further paths of some differ from the first.
    fn check_paths(
        &self,
        key: &str,
        (group, length): (&Circuits, u32),
        population: &Population,
        (seed, mut numbers): (u64, Range<u64>),
    ) -> Check {
        let of_path = format!("{key}.path.tor");
        // Relays that are made up have no families: if one circuit finds a path, all do.
        if self.loaded.relays.is_none() {
            numbers.end = numbers.start + 1;
        }
        let selector = PathSelector::new(population, length as usize)
            .map_err(|error| InputError::at(&of_path, format!("seed {seed}: {error}")))?;
        let streams = Streams::new(seed);
        let finds = |number| selector.draw(&mut streams.stream("path", number)).is_some();
        if let Some(number) = numbers.clone().find(|number| !finds(*number)) {
            let relays = population.relays.len();
            let problem = format!(
                "the {relays} relays of network.source have no path of {length} for circuit {number} \
                 of seed {seed}; allowed is a length that their flags, weights and families leave"
            );
            return fail(&of_path, problem);
        }
        let differs = |number| has_different_leg(group, &selector, streams, number);
        if matches!(group.legs, Some(Legs::Count(_))) && !numbers.any(differs) {
            let problem = format!("seed {seed}: {NOTHING_DIFFERS}");
            return fail(&format!("{key}.legs"), problem);
        }
        Ok(())
    }
}

/// Whether a further path of the circuit `number` may differ from its first one, as far as draws find
/// such.
fn has_different_leg(
    group: &Circuits,
    selector: &PathSelector,
    streams: Streams,
    number: u64,
) -> bool {
    let Some(first) = selector.draw(&mut streams.stream("path", number)) else {
        return false;
    };
    let mut stream = streams.stream("legs", number);
    (0..PATIENCE).any(|_| {
        let Some(mut leg) = selector.draw(&mut stream) else {
            return false;
        };
        group.share_ends(&first, &mut leg);
        leg != first && selector.allows(&leg)
    })
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
