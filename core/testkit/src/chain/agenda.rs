//! What will happen, and when.

use std::collections::BTreeMap;

use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::Message;

use super::cargo::Cargo;

/// Something that will happen.
#[derive(Debug)]
pub(super) enum Due {
    Arrival {
        pipe: usize,
        cargo: Cargo,
        len: Bytes,
    },
    Room {
        node: usize,
        link: LinkId,
    },
    Message {
        node: usize,
        link: LinkId,
        message: Message,
    },
    /// The medium is free again.
    Free {
        node: usize,
    },
}

/// Everything that is due, by time; at one time, in the order of entering.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    entries: BTreeMap<(Instant, u64), Due>,
    entered: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Instant, due: Due) {
        self.entries.insert((at, self.entered), due);
        self.entered += 1;
    }

    /// When the next entry is due; [`Instant::FAR_FUTURE`] if there is none.
    pub(super) fn next_time(&self) -> Instant {
        let next = self.entries.first_key_value();
        next.map_or(Instant::FAR_FUTURE, |((at, _), _)| *at)
    }

    /// Takes the next entry if it is due by `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Due> {
        let entry = self.entries.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Whether the next entry is an arrival from this pipe that is due by `now`.
    pub(super) fn is_next_arrival(&self, now: Instant, pipe: usize) -> bool {
        let next = self.entries.first_key_value();
        next.is_some_and(|((at, _), due)| {
            *at <= now && matches!(due, Due::Arrival { pipe: other, .. } if *other == pipe)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_time_keep_their_order() {
        let mut agenda = Agenda::default();
        let later = Instant::from_nanos(7);
        for (node, at) in [(1, later), (2, Instant::ZERO), (3, Instant::ZERO)] {
            agenda.add(at, Due::Free { node });
        }
        let mut taken = Vec::new();
        while let Some(Due::Free { node }) = agenda.take(Instant::ZERO) {
            taken.push(node);
        }
        assert_eq!(taken, [2, 3]);
        assert_eq!(agenda.next_time(), later);
    }
}
