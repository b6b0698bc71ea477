//! Whose cell a frame carries.

use std::num::NonZeroU32;

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
///
/// Each cell that a node sends is looked up, so names are places.
#[derive(Clone, Debug, Default)]
pub(crate) struct SenderIndex {
    senders: Vec<Sender>,
    /// Where a sender is, by the node's position, link and circuit.
    places: Vec<Vec<Vec<Option<NonZeroU32>>>>,
}

impl SenderIndex {
    /// Notes who sends cells of a circuit on a link of the node at a position.
    pub(crate) fn add(
        &mut self,
        (position, link, circuit): (u16, LinkId, CircuitId),
        sender: Sender,
    ) {
        self.senders.push(sender);
        let links = grown(&mut self.places, usize::from(position));
        let circuits = grown(links, link.index());
        *grown(circuits, circuit.index()) = NonZeroU32::new(self.senders.len() as u32);
    }

    /// Who sends cells on a link of the node at a position, by circuit.
    #[inline]
    pub(super) fn on_link<'a>(
        &'a self,
        position: u16,
        link: LinkId,
    ) -> Option<impl Fn(CircuitId) -> Option<&'a Sender>> {
        let circuits = self.places.get(usize::from(position))?.get(link.index())?;
        Some(move |circuit: CircuitId| {
            let behind = (*circuits.get(circuit.index())?)?;
            self.senders.get(behind.get() as usize - 1)
        })
    }
}

/// An element of a list that is as long as it takes.
fn grown<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}
