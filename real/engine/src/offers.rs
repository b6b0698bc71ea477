//! What an engine offers to transports.

use hopflow_overlay::{ConfigError, Factory, Features};
use hopflow_wire::Payload;

/// What an engine, as the driver of a node, offers to transports beside links: several circuits for a
/// stream.
pub const OFFERS: Features = Features::LEGS;

/// Why a transport that needs this is refused.
const REASON: (Features, &str) = (
    Features::OUT_OF_BAND,
    "it sends messages to neighbours outside of all links, and real hosts have nothing but links",
);

/// Checks that a transport, chosen as the preset `preset`, needs nothing but what engines offer.
///
/// # Errors
/// If it needs more; the error says what and why.
pub fn check_offers<P: Payload>(preset: &str, factory: &dyn Factory<P>) -> Result<(), ConfigError> {
    refuse(preset, factory.driver().without(OFFERS))
}

/// Refuses a transport that needs what is `lacking`.
fn refuse(preset: &str, lacking: Features) -> Result<(), ConfigError> {
    if lacking == Features::NONE {
        return Ok(());
    }
    let (known, why) = REASON;
    let reason = if lacking.any(known) {
        why.to_owned()
    } else {
        format!("it needs {lacking}, which real hosts do not offer")
    };
    let problem = format!(
        "\"{preset}\" runs in the simulator only: {reason}; allowed are transports without this \
         need, such as \"backtap\""
    );
    Err(ConfigError::new("preset", "", problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_that_nobody_thought_of_is_refused() {
        assert_eq!(refuse("backtap", Features::NONE), Ok(()));
        let error = refuse("new", Features::DATAGRAMS).unwrap_err().to_string();
        assert!(error.contains("needs datagrams"), "{error}");
        let error = refuse("plans", Features::OUT_OF_BAND);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("outside of all links"), "{error}");
    }
}
