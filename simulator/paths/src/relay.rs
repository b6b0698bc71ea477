//! A relay, as far as paths and networks depend on it.

use hopflow_units::Rate;

use crate::Continent;

/// A relay of the overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// What identifies the relay: its fingerprint, 40 hexadecimal digits in upper case, where it
    /// comes from a published file, or else a made-up name.
    pub name: String,
    /// Where the relay stands.
    pub continent: Continent,
    /// What the relay is willing to forward.
    pub bandwidth: Rate,
}
