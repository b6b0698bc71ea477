//! Two sides that agreed on keys.

use hopflow_onion::{HopKeys, Initiator, OnionSecret, answer};

/// The client's and the relay's keys after a handshake.
pub(crate) fn agree() -> (HopKeys, HopKeys) {
    let relay = OnionSecret::generate();
    let (initiator, message) = Initiator::start(&relay.public(), b"");
    let (theirs, answer) = answer(&relay, &message, |_| Some(Vec::new())).expect("it is honest");
    let (ours, _) = initiator.finish(&answer).expect("it is honest");
    (ours, theirs)
}
