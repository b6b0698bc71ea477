//! Shared with the fuzz target.

use hopflow_onion::OnionSecret;
use hopflow_onion::setup::{HopMessage, SetupMessage};

/// Whatever the bytes are, reading them does not panic, and what is read stays the same when it is
/// written and read again. Bytes that are missing count as zeros.
pub(crate) fn any_bytes(bytes: &[u8]) {
    let body = filled(bytes);
    if let Ok(message) = SetupMessage::decode(&body) {
        assert_eq!(SetupMessage::decode(&message.encode()), Ok(message));
    }
    let plain = filled(bytes);
    if let Ok(message) = HopMessage::decode(&plain) {
        assert_eq!(HopMessage::decode(&message.encode()), Ok(message));
    }
    let relay = OnionSecret::from_bytes([7; 32]);
    let answered = hopflow_onion::answer(&relay, bytes, |payload| Some(payload.to_vec()));
    if let Ok((_, answer)) = answered {
        assert_eq!(answer.len(), bytes.len());
    }
}

fn filled<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    let len = bytes.len().min(N);
    all[..len].copy_from_slice(&bytes[..len]);
    all
}
