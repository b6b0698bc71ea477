//! Simulated time and the pending events of all sources.

use hopflow_units::Instant;

use super::address::{ConnectionEnd, NodeAt};
use crate::engine::{Agenda, Slot};

/// What acts by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventSource {
    /// The uplink of a machine.
    Uplink(u32),
    /// The downlink of a machine.
    Downlink(u32),
    /// The timers of a node.
    Node(NodeAt),
    /// What is scheduled for later, such as requests of users.
    Schedule,
    /// The regular samples.
    Sampler,
    /// A link between routers.
    Backbone(u32),
    /// The timers of one end of a TCP connection.
    Connection(ConnectionEnd),
}

/// The time, and when each event source acts next.
///
/// Simultaneous events happen in the order in which their sources were added.
#[derive(Debug)]
pub(crate) struct Timeline {
    agenda: Agenda,
    /// The source of each slot of the agenda.
    sources: Vec<EventSource>,
    now: Instant,
    events: u64,
}

impl Timeline {
    pub(crate) fn new() -> Self {
        Self {
            agenda: Agenda::new(0),
            sources: Vec::new(),
            now: Instant::ZERO,
            events: 0,
        }
    }

    /// Adds a source behind all others.
    pub(crate) fn add(&mut self, source: EventSource) -> Slot {
        self.sources.push(source);
        self.agenda.add_slot()
    }

    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Events so far.
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    /// Sets when a source acts next.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, time: Option<Instant>) {
        self.agenda.set(slot, time);
    }

    /// Makes sure that a source acts at `time` or before.
    pub(crate) fn wake_by(&mut self, slot: Slot, time: Instant) {
        let pending = self.agenda.time_of(slot);
        let next = pending.map_or(time, |pending| pending.min(time));
        self.agenda.set(slot, Some(next));
    }

    /// Proceeds to the next event up to `end`; without one, to `end` itself.
    #[inline]
    pub(crate) fn advance(&mut self, end: Instant) -> Option<EventSource> {
        let next = self.agenda.next().filter(|(time, _)| *time <= end);
        let Some((time, slot)) = next else {
            self.now = end;
            return None;
        };
        debug_assert!(time >= self.now, "time runs forward");
        self.now = time;
        self.events += 1;
        Some(self.sources[slot.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn simultaneous_events_happen_in_the_order_of_their_sources() {
        let mut timeline = Timeline::new();
        let [up, schedule, sampler] = [
            EventSource::Uplink(0),
            EventSource::Schedule,
            EventSource::Sampler,
        ]
        .map(|source| timeline.add(source));
        timeline.set(sampler, Some(at(5)));
        timeline.set(up, Some(at(5)));
        timeline.wake_by(schedule, at(9));
        timeline.wake_by(schedule, at(4));
        timeline.wake_by(schedule, at(7));
        let mut order = Vec::new();
        while let Some(source) = timeline.advance(at(20)) {
            order.push((timeline.now(), source));
            let slot = match source {
                EventSource::Uplink(_) => up,
                EventSource::Schedule => schedule,
                _ => sampler,
            };
            timeline.set(slot, None);
        }
        let expected = [
            (at(4), EventSource::Schedule),
            (at(5), EventSource::Uplink(0)),
            (at(5), EventSource::Sampler),
        ];
        assert_eq!(order, expected);
        assert_eq!((timeline.now(), timeline.events()), (at(20), 3));
    }
}
