//! Circuits and their users, as a specification describes them.

use std::sync::Arc;

use hopflow_overlay::Direction;
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
    /// The circuits that the user has when the ones before are closed, one after the other. Only users
    /// that download have any.
    pub rebuilt: Vec<Rebuilt>,
}

/// A circuit that a user has when the one before is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Its nodes, from the same client on, to any exit.
    pub path: Vec<NodeId>,
    /// Further paths between these ends.
    pub legs: Vec<Vec<NodeId>>,
    /// How long the client takes to build it, once it has learned that the one before is closed.
    pub after: Duration,
    /// When it is there at the earliest: what stopped before does not concern it.
    pub from: Duration,
}

impl Rebuilt {
    /// All paths, the first one first.
    pub fn paths(&self) -> impl Iterator<Item = &[NodeId]> {
        std::iter::once(&self.path)
            .chain(&self.legs)
            .map(Vec::as_slice)
    }
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

    /// The paths that the user has at first, the first one first.
    pub fn paths(&self) -> impl Iterator<Item = &[NodeId]> {
        std::iter::once(&self.path)
            .chain(&self.legs)
            .map(Vec::as_slice)
    }

    /// All paths that the user ever has.
    pub fn all_paths(&self) -> impl Iterator<Item = &[NodeId]> {
        self.paths()
            .chain(self.rebuilt.iter().flat_map(Rebuilt::paths))
    }

    /// Whether results are about what the user uploads, not about what it downloads.
    pub fn uploads(&self) -> bool {
        self.workload.measured() == Direction::Forward
    }

    fn validate_rebuilt(&self) -> Result<(), String> {
        let mut before = Duration::ZERO;
        for rebuilt in &self.rebuilt {
            let ends = |path: &[NodeId]| (path.first().copied(), path.last().copied());
            if rebuilt
                .paths()
                .any(|path| ends(path) != ends(&rebuilt.path))
                || rebuilt.path.first() != self.path.first()
            {
                return Err("is rebuilt between other ends".to_owned());
            }
            if rebuilt.from <= before {
                return Err("is rebuilt before the one before".to_owned());
            }
            before = rebuilt.from;
        }
        if !self.rebuilt.is_empty() && self.uploads() {
            return Err("is rebuilt for a user that uploads".to_owned());
        }
        Ok(())
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        self.validate_rebuilt()?;
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
