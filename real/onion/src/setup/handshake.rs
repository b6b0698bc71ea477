//! Handshake messages as they travel.

use std::ops::Deref;

use super::layout::MAX_HANDSHAKE;

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
