//! Handshake messages as they travel.

use std::ops::Deref;

use super::{SETUP_PLAIN, hop_message};
use crate::TAG;
use crate::keys::KEY;

/// Bytes of a handshake message at most: as many as fit an EXTEND.
pub const MAX_HANDSHAKE: usize = SETUP_PLAIN - hop_message::EXTEND_FIELDS;
/// Bytes of payload that a handshake message carries at most, next to a key and a tag.
pub const MAX_HANDSHAKE_PAYLOAD: usize = MAX_HANDSHAKE - KEY - TAG;

/// A handshake message, at most [`MAX_HANDSHAKE`] bytes long. Only [`crate::Initiator`] and
/// [`crate::answer`] look into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handshake(Vec<u8>);

impl Handshake {
    /// The message with these bytes, unless they are too many.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() <= MAX_HANDSHAKE).then_some(Self(bytes))
    }

    /// A message that is an answer to nothing.
    pub(crate) const fn empty() -> Self {
        Self(Vec::new())
    }
}

impl Deref for Handshake {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
