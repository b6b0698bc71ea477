//! What published paths tell about the population they were chosen from.

use std::collections::BTreeSet;

use super::{Flags, Population, PopulationRelay};
use crate::CircuitFile;

/// Two relays that would meet in this many paths by chance, and never do, are taken for kin: by
/// chance, that happens to a pair with a probability of e⁻¹⁵.
const MISSED_MEETINGS: f64 = 15.0;

impl Population {
    /// The population that the paths of `file` may have been chosen from.
    ///
    /// A relay that occurs first is a guard, one that occurs last is an exit; all are fast and
    /// stable. Weights are the bandwidths, see also [`with_weight_cap`](Self::with_weight_cap).
    /// Relays that are never in one path, although they should have met often, are in one family:
    /// that covers families and networks, which a circuit file does not tell. Relays that no path
    /// has are not known.
    pub fn from_circuits(file: &CircuitFile) -> Self {
        let mut relays: Vec<_> = file
            .relays
            .iter()
            .map(|relay| PopulationRelay {
                relay: relay.clone(),
                flags: Flags::FAST | Flags::STABLE,
                weight: relay.bandwidth.bytes_per_sec(),
                family: None,
                network: None,
            })
            .collect();
        for path in &file.paths {
            if let [first, .., last] = path[..] {
                let first = &mut relays[first as usize].flags;
                *first = *first | Flags::GUARD;
                let last = &mut relays[last as usize].flags;
                *last = *last | Flags::EXIT;
            }
        }
        for (one, other) in pairs_that_never_meet(file) {
            let family = relays[one].family.unwrap_or(one as u32);
            let merged = relays[other].family.replace(family);
            relays[one].family = Some(family);
            if let Some(merged) = merged {
                for relay in &mut relays {
                    if relay.family == Some(merged) {
                        relay.family = Some(family);
                    }
                }
            }
        }
        Self::new(relays)
    }
}

/// Pairs of relays that no path has both of, although many should.
fn pairs_that_never_meet(file: &CircuitFile) -> Vec<(usize, usize)> {
    let longest = file.paths.iter().map(Vec::len).max().unwrap_or(0);
    let mut uses = vec![vec![0.0; longest]; file.relays.len()];
    let mut met = BTreeSet::new();
    for path in &file.paths {
        for (position, &relay) in path.iter().enumerate() {
            uses[relay as usize][position] += 1.0;
            met.extend(
                path[..position]
                    .iter()
                    .map(|&o| (o.min(relay), o.max(relay))),
            );
        }
    }
    let paths = file.paths.len() as f64;
    // Meetings if the positions were filled independently of each other.
    let expected = |one: usize, other: usize| {
        let total = |relay: usize| uses[relay].iter().sum::<f64>();
        let same_position = uses[one].iter().zip(&uses[other]);
        let impossible: f64 = same_position.map(|(a, b)| a * b).sum();
        (total(one) * total(other) - impossible) / paths
    };
    let mut pairs = Vec::new();
    for one in 0..file.relays.len() {
        for other in one + 1..file.relays.len() {
            if !met.contains(&(one as u32, other as u32)) && expected(one, other) > MISSED_MEETINGS
            {
                pairs.push((one, other));
            }
        }
    }
    pairs
}
