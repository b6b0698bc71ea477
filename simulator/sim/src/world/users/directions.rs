//! Where a user's data goes.

use hopflow_overlay::Direction;

use super::leg::Leg;
use crate::world::address::UserAt;

/// Where a user's data goes.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    pub(crate) legs: Vec<Leg>,
    /// The client and the server.
    pub(crate) ends: [UserAt; 2],
    /// The direction of the data that is measured.
    pub(crate) measured: Direction,
}
