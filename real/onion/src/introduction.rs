//! How a relay that opens a link proves which one it is.

use std::fmt;

use snow::{Builder, HandshakeState};

use crate::TAG;
use crate::keys::{KEY, OnionPublic, OnionSecret};
use crate::primitives::Primitives;

const PATTERN: &str = "Noise_K_25519_AESGCM_SHA256";
/// Mixed into the message with both fingerprints, so that it is good for nothing else.
const PROLOGUE: &[u8] = b"hopflow link 1";
/// Bytes of the proof: an ephemeral key, and the seal of nothing.
const PROOF: usize = KEY + TAG;
/// Bytes of the hint.
const HINT: usize = 16;

/// Which relay somebody says to be: the first bytes of the fingerprint.
pub type Hint = [u8; HINT];

/// Says which relay opened a link, to the relay at its other end: a message of
/// `Noise_K_25519_AESGCM_SHA256` (Noise specification, revision 34, section 7.4) between the onion keys that the
/// directory lists for both.
///
/// It convinces nobody but the relay that it is for, which could have made it itself. Who opens a link has
/// verified the other end's certificate before, so no third relay gets to see it.
#[derive(Clone, PartialEq, Eq)]
pub struct Introduction {
    hint: Hint,
    proof: [u8; PROOF],
}

impl Introduction {
    /// Bytes of its encoding.
    pub const LEN: usize = HINT + PROOF;

    /// Of the relay with this key, whose certificate has this fingerprint, to another one.
    pub fn new(
        (own, fingerprint): (&OnionSecret, &[u8; 32]),
        (to, of_other): (&OnionPublic, &[u8; 32]),
    ) -> Self {
        let prologue = prologue(fingerprint, of_other);
        let state = builder(own, to, &prologue).and_then(Builder::build_initiator);
        let mut proof = [0; PROOF];
        let written = state.and_then(|mut state| state.write_message(&[], &mut proof));
        if written.is_err() {
            // A key of low order has no secret to share: nobody believes us there.
            proof = [0; PROOF];
        }
        Self {
            hint: Self::hint_of(fingerprint),
            proof,
        }
    }

    /// What it says itself of its sender: the first bytes of the fingerprint.
    pub const fn hint(&self) -> Hint {
        self.hint
    }

    /// What the relay whose certificate has this fingerprint says of itself.
    pub fn hint_of(fingerprint: &[u8; 32]) -> Hint {
        let (hint, _) = fingerprint.split_first_chunk().expect("it is longer");
        *hint
    }

    /// Whether it is of the relay `from`, to the one with this key and fingerprint.
    pub fn is_of(
        &self,
        (from, fingerprint): (&OnionPublic, &[u8; 32]),
        (own, of_own): (&OnionSecret, &[u8; 32]),
    ) -> bool {
        let prologue = prologue(fingerprint, of_own);
        let state = builder(own, from, &prologue).and_then(Builder::build_responder);
        let read = |mut state: HandshakeState| state.read_message(&self.proof, &mut []);
        state.and_then(read).is_ok()
    }

    /// Its bytes.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..HINT].copy_from_slice(&self.hint);
        bytes[HINT..].copy_from_slice(&self.proof);
        bytes
    }

    /// Reads its bytes; none if there are only zeros.
    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (hint, proof) = bytes.split_first_chunk()?;
        let introduction = Self {
            hint: *hint,
            proof: *proof.first_chunk()?,
        };
        (*bytes != [0; Self::LEN]).then_some(introduction)
    }
}

/// For a message between the relays whose certificates have these fingerprints: who lists the onion key of another one in
/// the directory cannot use what was said to it.
fn prologue(from: &[u8; 32], to: &[u8; 32]) -> Vec<u8> {
    [PROLOGUE, from, to].concat()
}

fn builder<'a>(
    own: &'a OnionSecret,
    other: &'a OnionPublic,
    prologue: &'a [u8],
) -> Result<Builder<'a>, snow::Error> {
    Builder::with_resolver(PATTERN.parse()?, Box::new(Primitives))
        .prologue(prologue)?
        .local_private_key(own.bytes())?
        .remote_public_key(&other.0)
}

impl fmt::Debug for Introduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Introduction(..)")
    }
}
