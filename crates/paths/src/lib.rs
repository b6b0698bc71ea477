//! Which relays an overlay has, and which paths its circuits take.
//!
//! [`CircuitFile`] reads relays and paths that others published, circuit by circuit.
//!
//! `docs/paths.md` of the repository says what is modelled after which specification.

mod circuits;
mod continent;
mod error;
mod relay;

pub use circuits::CircuitFile;
pub use continent::{Continent, UnknownContinent};
pub use error::PathsError;
pub use relay::Relay;
