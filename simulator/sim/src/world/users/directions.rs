//! Where a user's data goes.

use hopflow_overlay::Direction;
use hopflow_units::Instant;

use super::leg::Leg;
use crate::world::address::UserAt;

/// Where a user's data goes.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// The user's number.
    pub(crate) user: u32,
    /// Which of the circuits that the user has one after the other.
    pub(crate) turn: u32,
    /// From when on the user may have it.
    pub(crate) from: Instant,
    pub(crate) legs: Vec<Leg>,
    /// The client and the server.
    pub(crate) ends: [UserAt; 2],
    /// The direction of the data that is measured.
    pub(crate) measured: Direction,
}
