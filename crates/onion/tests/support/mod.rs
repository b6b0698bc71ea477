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

/// Whether `b` opens what `a` seals, and removes layers that `a` adds, in both directions.
pub(crate) fn same_keys(a: &HopKeys, b: &HopKeys) -> bool {
    [(&a.forward, &b.forward), (&a.backward, &b.backward)]
        .into_iter()
        .all(|(a, b)| {
            let mut body = [3; 509];
            a.seal(1, &mut body);
            a.apply_layer(1, &mut body);
            b.apply_layer(1, &mut body);
            b.open(1, &mut body).is_ok() && body[16..] == [3; 493]
        })
}
