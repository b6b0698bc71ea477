//! Circuits and their users, as a specification describes them.

use std::sync::Arc;

use hopflow_units::{Duration, NodeId};

use super::traffic::TrafficModel;

/// A circuit and what its user does.
#[derive(Clone, Debug)]
pub struct CircuitSpec {
    /// The nodes that data requests pass, from the client to the exit; at least two.
    pub path: Vec<NodeId>,
    /// Further paths between the same client and exit, each a circuit of its own. The user has one
    /// stream over all of them, and its results are about all of them together.
    pub legs: Vec<Vec<NodeId>>,
    /// The class of the user, for grouping results.
    pub class: Class,
    /// What the user fetches.
    pub workload: Arc<dyn TrafficModel>,
    /// When the user starts.
    pub start: Duration,
    /// When the user leaves and its client closes the circuits; `None`: it stays to the end.
    pub leave: Option<Duration>,
}

/// The classes of users that the papers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Downloads files back to back.
    Bulk,
    /// Fetches pages with pauses.
    Web,
}

impl CircuitSpec {
    /// The most paths that one user has.
    pub const MOST_PATHS: usize = 16;

    /// All paths, the first one first.
    pub fn paths(&self) -> impl Iterator<Item = &[NodeId]> {
        std::iter::once(&self.path)
            .chain(&self.legs)
            .map(Vec::as_slice)
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        let ends = |path: &[NodeId]| (path.first().copied(), path.last().copied());
        if self.paths().any(|path| ends(path) != ends(&self.path)) {
            return Err("has paths between different ends".to_owned());
        }
        if let Some(leave) = self.leave.filter(|leave| *leave <= self.start) {
            let start = self.start;
            return Err(format!(
                "has a user that starts at {start} and leaves at {leave}"
            ));
        }
        if self.paths().count() > Self::MOST_PATHS {
            return Err(format!("has more than {} paths", Self::MOST_PATHS));
        }
        self.workload.validate()
    }
}
