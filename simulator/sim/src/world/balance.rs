//! Which partition runs which lanes.

use std::cmp::Reverse;
use std::sync::Arc;

use super::address::CircuitEnd;
use super::grid::{Grid, Place};
use super::lane::Lane;
use super::outbox::Arrival;
use super::partition::Partition;
use super::shared::Shared;
use super::users::{Directions, Leg};

/// Lanes that belong together: a client with its guard, to which it sends most.
#[derive(Clone, Debug)]
struct Clusters {
    /// The lane that stands for the cluster of each lane.
    head: Vec<u32>,
}

impl Clusters {
    fn new(lanes: usize, users: &[Directions]) -> Self {
        let mut relays = vec![false; lanes];
        for hops in users.iter().flat_map(|user| &user.legs).map(Leg::hops) {
            for (position, (node, _)) in hops.iter().enumerate() {
                relays[node.machine()] |= position > 0;
            }
        }
        let mut head: Vec<_> = (0..lanes as u32).collect();
        for user in users {
            let client = user.ends[CircuitEnd::Client as usize].machine as usize;
            // The first circuit counts.
            if !relays[client] && user.turn == 0 {
                let (guard, _) = user.legs[0].hops()[1];
                head[client] = guard.machine() as u32;
            }
        }
        Self { head }
    }

    /// The partition of each lane, such that all have about the same of these loads: the heaviest
    /// cluster first, each to the partition that has least (longest processing time first).
    fn assign(&self, loads: &[u64], partitions: usize) -> Vec<u32> {
        let mut of_cluster = vec![0; loads.len()];
        for (&head, load) in self.head.iter().zip(loads) {
            // Idle lanes count, so that they do not all come to one partition.
            of_cluster[head as usize] += load + 1;
        }
        let mut order: Vec<_> = (0..loads.len()).collect();
        order.sort_by_key(|&head| (Reverse(of_cluster[head]), head));
        let (mut sums, mut partition_of) = (vec![0; partitions], vec![0; loads.len()]);
        for head in order {
            let least = (0..partitions).min_by_key(|&partition| sums[partition]);
            let least = least.expect("there is a partition");
            sums[least] += of_cluster[head];
            partition_of[head] = least as u32;
        }
        let heads = self.head.iter();
        heads.map(|&head| partition_of[head as usize]).collect()
    }
}

/// Events in a window that are worth a thread: as long as they take, threads may wait for each other
/// at its end.
const WORTH_A_THREAD: u64 = 512;

/// How many partitions there are to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Partitions {
    /// As many as are worth it, up to this number.
    UpTo(usize),
    /// This number.
    Exactly(usize),
}

impl Partitions {
    /// Whether there is to be one in any case.
    pub(super) const fn is_one(self) -> bool {
        matches!(self, Self::UpTo(0 | 1) | Self::Exactly(0 | 1))
    }
}

/// Keeps partitions about equally busy.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    clusters: Clusters,
    /// The partition of each lane.
    partition_of: Vec<u32>,
    /// Events of each lane until the lanes were last looked at.
    before: Vec<u64>,
}

impl Balance {
    pub(super) fn new(lanes: usize, users: &[Directions]) -> Self {
        Self {
            clusters: Clusters::new(lanes, users),
            partition_of: vec![0; lanes],
            before: vec![0; lanes],
        }
    }

    /// Distributes the lanes anew by what they did in the latest windows: if there are to be more or
    /// fewer partitions, or the busiest one would have 5 % less to do.
    pub(super) fn balance(
        &mut self,
        old: Vec<Partition>,
        wanted: Partitions,
        windows: u64,
        grid: &mut Grid,
    ) -> Vec<Partition> {
        if old.len() == 1 && wanted.is_one() {
            return old;
        }
        let loads = self.loads(&old);
        let lanes = loads.len().max(1);
        let count = match wanted {
            Partitions::Exactly(count) => count.clamp(1, lanes),
            Partitions::UpTo(most) => {
                let events = loads.iter().sum::<u64>() / windows.max(1);
                ((events / WORTH_A_THREAD) as usize).clamp(1, most.clamp(1, lanes))
            }
        };
        let partition_of = self.clusters.assign(&loads, count);
        let now = heaviest(&loads, &self.partition_of, old.len());
        if old.len() == count && heaviest(&loads, &partition_of, count) * 100 > now * 95 {
            return old;
        }
        self.partition_of = partition_of;
        distribute(old, &self.partition_of, count, grid)
    }

