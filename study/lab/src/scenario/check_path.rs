//! What the paths of circuits must satisfy.

use std::collections::BTreeSet;

use hopflow_sim::spec::CircuitSpec;

use super::limits::{Check, fail};
use super::{Circuits, InputError, Legs, Network, Path, Scenario, allowed};

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
            (None, _) | (Some(Legs::Count(_)), Path::Tor(_)) => Ok(()),
            (Some(_), Path::Published) => fail(
                key,
                "do not go with a published path; allowed are named, random and Tor's paths",
            ),
            (Some(Legs::Count(count)), Path::Random(path)) => {
                // The last relay is shared.
                let wanted = u64::from(path.random - 1) * u64::from(*count) + 1;
                let known = scenario.relay_count();
                if wanted > known {
                    let problem = format!("{wanted} relays of {known} cannot be different");
                    return fail(key, problem);
                }
                Ok(())
            }
            (Some(Legs::Count(_)), Path::Named(names)) => {
                let drawn = names[..names.len().saturating_sub(1)].iter();
                if drawn.clone().any(|name| scenario.network.has_group(name)) {
                    return Ok(());
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
