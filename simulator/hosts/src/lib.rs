//! The hosts of all transports, compiled for the simulator.
//!
//! A node is generic over its transport and its payload, and is compiled where both are known.
//! That is here and nowhere else, so that a change of a transport compiles the nodes once, and
//! other crates can be compiled for development without making simulations slow.

use hopflow_overlay::{ConfigError, Factory};
use hopflow_sim::Simulated;
use toml::Table;

/// Makes a factory of simulated nodes from a preset and options that override the preset's.
///
/// # Errors
/// If the preset or an option is unknown, or a value cannot be used.
pub fn build(preset: &str, options: &Table) -> Result<Box<dyn Factory<Simulated>>, ConfigError> {
    hopflow_transports::build(preset, options)
}
