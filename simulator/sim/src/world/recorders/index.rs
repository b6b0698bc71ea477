//! Whose cell a frame carries.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_units::{CircuitId, LinkId};

use crate::world::address::UserAt;

/// A node that sends the data of a user, in one direction on one leg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sender {
    pub(crate) user: u32,
    /// Which of the circuits that the user has one after the other.
    pub(crate) turn: u32,
    /// Which of the user's legs.
    pub(crate) leg: u32,
    /// Nodes from the source: 0 is the source itself.
    pub(crate) hop: u32,
    pub(crate) direction: Direction,
    /// Where the data arrives.
    pub(crate) sink: UserAt,
    /// Whether the data is what is measured of the user.
    pub(crate) measured: bool,
    /// Whether the user has several legs.
    pub(crate) several: bool,
}

/// The senders at a machine that recorders want to know: all sources, and of users with several
/// legs the next node, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct SenderIndex {
    senders: BTreeMap<(u16, LinkId, CircuitId), Sender>,
}

impl SenderIndex {
    /// Notes who sends cells of a circuit on a link of the node at a position.
    pub(crate) fn add(&mut self, name: (u16, LinkId, CircuitId), sender: Sender) {
        self.senders.insert(name, sender);
    }

    /// Who sends cells of a circuit on a link of the node at a position.
    pub(super) fn get(&self, name: (u16, LinkId, CircuitId)) -> Option<&Sender> {
        self.senders.get(&name)
    }
}
