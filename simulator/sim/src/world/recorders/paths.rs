//! Which of their paths users with several use, and when.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_units::{Cells, CircuitId, Instant, LinkId};
use hopflow_wire::Frame;

use super::users::{User, Way};
use crate::LegUse;
use crate::payload::Simulated;

/// A circuit on a link, as the node that sends on it names it.
type Name = (u32, LinkId, CircuitId);
/// A user, its path, and the node on it: the source or the next one.
type Place = (u32, u32, u32);

/// The use of the paths of users that have several.
#[derive(Debug, Default)]
pub(super) struct LegRecorder {
    places: BTreeMap<Name, Place>,
    uses: BTreeMap<Place, LegUse>,
}

impl LegRecorder {
    /// A recorder, if any user has several paths.
    pub(super) fn new(users: &[User]) -> Option<Self> {
        let mut places = BTreeMap::new();
        for (user, number) in users.iter().zip(0..) {
            if user.ways.len() < 2 {
                continue;
            }
            for (way, leg) in user.ways.iter().zip(0..) {
                let names = way.first_names(user.measured).into_iter().zip(0..);
                places.extend(names.map(|(name, hop)| (name, (number, leg, hop))));
            }
        }
        (!places.is_empty()).then(|| Self {
            places,
            uses: BTreeMap::new(),
        })
    }

    /// Notes that `frames` leave a node.
    pub(super) fn leaving(
        &mut self,
        now: Instant,
        (node, link): (u32, LinkId),
        frames: &[Frame<Simulated>],
    ) {
        for frame in frames {
            let Frame::Cell(cell) = frame else { continue };
            if cell.payload.is_empty() {
                continue;
            }
            let Some(&place) = self.places.get(&(node, link, cell.circuit)) else {
                continue;
            };
            let (circuit, leg, hop) = place;
            let entry = self.uses.entry(place).or_insert(LegUse {
                circuit,
                leg,
                hop,
                first: now,
                last: now,
                cells: Cells::ZERO,
            });
            entry.last = now;
            entry.cells += Cells::new(1);
        }
    }

    /// What was seen.
    pub(super) fn finish(self) -> Vec<LegUse> {
        self.uses.into_values().collect()
    }
}

impl Way {
    /// What the source and the next node call the circuit where they send on it.
    fn first_names(&self, direction: Direction) -> Vec<Name> {
        let senders = self.senders(direction).into_iter();
        let names = self.names[direction as usize].iter();
        let pairs = senders.zip(names).take(2);
        pairs
            .map(|((node, _), &(link, circuit))| (node, link, circuit))
            .collect()
    }
}