    /// All lanes in one partition, in the order of machines.
    pub(super) fn join(&mut self, old: Vec<Partition>, grid: &mut Grid) -> Vec<Partition> {
        if old.len() == 1 {
            return old;
        }
        self.partition_of.fill(0);
        distribute(old, &self.partition_of, 1, grid)
    }

    /// Events of each lane since the last call.
    fn loads(&mut self, partitions: &[Partition]) -> Vec<u64> {
        let mut loads = vec![0; self.before.len()];
        for lane in partitions.iter().flat_map(|partition| &partition.lanes) {
            let before = &mut self.before[lane.number as usize];
            loads[lane.number as usize] = lane.events - *before;
            *before = lane.events;
        }
        loads
    }
}

/// The load of the partition that has most.
fn heaviest(loads: &[u64], partition_of: &[u32], partitions: usize) -> u64 {
    let mut sums = vec![0; partitions];
    for (load, &partition) in loads.iter().zip(partition_of) {
        sums[partition as usize] += load;
    }
    sums.into_iter().max().unwrap_or(0)
}

/// All lanes as one partition.
pub(super) fn join(lanes: Vec<Lane>, grid: &mut Grid) -> Partition {
    let places = (0..lanes.len() as u32).map(|index| Place {
        partition: 0,
        index,
    });
    grid.places = Arc::new(places.collect());
    let shared = grid.shared();
    Partition::new((0, 1), lanes, grid, shared)
}

/// The lanes of some partitions as others: `partition_of` tells which, for each lane.
fn distribute(
    old: Vec<Partition>,
    partition_of: &[u32],
    count: usize,
    grid: &mut Grid,
) -> Vec<Partition> {
    let mut new: Vec<(Vec<Lane>, Shared)> = Vec::new();
    new.resize_with(count, || (Vec::new(), grid.shared()));
    let unknown = Place {
        partition: 0,
        index: 0,
    };
    let mut places = vec![unknown; partition_of.len()];
    let (mut lanes, mut arrivals) = (Vec::new(), Vec::new());
    for mut partition in old {
        for arrival in partition.take_arrivals() {
            let to = partition_of[arrival.packet.to.node.machine()];
            let packets = &mut new[to as usize].1.packets;
            let packet = partition.shared.packets.pass(arrival.packet, packets);
            arrivals.push((to, Arrival { packet, ..arrival }));
        }
        for mut lane in partition.lanes {
            let to = partition_of[lane.number as usize];
            let packets = &mut new[to as usize].1.packets;
            lane.move_packets(&mut partition.shared.packets, packets);
            lanes.push(lane);
        }
    }
    lanes.sort_by_key(|lane| lane.number);
    for lane in lanes {
        let partition = partition_of[lane.number as usize];
        let to = &mut new[partition as usize].0;
        places[lane.number as usize] = Place {
            partition,
            index: to.len() as u32,
        };
        to.push(lane);
    }
    grid.places = Arc::new(places);
    let new = (0..).zip(new);
    let mut new: Vec<_> = new
        .map(|(number, (lanes, shared))| Partition::new((number, count), lanes, grid, shared))
        .collect();
    for (partition, arrival) in arrivals {
        new[partition as usize].accept(arrival);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_clusters_come_first_and_clients_stay_with_their_guards() {
        let clusters = Clusters {
            head: vec![0, 1, 2, 0, 1],
        };
        let loads = [50, 90, 31, 10, 10];
        assert_eq!(clusters.assign(&loads, 2), [1, 0, 1, 1, 0]);
        assert_eq!(clusters.assign(&loads, 1), [0; 5]);
        assert_eq!(heaviest(&loads, &[1, 0, 1, 1, 0], 2), 100);
        assert_eq!(heaviest(&loads, &[1, 0, 0, 1, 0], 2), 131);
    }
}
