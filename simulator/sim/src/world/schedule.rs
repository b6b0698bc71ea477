//! What happens at a machine at known times: requests, answers, connections, what users and
//! operators do, what breaks, and messages out of band.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use hopflow_overlay::{BucketConfig, CircuitHandle};
use hopflow_units::{Instant, LinkId};
use hopflow_wire::Message;

use super::address::ConnectionEnd;
use super::outbox::Envelope;

/// Something that happens at a known time.
#[derive(Clone, Debug)]
pub(crate) enum Scheduled {
    /// A connection outside the overlay opens.
    Connect(ConnectionEnd),
    /// A user sends a request: which of the machine's clients.
    Request(u32),
    /// A server answers: which of the machine's.
    Respond(u32),
    /// A user has the next of its circuits: which of the machine's clients.
    Renew(u32),
    /// A connection of the overlay opens that was not there from the beginning.
    Open(ConnectionEnd),
    /// A user leaves: which of the machine's clients.
    Leave(u32),
    /// The far end of a connection is gone, or this one.
    Break(ConnectionEnd),
    /// A node closes a circuit, because it or its neighbour stops.
    Close {
        position: u16,
        circuit: CircuitHandle,
    },
    /// The operator changes the token bucket of a node.
    Bucket {
        position: u16,
        bucket: Option<BucketConfig>,
    },
    /// A message arrives out of band at a node.
    Message {
        position: u16,
        link: LinkId,
        message: Message,
    },
}

/// All that is scheduled at a machine: by time, then what the machine has scheduled itself, then by
/// sender, then in the order of adding.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// When the next thing happens: of what is asked for every event nothing lies on the heap.
    next: Instant,
    pending: BinaryHeap<Reverse<Entry>>,
    added: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            next: Instant::FAR_FUTURE,
            pending: BinaryHeap::new(),
            added: 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    at: Instant,
    /// 0 for the machine itself, else one more than the number of the machine that sent it.
    from: u32,
    order: u64,
    what: Scheduled,
}

impl Schedule {
    pub(crate) fn add(&mut self, at: Instant, what: Scheduled) {
        let order = self.next_order();
        let entry = Entry {
            at,
            from: 0,
            order,
            what,
        };
        self.push(entry);
    }

    /// Adds a message of another machine.
    pub(crate) fn deliver(&mut self, envelope: Envelope) {
        self.push(Entry {
            at: envelope.at,
            from: envelope.from + 1,
            order: envelope.order,
            what: Scheduled::Message {
                position: envelope.to.node.position,
                link: envelope.to.link,
                message: envelope.message,
            },
        });
    }

    fn push(&mut self, entry: Entry) {
        self.next = self.next.min(entry.at);
        self.pending.push(Reverse(entry));
    }

    /// A number that rises with everything that the machine schedules or sends.
    pub(crate) const fn next_order(&mut self) -> u64 {
        self.added += 1;
        self.added
    }

    /// When the next thing happens; the far future if nothing does.
    #[inline]
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Takes the next thing that is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Scheduled> {
        if self.next > now {
            return None;
        }
        let first = self.pending.pop();
        let next = self.pending.peek();
        self.next = next.map_or(Instant::FAR_FUTURE, |Reverse(entry)| entry.at);
        first.map(|Reverse(entry)| entry.what)
    }
}

impl Entry {
    const fn rank(&self) -> (Instant, u32, u64) {
        (self.at, self.from, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simultaneous_entries_come_in_the_order_of_adding() {
        let mut schedule = Schedule::default();
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        for (millis, user) in [(7, 0), (5, 1), (7, 2), (5, 3), (9, 4)] {
            schedule.add(at(millis), Scheduled::Request(user));
        }
        let mut order = Vec::new();
        while let Some(Scheduled::Request(user)) = schedule.pop_due(at(8)) {
            order.push(user);
        }
        assert_eq!(order, [1, 3, 0, 2]);
        assert_eq!(schedule.next(), at(9));
        assert!(schedule.pop_due(at(9)).is_some());
        assert_eq!(schedule.next(), Instant::FAR_FUTURE);
    }
}
