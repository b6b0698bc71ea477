//! What is wrong with bytes that are not a set-up message.

use std::fmt;

use super::layout::{MAX_HANDSHAKE, VERSION};

/// Bytes that are not a set-up message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupError {
    /// The kind of message is unknown.
    UnknownKind(u8),
    /// The message has another version than [`VERSION`].
    UnknownVersion(u8),
    /// The address is of an unknown family.
    UnknownFamily(u8),
    /// A handshake message of this many bytes is longer than [`MAX_HANDSHAKE`].
    Length(u16),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind(kind) => write!(f, "set-up message {kind} is unknown"),
            Self::UnknownVersion(version) => {
                write!(f, "set-up version {version} is unknown; this is {VERSION}")
            }
            Self::UnknownFamily(family) => {
                write!(f, "address family {family} is neither 4 nor 6")
            }
            Self::Length(len) => {
                write!(
                    f,
                    "a handshake message has at most {MAX_HANDSHAKE} bytes, not {len}"
                )
            }
        }
    }
}

impl std::error::Error for SetupError {}
