//! The hosts of all transports, compiled for real relays and clients.
//!
//! A node is generic over its transport and its payload, and is compiled where both are known.
//! That is here and nowhere else, so that a change of a transport compiles the nodes once.

use hopflow_engine::check_offers;
use hopflow_onion::OnionPayload;
use hopflow_overlay::{ConfigError, Factory};
use toml::Table;

/// Makes a factory of nodes from a preset and options that override the preset's.
///
/// # Errors
/// If the preset or an option is unknown, a value cannot be used, or the transport needs what real
/// hosts cannot do.
pub fn build(preset: &str, options: &Table) -> Result<Box<dyn Factory<OnionPayload>>, ConfigError> {
    let factory = hopflow_transports::build::<OnionPayload>(preset, options)?;
    check_offers(preset, factory.as_ref())?;
    Ok(factory)
}
