//! The paths of packets between the routers of the access links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopflow_units::Duration;

use crate::spec::Backbone;

/// Which links packets take between routers.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// The router of each machine.
    router_of: Vec<u32>,
    /// By router of the destination and router where the packet is.
    paths: Vec<Path>,
    routers: usize,
}

/// How packets get from one router to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Path {
    /// They are there.
    Here,
    /// Over links without a rate, on which packets do not wait: how long it takes, and the last of
    /// the links.
    Delay(Duration, u32),
    /// Over links of which one at least has a rate: the first of them.
    Trunk(u32),
}

impl Routes {
    /// The routes between the routers of so many machines.
    ///
    /// Links have two directions: those of link `n` are `2 n` and `2 n + 1`.
    pub(crate) fn new(spec: &Backbone, machines: usize) -> Self {
        let routers = spec.routers();
        Self {
            router_of: (0..machines).map(|machine| spec.router(machine)).collect(),
            paths: (0..routers)
                .flat_map(|to| paths_to(to, routers, spec))
                .collect(),
            routers,
        }
    }

    /// The router of a machine.
    pub(crate) fn router_of(&self, machine: usize) -> u32 {
        self.router_of[machine]
    }

    /// The path from a router towards a machine.
    #[inline]
    pub(crate) fn path(&self, router: u32, machine: usize) -> Path {
        let to = self.router_of[machine];
        if to == router {
            return Path::Here;
        }
        self.paths[to as usize * self.routers + router as usize]
    }

    /// How long a packet is between the routers of two machines, if that is known when it is sent.
    pub(crate) fn delay(&self, from: usize, to: usize) -> Duration {
        match self.path(self.router_of[from], to) {
            Path::Delay(delay, _) => delay,
            Path::Here | Path::Trunk(_) => Duration::ZERO,
        }
    }

    /// Whether packets of several machines may wait for each other on their way.
    pub(crate) fn wait(&self) -> bool {
        let mut paths = self.paths.iter();
        paths.any(|path| matches!(path, Path::Trunk(_)))
    }
}

/// The paths of all routers to one.
fn paths_to(to: usize, routers: usize, spec: &Backbone) -> Vec<Path> {
    let next = links_towards(to, routers, spec);
    let path = |from: usize| {
        let (mut at, mut delay, mut last, mut waits) = (from, Duration::ZERO, 0, false);
        while at != to {
            last = next[at];
            let link = &spec.links[last as usize / 2];
            delay += link.delay;
            waits |= link.rate.is_some();
            // The first direction leads from the first router of the link to the second.
            at = link.between[1 - last as usize % 2] as usize;
        }
        match (from == to, waits) {
            (true, _) => Path::Here,
            (false, true) => Path::Trunk(next[from]),
            (false, false) => Path::Delay(delay, last),
        }
    };
    (0..routers).map(path).collect()
}

/// For each router the link to take towards the router `to`: the one on the path of the least
/// delay, and among equal paths on that of the fewest links.
fn links_towards(to: usize, routers: usize, spec: &Backbone) -> Vec<u32> {
    let mut best = vec![(u64::MAX, u32::MAX); routers];
    let mut next = vec![u32::MAX; routers];
    let mut open = BinaryHeap::from([Reverse((0, 0, to))]);
    best[to] = (0, 0);
    while let Some(Reverse((delay, hops, near))) = open.pop() {
        if (delay, hops) > best[near] {
            continue;
        }
        for (number, link) in spec.links.iter().enumerate() {
            let [a, b] = link.between.map(|router| router as usize);
            // Packets go from `far` to `near`.
            for (far, end, direction) in [(a, b, 2 * number), (b, a, 2 * number + 1)] {
                let length = (delay + link.delay.as_nanos(), hops + 1);
                if end == near && length < best[far] {
                    best[far] = length;
                    next[far] = direction as u32;
                    open.push(Reverse((length.0, length.1, far)));
                }
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use hopflow_units::Rate;

    use super::*;
    use crate::spec::{BackboneLink, QueueSpec};

    fn link(between: [u32; 2], millis: u64) -> BackboneLink {
        BackboneLink {
            between,
            rate: None,
            delay: Duration::from_millis(millis),
            queue: QueueSpec::DropTail { packets: 100 },
        }
    }

    fn delay(millis: u64, last: u32) -> Path {
        Path::Delay(Duration::from_millis(millis), last)
    }

    #[test]
    fn packets_take_the_path_of_least_delay_and_then_of_fewest_links() {
        let spec = Backbone {
            router_of: vec![0, 1, 2],
            links: vec![
                link([0, 1], 10),
                link([1, 2], 10),
                link([0, 2], 25),
                link([2, 0], 20),
            ],
        };
        let routes = Routes::new(&spec, 3);
        assert_eq!(routes.path(0, 0), Path::Here);
        assert_eq!(routes.path(0, 1), delay(10, 0));
        assert_eq!(routes.path(1, 0), delay(10, 1));
        assert_eq!(
            routes.path(0, 2),
            delay(20, 7),
            "20 ms in one link, not in two"
        );
        assert_eq!(routes.path(2, 0), delay(20, 6));
        assert!(!routes.wait());
    }

    #[test]
    fn a_path_with_one_rate_leads_over_its_links() {
        let mut spec = Backbone {
            router_of: vec![0, 1, 2],
            links: vec![link([0, 1], 10), link([1, 2], 5)],
        };
        assert_eq!(Routes::new(&spec, 3).path(0, 2), delay(15, 2));
        spec.links[1].rate = Some(Rate::from_kilobytes_per_sec(100));
        let routes = Routes::new(&spec, 3);
        assert_eq!(routes.path(0, 2), Path::Trunk(0));
        assert_eq!(routes.path(1, 2), Path::Trunk(2));
        assert_eq!(routes.path(0, 1), delay(10, 0));
        assert!(routes.wait());
    }
}
