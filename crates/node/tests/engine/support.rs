//! What the tests share.

use hopflow_onion::OnionPayload;
use hopflow_overlay::Factory;

/// Transports that have a driver with real sockets.
pub(crate) const REAL: [&str; 8] = [
    "vanilla",
    "pctcp",
    "n23",
    "backtap",
    "marut",
    "marut-timely",
    "marut-dctcp",
    "vanilla-stream-window",
];

pub(crate) fn transport(name: &str) -> Box<dyn Factory<OnionPayload>> {
    configured(name, "")
}

/// A transport with options.
pub(crate) fn configured(name: &str, options: &str) -> Box<dyn Factory<OnionPayload>> {
    let options = options.parse().expect("it is TOML");
    hopflow_transports::build(name, &options).expect("the registry knows name and options")
}

/// Bytes that show when some are missing, repeated or out of order.
pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|place| (place / 7) as u8 ^ seed).collect()
}
