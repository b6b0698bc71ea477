//! Users with several circuits between the same two ends.

use std::fmt;

use hopflow_random::Stream;
use hopflow_sim::spec::CircuitSpec;
use hopflow_units::NodeId;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor, value};

use super::check::{Check, check_path, fail};
use super::paths::Paths;
use super::{Circuits, Network, Path, Scenario};

/// Draws of a path after which its relays need not be other ones any more.
const PATIENCE: usize = 1000;

/// The circuits of a user beyond its first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Legs {
    /// So many paths in all. They are drawn like the first one, with its last relay; where the
    /// path leaves a choice their relays are other ones, as far as 1000 draws find such.
    Count(#[schemars(range(min = 2, max = 16))] u32),
    /// These further paths of named relays, with the last relay of the first one.
    Named(#[schemars(length(min = 1, max = 15))] Vec<Vec<String>>),
}

impl<'de> Deserialize<'de> for Legs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountOrPaths;

        impl<'de> Visitor<'de> for CountOrPaths {
            type Value = Legs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let most = CircuitSpec::MOST_PATHS;
                write!(
                    f,
                    "a number of paths from 2 to {most}, or further paths such as "
                )?;
                f.write_str("[[\"entry\", \"other-middle\", \"exit\"]]")
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Legs, E> {
                let most = CircuitSpec::MOST_PATHS;
                let count = u32::try_from(count)
                    .ok()
                    .filter(|count| (2..=most as u32).contains(count));
                count.map(Legs::Count).ok_or_else(|| {
                    E::custom(format_args!(
                        "allowed is a number of paths from 2 to {most}"
                    ))
                })
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Legs, E> {
                self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, paths: A) -> Result<Legs, A::Error> {
                let paths = value::SeqAccessDeserializer::new(paths);
                Vec::deserialize(paths).map(Legs::Named)
            }
        }

        deserializer.deserialize_any(CountOrPaths)
    }
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
                if drawn.clone().any(|name| is_group(name, &scenario.network)) {
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
                .find(|name| is_group(name, network))
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

fn is_group(name: &str, network: &Network) -> bool {
    let mut relays = network.relays.iter();
    relays.any(|relays| relays.count.is_some() && relays.name == name)
}

impl Paths<'_> {
    /// The further paths of a circuit of `group` whose first path is `first`.
    pub(super) fn draw_legs(
        &mut self,
        group: &Circuits,
        first: &[NodeId],
        stream: &mut Stream,
    ) -> Vec<Vec<NodeId>> {
        match &group.legs {
            None => Vec::new(),
            Some(Legs::Named(paths)) => {
                let named = paths.iter().cloned().map(Path::Named);
                named.filter_map(|path| self.draw(&path, stream)).collect()
            }
            Some(Legs::Count(count)) => {
                let mut legs = vec![first.to_vec()];
                for _ in 1..*count {
                    let leg = self.draw_leg(group, &legs, stream);
                    legs.push(leg);
                }
                legs.split_off(1)
            }
        }
    }

    /// A path with the ends of the others, and other relays where there is a choice.
    fn draw_leg(
        &mut self,
        group: &Circuits,
        others: &[Vec<NodeId>],
        stream: &mut Stream,
    ) -> Vec<NodeId> {
        let first = &others[0];
        let last = first.len() - 1;
        let chosen = match &group.path {
            Path::Named(names) => {
                let drawn = names.iter().map(|name| is_group(name, self.network()));
                drawn.collect()
            }
            _ => vec![true; first.len()],
        };
        let mut leg = first.clone();
        for attempt in 0..2 * PATIENCE {
            let Some(mut path) = self.draw(&group.path, stream) else {
                break;
            };
            path[last] = first[last];
            if !group.client {
                path[0] = first[0];
            }
            if !distinct(&path) {
                continue;
            }
            leg = path;
            let from = usize::from(!group.client);
            let mut free = (from..last).filter(|&place| chosen[place]);
            let used = |relay: &NodeId| others.iter().any(|other| other.contains(relay));
            if attempt >= PATIENCE || !free.any(|place| used(&leg[place])) {
                break;
            }
        }
        leg
    }
}

fn distinct(path: &[NodeId]) -> bool {
    (1..path.len()).all(|place| !path[..place].contains(&path[place]))
}
