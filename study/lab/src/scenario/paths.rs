//! Drawing the paths of a network's circuits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;
use std::vec;

use hopflow_paths::{PathSelector, Population};
use hopflow_random::{Stream, Streams};
use hopflow_sim::spec::NodeSpec;
use hopflow_units::NodeId;

use super::{Circuits, Legs, Network, Path, RandomPath, Scenario};

/// Draws of a path after which its relays need not be other ones any more.
pub(super) const PATIENCE: usize = 1000;

/// The paths of one network, which are drawn circuit by circuit.
pub(super) struct Paths<'a> {
    network: &'a Network,
    relays: &'a [NodeSpec],
    /// The relays of the source, the last of the relays above.
    population: Option<Arc<Population>>,
    selectors: BTreeMap<u32, PathSelector>,
    /// Lines of the circuit file that no circuit has yet.
    lines: vec::IntoIter<Vec<NodeId>>,
}

impl<'a> Paths<'a> {
    /// The paths of the network that has these relays, which the streams are those of.
    pub(super) fn new(
        scenario: &'a Scenario,
        population: Option<Arc<Population>>,
        relays: &'a [NodeSpec],
        streams: Streams,
    ) -> Self {
        Self {
            network: &scenario.network,
            relays,
            population,
            selectors: BTreeMap::new(),
            lines: lines(scenario, relays.len(), streams).into_iter(),
        }
    }

    /// The path of the next circuit; none if the source's relays allow none.
    pub(super) fn draw(&mut self, path: &Path, stream: &mut Stream) -> Option<Vec<NodeId>> {
        match path {
            Path::Named(names) => Some(numbered(draw_named(names, self.network, stream))),
            Path::Random(path) => Some(numbered(draw_random(*path, self.relays, stream))),
            Path::Tor(path) => self.draw_tor(path.tor, stream),
            Path::Published => self.lines.next(),
        }
    }

    fn draw_tor(&mut self, length: u32, stream: &mut Stream) -> Option<Vec<NodeId>> {
        let population = self.population.as_ref()?;
        let first = self.relays.len() - population.relays.len();
        let selector = match self.selectors.entry(length) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(PathSelector::new(population, length as usize).ok()?),
        };
        let path = selector.draw(stream)?;
        Some(numbered(
            path.into_iter().map(|relay| first + relay as usize),
        ))
    }

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

    /// Whether the relays of a path with ends of another one may be together.
    fn are_allowed(&self, rule: &Path, path: &[NodeId]) -> bool {
        let (Path::Tor(rule), Some(population)) = (rule, &self.population) else {
            return true;
        };
        let first = self.relays.len() - population.relays.len();
        let path: Vec<u32> = path
            .iter()
            .map(|node| (node.index() - first) as u32)
            .collect();
        let selector = self.selectors.get(&rule.tor);
        selector.is_none_or(|selector| selector.allows(&path))
    }

    /// A path with the ends of the others, and other relays where there is a choice.
    fn draw_leg(
        &mut self,
        group: &Circuits,
        others: &[Vec<NodeId>],
        stream: &mut Stream,
    ) -> Vec<NodeId> {
        let first = &others[0];
        let own = group.own_places(first.len());
        let chosen = match &group.path {
            Path::Named(names) => {
                let drawn = names.iter().map(|name| self.network.has_group(name));
                drawn.collect()
            }
            _ => vec![true; first.len()],
        };
        let mut leg = first.clone();
        for attempt in 0..2 * PATIENCE {
            let Some(mut path) = self.draw(&group.path, stream) else {
                break;
            };
            group.share_ends(first, &mut path);
            if !distinct(&path) || !self.are_allowed(&group.path, &path) {
                continue;
            }
            leg = path;
            let mut free = own.clone().filter(|&place| chosen[place]);
            let used = |relay: &NodeId| others.iter().any(|other| other.contains(relay));
            if attempt >= PATIENCE || !free.any(|place| used(&leg[place])) {
                break;
            }
        }
        leg
    }
}

