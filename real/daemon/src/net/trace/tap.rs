//! What listens at a worker's engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hopflow_engine::{Observer, Turn};
use hopflow_trace::Place;
use hopflow_units::Duration;

use super::noted::{Inbox, MOST_WAITING, Noted};
use crate::net::shared::Shared;

/// Hands what an engine does to the writer, as far as that has room for it.
#[derive(Debug)]
pub(super) struct Tap {
    inbox: Inbox,
    since: Duration,
    shared: Arc<Shared>,
    /// Circuits that the writer has not heard of.
    circuits: Vec<(u32, Place)>,
}

impl Tap {
    pub(super) const fn new(inbox: Inbox, since: Duration, shared: Arc<Shared>) -> Self {
        Self {
            inbox,
            since,
            shared,
            circuits: Vec::new(),
        }
    }
}

impl Observer for Tap {
    fn on_link(&mut self) -> u32 {
        self.inbox.state.links.fetch_add(1, Ordering::Relaxed)
    }

    fn wants_packets(&self) -> bool {
        self.inbox.packets
    }

    fn on_circuit(&mut self, place: Place) -> Option<u32> {
        let numbers = &self.inbox.state.circuits;
        let most = self.inbox.circuits;
        let next = |number| (number < most).then(|| number + 1);
        let number = numbers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let number = number.ok()?;
        self.circuits.push((number, place));
        Some(number)
    }

    fn on_turn(&mut self, turn: &mut Turn) -> bool {
        let state = &self.inbox.state;
        if state.over.load(Ordering::Relaxed) {
            return false;
        }
        let mut noted = Noted::new(self.since, std::mem::take(turn));
        let (len, left_out) = (noted.len() as u64, noted.turn.left_out as u64);
        let counts = &self.shared.traced;
        counts.noted.fetch_add(len + left_out, Ordering::Relaxed);
        counts.dropped.fetch_add(left_out, Ordering::Relaxed);
        if state.waiting.load(Ordering::Relaxed) + noted.memory > MOST_WAITING {
            counts.dropped.fetch_add(len, Ordering::Relaxed);
            return true;
        }
        noted.circuits = std::mem::take(&mut self.circuits);
        state.waiting.fetch_add(noted.memory, Ordering::Relaxed);
        self.inbox.sender.send(noted).is_ok()
    }
}
