//! Links between routers on which packets may wait for each other.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use hopflow_netem::LinkConfig;
use hopflow_random::Streams;
use hopflow_units::Instant;

use super::grid::Place;
use super::mail::Mail;
use super::outbox::Arrival;
use super::packets::Packet;
use super::pipe::Pipe;
use super::routes::Path;
use super::shared::Shared;
use crate::spec::Backbone;

/// All links between routers, with what is on them.
#[derive(Clone, Debug)]
pub(crate) struct Trunks {
    /// Each direction of each link: those of link `n` are `2 n` and `2 n + 1`.
    directions: Vec<Trunk>,
    /// When something happens on each of them that is in use; of simultaneous events, that of the
    /// first link comes first.
    agenda: BTreeSet<(Instant, usize)>,
    /// Packets that will reach the router of the machine that sent them.
    entries: BinaryHeap<Reverse<Arrival>>,
    /// Packets that have left so far.
    departed: u64,
    /// What is for partitions.
    mail: Vec<Mail>,
    pub(crate) events: u64,
    shared: Shared,
}

/// One direction of a link between routers.
#[derive(Clone, Debug)]
struct Trunk {
    pipe: Pipe,
    to: u32,
    /// When something happens next.
    next: Option<Instant>,
}

impl Trunks {
    pub(crate) fn new(spec: &Backbone, random: Streams, shared: Shared) -> Self {
        let sides = spec.links.iter().flat_map(|link| [(link, 1), (link, 0)]);
        let mut trunks = Vec::new();
        for (link, side) in sides {
            let config = LinkConfig {
                rate: link.rate,
                queue: link.queue.into(),
                ..LinkConfig::pure_delay(link.delay)
            };
            let random = random.stream("backbone", trunks.len() as u64);
            trunks.push(Trunk {
                pipe: Pipe::new(config, random),
                to: link.between[side],
                next: None,
            });
        }
        Self {
            agenda: BTreeSet::new(),
            directions: trunks,
            entries: BinaryHeap::new(),
            departed: 0,
            mail: Vec::new(),
            events: 0,
            shared,
        }
    }

    /// Takes packets that will reach the routers of their senders.
    pub(crate) fn receive(&mut self, mail: &mut Mail) {
        let entries = &mut self.entries;
        mail.take_arrivals(&mut self.shared.packets, |entry| {
            entries.push(Reverse(entry));
        });
    }

    /// All packets that have reached the routers of their destinations, by partition.
    pub(crate) fn post(&mut self, places: &[Place]) -> &mut [Mail] {
        for arrival in self.shared.out.arrivals.drain(..) {
            let place = places[arrival.packet.to.node.machine()];
            let partition = place.partition as usize;
            if self.mail.len() <= partition {
                self.mail.resize_with(partition + 1, Mail::default);
            }
            self.mail[partition].add(arrival, &mut self.shared.packets);
        }
        &mut self.mail
    }

    /// When something happens next, if it does before the end.
    pub(crate) fn next(&self) -> Option<Instant> {
        let entry = self.entries.peek().map(|Reverse(entry)| entry.at);
        let trunk = self.agenda.first().map(|(at, _)| *at);
        let next = entry.into_iter().chain(trunk).min();
        next.filter(|at| *at <= self.shared.end)
    }

    /// Handles all that happens before `limit`.
    pub(crate) fn run(&mut self, limit: Instant) {
        while let Some(now) = self
            .next()
            .filter(|at| *at < limit && *at <= self.shared.end)
        {
            self.events += 1;
            self.shared.now = now;
            if let Some(Reverse(entry)) = self.entries.peek()
                && entry.at == now
            {
                let Reverse(entry) = self.entries.pop().expect("there is one");
                let router = self.shared.routes.router_of(entry.from as usize);
                self.forward(router, 0, entry.packet);
            } else {
                self.arrive();
            }
        }
    }

    /// Packets have come to the end of the link that acts first.
    fn arrive(&mut self) {
        let (now, number) = *self.agenda.first().expect("a link acts");
        let trunk = &mut self.directions[number];
        let router = trunk.to;
        trunk.pipe.serve(now, &mut self.shared.packets);
        while let Some(packet) = self.directions[number].pipe.take_arrived(now) {
            self.forward(router, number as u32 + 1, packet);
        }
        self.rearm(number);
    }

    /// Forwards a packet that is at a router.
    fn forward(&mut self, router: u32, via: u32, packet: Packet) {
        let shared = &mut self.shared;
        let (at, via) = match shared.routes.path(router, packet.to.node.machine()) {
            Path::Trunk(trunk) => {
                let number = trunk as usize;
                let pipe = &mut self.directions[number].pipe;
                pipe.send(shared.now, packet, &mut shared.packets);
                return self.rearm(number);
            }
            Path::Here => (shared.now, via),
            Path::Delay(delay, last) => (shared.now + delay, last + 1),
        };
        let order = self.departed;
        self.departed += 1;
        shared.out.arrivals.push(Arrival {
            at,
            via,
            from: u32::MAX,
            order,
            packet,
        });
    }

    fn rearm(&mut self, number: usize) {
        let trunk = &mut self.directions[number];
        let next = [trunk.pipe.next_arrival(), trunk.pipe.next_service()];
        let next = next.into_iter().flatten().min();
        if next != trunk.next {
            self.agenda.extend(next.map(|at| (at, number)));
            let before = std::mem::replace(&mut trunk.next, next);
            before.map(|at| self.agenda.remove(&(at, number)));
        }
    }
}
