//! Who has most of something.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_engine::{CircuitKey, Network};

/// Whose something is: a circuit's, which somebody began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Owner {
    pub(super) network: Network,
    pub(super) circuit: CircuitKey,
}

/// How many each circuit has of something, and all circuits of a network, so that those that have most are found
/// at once.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    circuits: BTreeSet<(usize, CircuitKey)>,
    /// The same of those that a network began.
    within: BTreeSet<(Network, usize, CircuitKey)>,
    networks: BTreeMap<Network, usize>,
    /// By how many they have for each share that they have.
    of_networks: BTreeSet<(usize, Network)>,
}

impl Ranks {
    /// An owner had `before`, and has `count`.
    pub(super) fn change(&mut self, owner: Owner, before: usize, count: usize) {
        let Owner { network, circuit } = owner;
        self.circuits.remove(&(before, circuit));
        self.within.remove(&(network, before, circuit));
        if count > 0 {
            self.circuits.insert((count, circuit));
            self.within.insert((network, count, circuit));
        }
        let had = self.networks.remove(&network).unwrap_or(0);
        self.of_networks.remove(&(network.weight(had), network));
        let has = had + count - before;
        if has > 0 {
            self.networks.insert(network, has);
            self.of_networks.insert((network.weight(has), network));
        }
    }

    /// How many all circuits of a network have, for each share of the network: a relay counts for eight networks.
    pub(super) fn of_network(&self, network: Network) -> usize {
        let has = self.networks.get(&network).copied().unwrap_or(0);
        network.weight(has)
    }

    /// The network that has most for each of its shares, and how many that are.
    pub(super) fn heaviest_network(&self) -> Option<(usize, Network)> {
        self.of_networks.last().copied()
    }

    /// The circuit of a network that has most, and how many that are.
    pub(super) fn heaviest_of(&self, network: Network) -> Option<(usize, CircuitKey)> {
        let end = (network, usize::MAX, CircuitKey::default());
        let last = self.within.range(..end).next_back();
        let (_, most, circuit) = last.filter(|(other, ..)| *other == network)?;
        Some((*most, *circuit))
    }

    /// How many the circuit has that has most.
    pub(super) fn most(&self) -> usize {
        self.circuits.last().map_or(0, |(most, _)| *most)
    }

    /// Whether nobody has any.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            circuits,
            within,
            networks,
            of_networks,
        } = self;
        circuits.is_empty() && within.is_empty() && networks.is_empty() && of_networks.is_empty()
    }
}
