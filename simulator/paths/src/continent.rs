//! Where a relay stands.

use std::fmt;
use std::str::FromStr;

/// A continent, which is as exactly as published circuit files place a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Continent {
    /// `AF`.
    Africa,
    /// `AS`.
    Asia,
    /// `EU`.
    Europe,
    /// `NA`.
    NorthAmerica,
    /// `OC`.
    Oceania,
    /// `SA`.
    SouthAmerica,
}

impl Continent {
    /// All continents, in the order of their codes.
    pub const ALL: [Self; 6] = [
        Self::Africa,
        Self::Asia,
        Self::Europe,
        Self::NorthAmerica,
        Self::Oceania,
        Self::SouthAmerica,
    ];

    /// The code of two letters, such as `EU`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Africa => "AF",
            Self::Asia => "AS",
            Self::Europe => "EU",
            Self::NorthAmerica => "NA",
            Self::Oceania => "OC",
            Self::SouthAmerica => "SA",
        }
    }
}

impl fmt::Display for Continent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl FromStr for Continent {
    type Err = UnknownContinent;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|continent| continent.code() == code)
            .ok_or_else(|| UnknownContinent(code.to_owned()))
    }
}

/// A text that is not the code of a continent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownContinent(String);

impl fmt::Display for UnknownContinent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not the code of a continent; allowed are {}",
            self.0,
            Continent::ALL.map(Continent::code).join(", ")
        )
    }
}

impl std::error::Error for UnknownContinent {}
