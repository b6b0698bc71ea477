//! The hosts of all transports, compiled for real relays and clients.
//!
//! A node is generic over its transport and its payload, and is compiled where both are known.
//! That is here and nowhere else, so that a change of a transport compiles the nodes once.

use hopflow_onion::OnionPayload;
use hopflow_overlay::{ConfigError, Factory};
use toml::Table;

/// Makes a factory of nodes from a preset and options that override the preset's.
///
/// # Errors
/// If the preset or an option is unknown, or a value cannot be used.
pub fn build(preset: &str, options: &Table) -> Result<Box<dyn Factory<OnionPayload>>, ConfigError> {
    hopflow_transports::build(preset, options)
}
