//! What authorities say about a relay, and the positions of a path.

use std::fmt;
use std::ops::BitOr;

/// The flags of a relay that path selection looks at (dir-spec, "Assigning flags").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Fit to be the first relay of a path.
    pub const GUARD: Self = Self(1);
    /// Connects to the outside. A relay that is also flagged a bad exit counts as none.
    pub const EXIT: Self = Self(1 << 1);
    /// Fast enough for circuits; other relays are in no path.
    pub const FAST: Self = Self(1 << 2);
    /// Up for long enough for connections that last long.
    pub const STABLE: Self = Self(1 << 3);

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Which of the four classes that the bandwidth weights tell apart this is.
    pub(crate) const fn class(self) -> Class {
        match (self.contains(Self::GUARD), self.contains(Self::EXIT)) {
            (true, true) => Class::Both,
            (true, false) => Class::Guard,
            (false, true) => Class::Exit,
            (false, false) => Class::Neither,
        }
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// The classes of relays that the bandwidth weights tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Guard, but not exit.
    Guard,
    /// Exit, but not guard.
    Exit,
    /// Guard and exit.
    Both,
    /// Neither guard nor exit.
    Neither,
}

impl Class {
    /// All classes.
    pub(crate) const ALL: [Self; 4] = [Self::Guard, Self::Exit, Self::Both, Self::Neither];
}

/// A position in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// The first relay.
    Guard,
    /// A relay between the first and the last.
    Middle,
    /// The last relay.
    Exit,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Guard => "guard",
            Self::Middle => "middle",
            Self::Exit => "exit",
        })
    }
}
