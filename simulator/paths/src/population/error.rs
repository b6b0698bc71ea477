//! Why a population or its paths cannot be made.

use std::fmt;

use super::Position;

/// What a population lacks for what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PopulationError {
    /// Paths of this length do not exist.
    PathLength {
        /// The length asked for.
        length: usize,
        /// The shortest that is allowed.
        least: usize,
    },
    /// No relay may take the position: none has the flags for it and a weight.
    NoRelay {
        /// The position.
        position: Position,
    },
    /// The size asked for is not possible.
    Size {
        /// The number of relays asked for.
        relays: usize,
        /// The fewest allowed.
        least: usize,
        /// The most allowed.
        most: usize,
    },
}

impl fmt::Display for PopulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PathLength { length, least } => write!(
                f,
                "paths of {length} relays are asked for; allowed are {least} or more"
            ),
            Self::NoRelay { position } => write!(
                f,
                "no relay may take the position \"{position}\"; needed is at least one that is \
                 fast, has the flag of the position, and a weight above zero"
            ),
            Self::Size {
                relays,
                least,
                most,
            } => write!(
                f,
                "a population of {relays} relays is asked for; allowed are {least} to {most}"
            ),
        }
    }
}

impl std::error::Error for PopulationError {}
