//! Routers and the links between them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopflow_random::{Stream, Streams};

use super::packets::Packet;
use super::{Source, World, offer};
use crate::spec;
use hopflow_netem::{Link, LinkConfig};

/// The routers that join the access links; without links of its own, a hub.
#[derive(Debug, Default)]
pub(super) struct Backbone {
    /// Each direction of each link: those of link `n` are `2 n` and `2 n + 1`.
    links: Vec<Way>,
    /// The router of each node.
    router_of: Vec<u32>,
    /// The way to take, by router and router of the destination.
    routes: Vec<u32>,
    routers: usize,
}

/// One direction of a link.
#[derive(Debug)]
struct Way {
    link: Link<Packet>,
    rng: Stream,
    to: u32,
}

impl Backbone {
    /// The network between access links; `homes` says for each node whose link it uses.
    pub(super) fn new(
        spec: &spec::Backbone,
        homes: impl Iterator<Item = usize>,
        random: Streams,
    ) -> Self {
        let mut links = Vec::new();
        for link in &spec.links {
            for side in [1, 0] {
                let config = LinkConfig {
                    rate: link.rate,
                    queue: link.queue.into(),
                    ..LinkConfig::pure_delay(link.delay)
                };
                links.push(Way {
                    link: Link::new(config),
                    rng: random.stream("backbone", links.len() as u64),
                    to: link.between[side],
                });
            }
        }
        let routers = spec.routers();
        let router_of = homes.map(|home| spec.router(home)).collect();
        let trees = (0..routers).flat_map(|to| routes_to(to, routers, spec));
        Self {
            links,
            router_of,
            routes: trees.collect(),
            routers,
        }
    }

    /// Directions of links, each an event source.
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// The way from a router towards a node; `None` if the node is at the router.
    fn way(&self, router: u32, node: u32) -> Option<usize> {
        let to = self.router_of[node as usize];
        (to != router).then(|| self.routes[to as usize * self.routers + router as usize] as usize)
    }
}

/// For each router the way to take towards the router `to`: that of the least delay, and among
/// equals that over the fewest links.
fn routes_to(to: usize, routers: usize, spec: &spec::Backbone) -> Vec<u32> {
    let mut best = vec![(u64::MAX, u32::MAX); routers];
    let mut ways = vec![u32::MAX; routers];
    let mut open = BinaryHeap::from([Reverse((0, 0, to))]);
    best[to] = (0, 0);
    while let Some(Reverse((delay, hops, near))) = open.pop() {
        if (delay, hops) > best[near] {
            continue;
        }
        for (number, link) in spec.links.iter().enumerate() {
            let [a, b] = link.between.map(|router| router as usize);
            // Packets go from `far` to `near`.
            for (far, end, way) in [(a, b, 2 * number), (b, a, 2 * number + 1)] {
                let length = (delay + link.delay.as_nanos(), hops + 1);
                if end == near && length < best[far] {
                    best[far] = length;
                    ways[far] = way as u32;
                    open.push(Reverse((length.0, length.1, far)));
                }
            }
        }
    }
    ways
}

impl World {
    /// A packet is at a router: it goes on towards its node.
    #[inline]
    pub(super) fn route(&mut self, router: u32, packet: Packet) {
        match self.backbone.way(router, packet.node) {
            None => self.send_down(packet),
            Some(way) => {
                let Way { link, rng, .. } = &mut self.backbone.links[way];
                offer(link, rng, self.now, packet, &mut self.packets);
                let next = link.next_event();
                self.agenda.set(self.slot(Source::Backbone(way)), next);
            }
        }
    }

    /// A packet has left its node's uplink.
    #[inline]
    pub(super) fn leave(&mut self, node: usize, packet: Packet) {
        if self.backbone.links.is_empty() {
            self.send_down(packet);
        } else {
            self.route(self.backbone.router_of[node], packet);
        }
    }

    /// Packets have reached the router at the end of a link.
    pub(super) fn at_router(&mut self, way: usize) {
        let router = self.backbone.links[way].to;
        while let Some(packet) = self.backbone.links[way].link.receive(self.now) {
            self.route(router, packet);
        }
        let link = &mut self.backbone.links[way].link;
        while let Some(packet) = link.take_dropped() {
            self.packets.free(packet.content());
        }
        let next = link.next_event();
        self.agenda.set(self.slot(Source::Backbone(way)), next);
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Duration;

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

    #[test]
    fn packets_take_the_path_of_least_delay_and_then_of_fewest_links() {
        let spec = spec::Backbone {
            router_of: vec![0, 1, 2],
            links: vec![
                link([0, 1], 10),
                link([1, 2], 10),
                link([0, 2], 25),
                link([2, 0], 20),
            ],
        };
        let backbone = Backbone::new(&spec, 0..3, Streams::new(1));
        assert_eq!(backbone.way(0, 0), None);
        assert_eq!(backbone.way(0, 1), Some(0));
        assert_eq!(backbone.way(1, 0), Some(1));
        assert_eq!(backbone.way(0, 2), Some(7), "20 ms in one link, not in two");
        assert_eq!(backbone.way(2, 0), Some(6));
    }
}
