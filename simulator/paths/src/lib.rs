//! Which relays an overlay has, and which paths its circuits take.
//!
//! [`CircuitFile`] reads relays and paths that others published, circuit by circuit.
//! [`Population`] is a network's relays with their flags and weights, made up, reconstructed from
//! circuits or scaled down from a larger one; [`PathSelector`] chooses paths as Tor's clients do,
//! over a population or over the relays of a real network.
//!
//! `docs/paths.md` of the repository says what is modelled after which specification, and how
//! well the chosen paths agree with published ones.

mod candidate;
pub mod check;
mod circuits;
mod continent;
mod error;
mod population;
mod relay;
mod select;

pub use candidate::Candidate;
pub use circuits::CircuitFile;
pub use continent::{Continent, UnknownContinent};
pub use error::PathsError;
pub use population::{
    BandwidthWeights, Flags, Population, PopulationError, PopulationRelay, Position,
};
pub use relay::Relay;
pub use select::{Client, PathSelector, Wish};
