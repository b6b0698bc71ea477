//! The handshake by which a client and one hop agree on keys.
//!
//! `Noise_NK_25519_AESGCM_SHA256` (Noise specification, revision 34, section 7.5): one message each
//! way. The hop proves that it holds the secret of the onion key that the directory lists; the
//! client proves nothing. The client's payload is readable by anyone who learns the hop's secret
//! later; keys and the hop's reply are not.

use std::fmt;

use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use crate::keys::{KEY, OnionPublic, OnionSecret};
use crate::primitives::Primitives;
use crate::setup::{Handshake, MAX_HANDSHAKE_PAYLOAD};
use crate::{HopKeys, TAG};

const PATTERN: &str = "Noise_NK_25519_AESGCM_SHA256";
/// Mixed into the handshake, so that both sides use one version of this protocol or fail.
const PROLOGUE: &[u8] = b"hopflow circuit 1";

/// A handshake that does not lead to keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandshakeError {
    /// The message is not from a holder of the expected keys, or was altered.
    Invalid,
    /// The answering side does not want the circuit.
    Refused,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "the handshake message is not for these keys, or was altered",
            Self::Refused => "the circuit is not wanted",
        })
    }
}

impl std::error::Error for HandshakeError {}

impl From<snow::Error> for HandshakeError {
    fn from(_: snow::Error) -> Self {
        Self::Invalid
    }
}

/// A client's side of a handshake that waits for the hop's answer.
pub struct Initiator(Box<HandshakeState>);

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Initiator(..)")
    }
}

impl Initiator {
    /// Starts a handshake with the relay whose key is `to`; returns the message for it. `payload`
    /// has at most [`MAX_HANDSHAKE_PAYLOAD`] bytes.
    ///
    /// The ephemeral key comes from the operating system's random numbers.
    pub fn start(to: &OnionPublic, payload: &[u8]) -> (Self, Handshake) {
        let mut state = builder()
            .and_then(|builder| builder.remote_public_key(&to.0)?.build_initiator())
            .expect("pattern and key are complete");
        // A key of low order has no secret to share. An owner who lists one could as well publish its
        // secret; the message goes to nobody and the handshake fails.
        let message = write(&mut state, payload).unwrap_or_else(|_| Handshake::empty());
        (Self(Box::new(state)), message)
    }

    /// Reads the hop's answer: the keys that both now have, and the hop's reply.
    ///
    /// # Errors
    /// If the answer is not from the relay that was asked, or was altered.
    pub fn finish(mut self, answer: &[u8]) -> Result<(HopKeys, Vec<u8>), HandshakeError> {
        let reply = read(&mut self.0, answer)?;
        Ok((keys(&mut self.0), reply))
    }
}

/// Answers a client's handshake message on behalf of the relay that holds `secret`.
///
/// `reply` gets the client's payload and returns what to tell the client, at most
/// [`MAX_HANDSHAKE_PAYLOAD`] bytes, or `None` to refuse. Anyone can repeat a message that was sent
/// before; the keys differ each time, and only the client that made the message gets them.
///
/// # Errors
/// If the message is not for this key or was altered, or if `reply` refuses.
pub fn answer(
    secret: &OnionSecret,
    message: &[u8],
    reply: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<(HopKeys, Handshake), HandshakeError> {
    let mut state = builder()?
        .local_private_key(secret.bytes())?
        .build_responder()?;
    let payload = read(&mut state, message)?;
    let reply = reply(&payload).ok_or(HandshakeError::Refused)?;
    let answer = write(&mut state, &reply)?;
    Ok((keys(&mut state), answer))
}

fn builder() -> Result<Builder<'static>, snow::Error> {
    Builder::with_resolver(PATTERN.parse()?, Box::new(Primitives)).prologue(PROLOGUE)
}

fn write(state: &mut HandshakeState, payload: &[u8]) -> Result<Handshake, snow::Error> {
    let len = payload.len();
    assert!(
        len <= MAX_HANDSHAKE_PAYLOAD,
        "a handshake carries at most {MAX_HANDSHAKE_PAYLOAD} bytes, not {len}"
    );
    let mut message = vec![0; KEY + len + TAG];
    let written = state.write_message(payload, &mut message)?;
    message.truncate(written);
    Ok(Handshake::new(message).expect("the payload is short enough"))
}

fn read(state: &mut HandshakeState, message: &[u8]) -> Result<Vec<u8>, snow::Error> {
    let mut payload = vec![0; message.len()];
    let len = state.read_message(message, &mut payload)?;
    payload.truncate(len);
    Ok(payload)
}

fn keys(state: &mut HandshakeState) -> HopKeys {
    let (forward, backward) = state.dangerously_get_raw_split();
    HopKeys::derive(&Zeroizing::new(forward), &Zeroizing::new(backward))
}
