//! Where to look for what users have.

use std::collections::BTreeMap;

use hopflow_units::CircuitId;

use super::address::LinkEnd;
use super::users::Directions;

/// Where to look for what users have.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) users: Vec<Directions>,
    /// How many users there are.
    pub(super) count: usize,
    /// Whose cells a node sends on a link under a name.
    pub(super) names: BTreeMap<(LinkEnd, CircuitId), u32>,
}
