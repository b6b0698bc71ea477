//! The circuits that a user has after others were closed.

use std::collections::VecDeque;

use hopflow_overlay::CircuitHandle;
use hopflow_units::{Duration, Instant};

use super::endpoint::Endpoint;
use crate::world::address::UserAt;

/// A circuit that a user will have. It is open from the beginning, and nobody uses it before.
#[derive(Clone, Debug)]
pub(crate) struct Later {
    pub(crate) endpoint: Endpoint,
    pub(crate) server: UserAt,
    /// How long the client takes to build it.
    pub(crate) after: Duration,
    /// When it is there at the earliest.
    pub(crate) from: Instant,
}

/// The circuits that a user will have, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Renewal {
    later: VecDeque<Later>,
    /// When the client learned that it has no circuit.
    pub(crate) closed: Instant,
    /// Whether a request was due meanwhile.
    pub(crate) wanted: bool,
}

impl Renewal {
    pub(crate) const fn new(later: VecDeque<Later>) -> Self {
        Self {
            later,
            closed: Instant::ZERO,
            wanted: false,
        }
    }

    /// The client has learned that it has no circuit: when it has the next one, if there is one.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Instant> {
        self.closed = now;
        let later = self.later.front()?;
        Some((now + later.after).max(later.from))
    }

    /// What the client will have of a circuit, by its number among those to come.
    pub(crate) fn endpoint(&self, number: usize) -> &Endpoint {
        &self.later[number].endpoint
    }

    /// Takes the next circuit.
    pub(crate) fn take(&mut self) -> Option<Later> {
        self.later.pop_front()
    }

    /// The user leaves: no circuit follows.
    pub(crate) fn end(&mut self) {
        self.later.clear();
    }

    /// Notes that a circuit is closed that the user does not have yet.
    pub(crate) fn on_closed(&mut self, position: u16, circuit: CircuitHandle) {
        for later in &mut self.later {
            later.endpoint.on_closed(position, circuit);
        }
    }
}
