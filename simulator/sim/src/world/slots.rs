//! The order in which simultaneous events happen.

use super::address::NodeAt;
use super::timeline::{EventSource, Timeline};
use crate::engine::Slot;

/// The places in the agenda of all event sources but TCP connections, which follow them.
pub(crate) struct Slots {
    /// The uplink of each machine.
    pub(crate) up: Vec<Slot>,
    /// The downlink of each machine.
    pub(crate) down: Vec<Slot>,
    /// The nodes of each machine.
    pub(crate) nodes: Vec<Vec<Slot>>,
    pub(crate) schedule: Slot,
    pub(crate) sampler: Slot,
    /// Each direction of each link between routers.
    pub(crate) trunks: Vec<Slot>,
}

impl Slots {
    /// Adds the sources of machines with so many nodes each, and of so many trunks.
    pub(crate) fn new(timeline: &mut Timeline, nodes: &[usize], trunks: usize) -> Self {
        let machines = 0..nodes.len() as u32;
        let up = machines.clone().map(EventSource::Uplink);
        let up = up.map(|source| timeline.add(source)).collect();
        let down = machines.map(EventSource::Downlink);
        let down = down.map(|source| timeline.add(source)).collect();
        let mut timers = vec![Vec::new(); nodes.len()];
        for position in 0..nodes.iter().copied().max().unwrap_or(0) {
            let there = nodes.iter().zip(&mut timers).enumerate();
            for (machine, (_, timers)) in there.filter(|(_, (count, _))| **count > position) {
                let node = NodeAt::new(machine, position as u16);
                timers.push(timeline.add(EventSource::Node(node)));
            }
        }
        Self {
            up,
            down,
            nodes: timers,
            schedule: timeline.add(EventSource::Schedule),
            sampler: timeline.add(EventSource::Sampler),
            trunks: (0..trunks as u32)
                .map(|trunk| timeline.add(EventSource::Backbone(trunk)))
                .collect(),
        }
    }
}
