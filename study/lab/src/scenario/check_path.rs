//! What the paths of circuits must satisfy.

use std::collections::BTreeSet;
use std::ops::Range;

use hopflow_sim::spec::CircuitSpec;

use super::limits::{Check, fail};
use super::{Circuits, InputError, Legs, Network, Path, Relays, Scenario, allowed};

/// What is wrong with a number of paths that would all be the same.
pub(super) const NOTHING_DIFFERS: &str = "would all be the same path, for the last relay is shared, and without a \
                               client the first; allowed is a path that draws between them among two \
                               relays or more";

/// Checks that a path can be drawn from the network; returns its length.
pub(super) fn check_path(
    key: &str,
    names: &[String],
    network: &Network,
) -> Result<usize, InputError> {
    let mut fixed = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        let known = network.relays.iter().find(|relays| relays.holds(name));
        let Some(relays) = known else {
            let allowed = allowed(
                name,
                network.relays.iter().map(|relays| relays.name.as_str()),
            );
            let problem = format!("there is no relay \"{name}\"; {allowed}");
            return Err(InputError::at(format!("{key}[{index}]"), problem));
        };
        let is_group = relays.count.is_some() && relays.name == *name;
        if !is_group && !fixed.insert(name) {
            let problem = format!("the relay \"{name}\" occurs twice in the path");
            return Err(InputError::at(format!("{key}[{index}]"), problem));
        }
        let wanted = names.iter().filter(|other| relays.holds(other)).count() as u64;
        if is_group && wanted > relays.size() {
            let problem = format!(
                "{wanted} different relays of \"{}\" are asked for; it has {}",
                relays.name,
                relays.size()
            );
            return Err(InputError::at(format!("{key}[{index}]"), problem));
        }
    }
    Ok(names.len())
}

impl Circuits {
    /// Checks the further paths of the group, whose key is `key`.
    pub(super) fn check_legs(&self, key: &str, scenario: &Scenario) -> Check {
        let key = &format!("{key}.legs");
        match (&self.legs, &self.path) {
            // Whether Tor's can differ is seen when they are drawn.
            (None, _) | (Some(Legs::Count(_)), Path::Tor(_)) => Ok(()),
            (Some(_), Path::Published) => fail(
                key,
                "do not go with a published path; allowed are named, random and Tor's paths",
            ),
            (Some(Legs::Count(count)), Path::Random(path)) => {
                let own = self.own_places(path.random as usize);
                if own.is_empty() {
                    return fail(key, NOTHING_DIFFERS);
                }
                let own = own.len() as u64;
                let shared = u64::from(path.random) - own;
                let wanted = own * u64::from(*count) + shared;
                let known = scenario.relay_count();
                if wanted > known {
                    let problem = format!("{wanted} relays of {known} cannot be different");
                    return fail(key, problem);
                }
                Ok(())
            }
            (Some(Legs::Count(_)), Path::Named(names)) => {
                if self.can_differ(names, &scenario.network) {
                    return Ok(());
                }
                if names.iter().any(|name| scenario.network.has_group(name)) {
                    return fail(key, NOTHING_DIFFERS);
                }
                fail(
                    key,
                    "must be further paths, for the path names its relays and draws none",
                )
            }
            (Some(Legs::Named(paths)), Path::Named(first)) => {
                self.check_named(key, paths, (first, &scenario.network))
            }
            (Some(Legs::Named(_)), _) => fail(
                key,
                "must be a number of paths, for the first one is drawn as well",
            ),
        }
    }

    /// The places of a path of this length that each of a user's paths has for itself.
    pub(super) fn own_places(&self, length: usize) -> Range<usize> {
        usize::from(!self.client)..length.saturating_sub(1)
    }

    /// Gives a further path the relays that it shares with the first one.
    pub(super) fn share_ends<T: Copy>(&self, first: &[T], path: &mut [T]) {
        let own = self.own_places(first.len());
        path[..own.start].copy_from_slice(&first[..own.start]);
        path[own.end..].copy_from_slice(&first[own.end..]);
    }

    /// Whether a further path may have another relay than the first one somewhere.
    fn can_differ(&self, names: &[String], network: &Network) -> bool {
        let own = self.own_places(names.len());
        own.clone().any(|place| {
            let is_it = |group: &&Relays| group.count.is_some() && group.name == names[place];
            network.relays.iter().find(is_it).is_some_and(|group| {
                // Members that stand in all of the user's paths.
                let shared = names.iter().enumerate().filter(|(other, name)| {
                    group.holds(name) && (!own.contains(other) || **name != group.name)
                });
                group.size() > shared.count() as u64 + 1
            })
        })
    }

    fn check_named(
        &self,
        key: &str,
        paths: &[Vec<String>],
        (first, network): (&[String], &Network),
    ) -> Check {
        let most = CircuitSpec::MOST_PATHS - 1;
        if paths.is_empty() || paths.len() > most {
            let problem = format!("are {} paths; allowed are 1 to {most}", paths.len());
            return fail(key, problem);
        }
        for (index, path) in paths.iter().enumerate() {
            let key = format!("{key}[{index}]");
            let relays = check_path(&key, path, network)?;
            if relays + usize::from(self.client) < 2 {
                let problem = "is too short; allowed are two nodes or more, the client included";
                return fail(&key, problem);
            }
            if let Some(group) = path
                .iter()
                .chain(first)
                .find(|name| network.has_group(name))
            {
                let problem = format!("\"{group}\" is a group; allowed are single relays");
                return fail(&key, problem);
            }
            if path.last() != first.last() {
                let problem = "does not end where the first path does";
                return fail(&key, problem);
            }
            if !self.client && path.first() != first.first() {
                let problem = "does not begin where the first path does, which acts as the client";
                return fail(&key, problem);
            }
        }
        Ok(())
    }
}
