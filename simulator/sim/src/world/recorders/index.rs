//! Whose cell a frame carries.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_units::CircuitId;

use crate::world::address::LinkEnd;
use crate::world::users::User;

/// A node that sends the data of a user, in one direction on one leg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sender {
    pub(super) user: u32,
    /// Which of the user's legs.
    pub(super) leg: u32,
    /// Nodes from the source: 0 is the source itself.
    pub(super) hop: u32,
    pub(super) direction: Direction,
    /// Whether the data is what is measured of the user.
    pub(super) measured: bool,
    /// Whether the user has several legs.
    pub(super) several: bool,
}

/// The senders that recorders want to know: all sources, and of users with several legs the next
/// node, too.
#[derive(Debug)]
pub(super) struct SenderIndex {
    senders: BTreeMap<(LinkEnd, CircuitId), Sender>,
}

impl SenderIndex {
    pub(super) fn new(users: &[User]) -> Self {
        let mut senders = BTreeMap::new();
        for user in users {
            let several = user.legs().len() > 1;
            let hops = if several { 2 } else { 1 };
            let directions = [Direction::Forward, Direction::Backward];
            for (number, leg) in (0..).zip(user.legs()) {
                for direction in directions {
                    let sender = |hop| Sender {
                        user: user.number(),
                        leg: number,
                        hop,
                        direction,
                        measured: direction == user.measured(),
                        several,
                    };
                    let names = leg.names(direction).take(hops);
                    senders.extend(names.zip((0..).map(sender)));
                }
            }
        }
        Self { senders }
    }

    /// Who sends cells of a circuit on a link.
    pub(super) fn get(&self, from: LinkEnd, circuit: CircuitId) -> Option<&Sender> {
        self.senders.get(&(from, circuit))
    }
}