/// Different lines of the circuit file, as many as circuits ask for, in the file's order.
fn lines(scenario: &Scenario, relays: usize, streams: Streams) -> Vec<Vec<NodeId>> {
    let Some(file) = &scenario.loaded.circuits else {
        return Vec::new();
    };
    let groups = scenario.circuits.iter();
    let published = groups.filter(|group| group.path == Path::Published);
    let wanted = published.map(|group| group.count as usize).sum();
    let first = relays - file.relays.len();
    let mut stream = streams.stream("lines", 0);
    let mut left: Vec<usize> = (0..file.paths.len()).collect();
    for taken in 0..wanted {
        let other = stream.integer(taken as u64, left.len() as u64 - 1);
        left.swap(taken, other as usize);
    }
    left.truncate(wanted);
    left.sort_unstable();
    let path = |line: usize| {
        let relays = file.paths[line].iter();
        numbered(relays.map(|relay| first + *relay as usize))
    };
    left.into_iter().map(path).collect()
}

fn numbered(path: impl IntoIterator<Item = usize>) -> Vec<NodeId> {
    let number = |relay| NodeId::new(relay as u32);
    path.into_iter().map(number).collect()
}

/// Fills the names of groups with members that stand nowhere else in the path.
fn draw_named(names: &[String], network: &Network, stream: &mut Stream) -> Vec<usize> {
    let candidates: Vec<_> = names.iter().map(|name| network.numbers(name)).collect();
    let mut taken: Vec<_> = candidates
        .iter()
        .filter(|range| range.len() == 1)
        .map(|range| range.start)
        .collect();
    let mut draw = |range: &Range<usize>| {
        if range.len() == 1 {
            return range.start;
        }
        let free: Vec<_> = range
            .clone()
            .filter(|relay| !taken.contains(relay))
            .collect();
        let relay = free[stream.integer(0, free.len() as u64 - 1) as usize];
        taken.push(relay);
        relay
    };
    candidates.iter().map(&mut draw).collect()
}

/// Draws different relays, one after another, among those that are left.
fn draw_random(path: RandomPath, relays: &[NodeSpec], stream: &mut Stream) -> Vec<usize> {
    let weight = |relay: &NodeSpec| {
        if !path.weighted {
            return 1;
        }
        let shaped = relay.bucket.map(|bucket| bucket.rate.bytes_per_sec());
        shaped
            .unwrap_or(u64::MAX)
            .min(relay.access.rate.bytes_per_sec())
    };
    let mut weights = fitting(relays.iter().map(weight).collect());
    let mut draw = |_| {
        let total: u64 = weights.iter().sum();
        let mut left = stream.integer(0, total - 1);
        let relay = weights
            .iter()
            .position(|weight| match left.checked_sub(*weight) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            })
            .expect("the draw lies below the total");
        weights[relay] = 0;
        relay
    };
    (0..path.random).map(&mut draw).collect()
}

/// The weights, with fewer digits if their sum would not fit; none becomes zero.
fn fitting(mut weights: Vec<u64>) -> Vec<u64> {
    let total: u128 = weights.iter().copied().map(u128::from).sum();
    let excess = (u128::BITS - total.leading_zeros()).saturating_sub(u64::BITS);
    if excess > 0 {
        for weight in &mut weights {
            *weight = (*weight >> (excess + 1)).max(1);
        }
    }
    weights
}

fn distinct(path: &[NodeId]) -> bool {
    (1..path.len()).all(|place| !path[..place].contains(&path[place]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_cut_only_where_their_sum_would_not_fit() {
        let large = u64::MAX / 2;
        assert_eq!(fitting(vec![large, 1, large]), [large, 1, large]);
        let cut = fitting(vec![large, 1, large, large, 1 << 59]);
        assert_eq!(cut[1], 1);
        assert_eq!(cut[0] / cut[4], large / (1 << 59));
        assert!(cut.into_iter().try_fold(0, u64::checked_add).is_some());
    }

    #[test]
    fn relays_of_enormous_rates_are_drawn() {
        let text = "name = \"fast\"\nduration = \"1 s\"\nseeds = 1\n[transports.vanilla]\n\
                    [network]\naccess = { rate = \"9000000000000 MB/s\" }\n\
                    [[network.relays]]\nname = \"relay\"\ncount = 9\n\
                    [[circuits]]\npath = { random = 3, weighted = true }\nworkload = \"web\"\n";
        let world = Scenario::parse(text, "fast.toml").unwrap().sample(1);
        assert!(distinct(&world.circuits[0].path));
    }
}
