//! What happens at known times: requests, answers, connections and messages out of band.

use std::collections::BTreeMap;

use hopflow_units::Instant;
use hopflow_wire::Message;

use super::address::{ConnectionEnd, LinkEnd};
use super::timeline::Timeline;
use crate::engine::Slot;

/// Something that happens at a known time.
#[derive(Clone, Debug)]
pub(crate) enum Scheduled {
    /// A connection outside the overlay opens.
    Connect(ConnectionEnd),
    /// A user sends a request.
    Request(u32),
    /// The server of a user answers.
    Respond(u32),
    /// A message arrives out of band.
    Message { to: LinkEnd, message: Message },
}

/// All that is scheduled, by time and then in the order of adding.
///
/// One event source for all of it: such events are rare compared with packets.
#[derive(Debug)]
pub(crate) struct Schedule {
    pending: BTreeMap<(Instant, u64), Scheduled>,
    added: u64,
    slot: Slot,
}

impl Schedule {
    pub(crate) const fn new(slot: Slot) -> Self {
        Self {
            pending: BTreeMap::new(),
            added: 0,
            slot,
        }
    }

    pub(crate) fn add(&mut self, at: Instant, what: Scheduled, timeline: &mut Timeline) {
        self.pending.insert((at, self.added), what);
        self.added += 1;
        self.rearm(timeline);
    }

    /// Takes the next thing that is due; without one, sets when the next will be.
    pub(crate) fn pop_due(&mut self, timeline: &mut Timeline) -> Option<Scheduled> {
        if let Some(first) = self.pending.first_entry()
            && first.key().0 <= timeline.now()
        {
            return Some(first.remove());
        }
        self.rearm(timeline);
        None
    }

    fn rearm(&self, timeline: &mut Timeline) {
        let next = self.pending.first_key_value().map(|((at, _), _)| *at);
        timeline.set(self.slot, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::timeline::EventSource;

    #[test]
    fn simultaneous_entries_come_in_the_order_of_adding() {
        let mut timeline = Timeline::new();
        let mut schedule = Schedule::new(timeline.add(EventSource::Schedule));
        for (millis, user) in [(7, 0), (5, 1), (7, 2), (5, 3), (9, 4)] {
            let at = Instant::from_nanos(millis * 1_000_000);
            schedule.add(at, Scheduled::Request(user), &mut timeline);
        }
        let mut order = Vec::new();
        while timeline.advance(Instant::from_nanos(8_000_000)).is_some() {
            while let Some(Scheduled::Request(user)) = schedule.pop_due(&mut timeline) {
                order.push(user);
            }
        }
        assert_eq!(order, [1, 3, 0, 2]);
        assert_eq!(timeline.events(), 2);
    }
}
