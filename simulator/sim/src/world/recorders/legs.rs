//! Which of their legs users with several use, and when.

use std::collections::BTreeMap;

use hopflow_units::{Cells, Instant};

use super::index::Sender;
use crate::outcome::LegTraffic;

/// The use of the legs of users that have several.
#[derive(Clone, Debug, Default)]
pub(crate) struct LegRecorder {
    /// By user, leg and hop.
    uses: BTreeMap<(u32, u32, u32), LegTraffic>,
}

impl LegRecorder {
    /// Notes that a node sends a cell.
    pub(super) fn on_sent(&mut self, now: Instant, sender: &Sender) {
        if !sender.measured || !sender.several {
            return;
        }
        let Sender { user, leg, hop, .. } = *sender;
        let entry = self.uses.entry((user, leg, hop)).or_insert(LegTraffic {
            circuit: user,
            leg,
            hop,
            first: now,
            last: now,
            cells: Cells::ZERO,
        });
        entry.last = now;
        entry.cells += Cells::new(1);
    }

    /// What was seen.
    pub(super) fn finish(self) -> impl Iterator<Item = LegTraffic> {
        self.uses.into_values()
    }
}
