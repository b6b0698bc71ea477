//! The hosts of all transports, compiled for real relays and clients.
//!
//! A node is generic over its transport and its payload, and is compiled where both are known.
//! That is here and nowhere else, so that a change of a transport compiles the nodes once.

use hopflow_onion::OnionPayload;
use hopflow_overlay::{ConfigError, Factory, Features};
use toml::Table;

/// What real hosts do not offer to transports, and why a transport that needs it is refused.
const LACKING: [(Features, &str); 3] = [
    (
        Features::LEGS,
        "it moves streams among several circuits, and real hosts give a stream one",
    ),
    (
        Features::END_CONNECTION,
        "it repairs losses at the ends of circuits, and the encryption of circuits needs every cell \
         at every hop",
    ),
    (
        Features::OUT_OF_BAND,
        "it sends messages to neighbours outside of all links, and real hosts have nothing but links",
    ),
];

/// Makes a factory of nodes from a preset and options that override the preset's.
///
/// # Errors
/// If the preset or an option is unknown, a value cannot be used, or the transport needs what real
/// hosts cannot do.
pub fn build(preset: &str, options: &Table) -> Result<Box<dyn Factory<OnionPayload>>, ConfigError> {
    let factory = hopflow_transports::build::<OnionPayload>(preset, options)?;
    let needed = factory.driver();
    if let Some((_, reason)) = LACKING.iter().find(|(feature, _)| needed.any(*feature)) {
        let problem = format!(
            "\"{preset}\" runs in the simulator only: {reason}; allowed are transports without this \
             need, such as \"backtap\""
        );
        return Err(ConfigError::new("preset", "", problem));
    }
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
