//! Routers and the links between them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopflow_netem::LinkConfig;
use hopflow_random::Streams;

use super::packets::Packet;
use super::pipe::Pipe;
use super::shared::Shared;
use crate::engine::Slot;
use crate::spec::Backbone;

/// The routers that join the access links; without links between routers, a hub.
#[derive(Debug)]
pub(crate) struct Routers {
    /// Each direction of each link: those of link `n` are `2 n` and `2 n + 1`.
    trunks: Vec<Trunk>,
    /// The router of each machine.
    router_of: Vec<u32>,
    /// The trunk to take, by router of the destination and router.
    routes: Vec<u32>,
    count: usize,
}

/// One direction of a link between routers.
#[derive(Debug)]
struct Trunk {
    pipe: Pipe,
    to: u32,
}

impl Routers {
    /// The network between the access links of so many machines; `slots` has one for each
    /// direction of each link.
    pub(crate) fn new(
        spec: &Backbone,
        machines: usize,
        random: Streams,
        slots: impl IntoIterator<Item = Slot>,
    ) -> Self {
        let directions = spec.links.iter().flat_map(|link| [(link, 1), (link, 0)]);
        let mut trunks = Vec::new();
        for ((link, side), slot) in directions.zip(slots) {
            let config = LinkConfig {
                rate: link.rate,
                queue: link.queue.into(),
                ..LinkConfig::pure_delay(link.delay)
            };
            let random = random.stream("backbone", trunks.len() as u64);
            trunks.push(Trunk {
                pipe: Pipe::new(config, random, slot),
                to: link.between[side],
            });
        }
        let count = spec.routers();
        Self {
            trunks,
            router_of: (0..machines).map(|machine| spec.router(machine)).collect(),
            routes: (0..count)
                .flat_map(|to| routes_to(to, count, spec))
                .collect(),
            count,
        }
    }

    /// The trunk from a router towards a machine; `None` if the machine is at the router.
    fn trunk(&self, router: u32, machine: usize) -> Option<usize> {
        let to = self.router_of[machine];
        (to != router).then(|| self.routes[to as usize * self.count + router as usize] as usize)
    }

    /// Takes a packet from a machine's uplink; gives it back if it has reached the router of its
    /// destination.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        machine: usize,
        packet: Packet,
        shared: &mut Shared,
    ) -> Option<Packet> {
        if self.trunks.is_empty() {
            return Some(packet);
        }
        self.forward(self.router_of[machine], packet, shared)
    }

    /// Forwards a packet that is at a router; gives it back if this is the router of its
    /// destination.
    fn forward(&mut self, router: u32, packet: Packet, shared: &mut Shared) -> Option<Packet> {
        let Some(trunk) = self.trunk(router, packet.to.node.machine()) else {
            return Some(packet);
        };
        self.trunks[trunk].pipe.send(packet, shared);
        None
    }

    /// Forwards what has come through a trunk, up to the next packet that has reached the router
    /// of its destination. Ask until there is none.
    pub(crate) fn arrive(&mut self, trunk: usize, shared: &mut Shared) -> Option<Packet> {
        let router = self.trunks[trunk].to;
        while let Some(packet) = self.trunks[trunk].pipe.receive(shared.now()) {
            let arrived = self.forward(router, packet, shared);
            if arrived.is_some() {
                return arrived;
            }
        }
        self.trunks[trunk].pipe.settle(shared);
        None
    }
}

/// For each router the link to take towards the router `to`: the one on the path of the least
/// delay, and among equal paths on that of the fewest links.
fn routes_to(to: usize, routers: usize, spec: &Backbone) -> Vec<u32> {
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
    use hopflow_units::Duration;

    use super::*;
    use crate::spec::{BackboneLink, QueueSpec};
    use crate::world::timeline::{EventSource, Timeline};

    fn link(between: [u32; 2], millis: u64) -> BackboneLink {
        BackboneLink {
            between,
            rate: None,
            delay: Duration::from_millis(millis),
            queue: QueueSpec::DropTail { packets: 100 },
        }
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
        let mut timeline = Timeline::new();
        let slots: Vec<_> = (0..8)
            .map(|trunk| timeline.add(EventSource::Backbone(trunk)))
            .collect();
        let routers = Routers::new(&spec, 3, Streams::new(1), slots);
        assert_eq!(routers.trunk(0, 0), None);
        assert_eq!(routers.trunk(0, 1), Some(0));
        assert_eq!(routers.trunk(1, 0), Some(1));
        assert_eq!(
            routers.trunk(0, 2),
            Some(7),
            "20 ms in one link, not in two"
        );
        assert_eq!(routers.trunk(2, 0), Some(6));
    }
}
