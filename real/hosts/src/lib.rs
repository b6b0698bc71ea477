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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(preset: &str, options: &str, reason: &str) {
        let options = options.parse().expect("it is TOML");
        let error = build(preset, &options).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn what_real_hosts_cannot_do_is_refused_with_the_reason() {
        refused("switching", "", "several circuits");
        refused("switching-backtap", "", "several circuits");
        refused("udp-or", "", "at the ends of circuits");
        let out_of_band = "feedback = \"out-of-band\"\nhop-delay = \"10 ms\"";
        refused("predictor", out_of_band, "outside of all links");
    }

    #[test]
    fn what_real_hosts_can_do_is_built() {
        for preset in ["vanilla", "tor-vegas", "pctcp", "n23", "backtap", "marut"] {
            build(preset, &Table::new()).unwrap();
        }
    }
}
