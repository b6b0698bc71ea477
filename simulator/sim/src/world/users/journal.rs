//! What users write down.

use hopflow_units::Instant;

use crate::outcome::{Download, Failure, Visit};

/// Downloads, those that failed, and visits of the users at a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// In order of their completion.
    pub(crate) downloads: Vec<Download>,
    /// In no order.
    pub(crate) failures: Vec<Failure>,
    /// In order of their beginning.
    pub(crate) visits: Vec<Visit>,
}

impl Journal {
    /// Notes the beginning of a visit and returns its number.
    pub(super) fn begin_visit(&mut self, visit: Visit) -> usize {
        self.visits.push(visit);
        self.visits.len() - 1
    }

    /// Notes that something of a visit arrived.
    pub(super) fn extend_visit(&mut self, number: usize, now: Instant) {
        self.visits[number].end = now;
    }
}
