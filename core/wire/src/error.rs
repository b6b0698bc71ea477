//! What is wrong with bytes that cannot be decoded.

use std::fmt;

use crate::Message;

/// Bytes that are not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// The bytes end within a frame.
    Truncated,
    /// The frame's type is unknown.
    UnknownType(u8),
    /// The relay command is unknown.
    UnknownCommand(u8),
    /// The length does not fit the cell.
    Length(u16),
    /// A message is longer than allowed.
    TooLong(u16),
    /// Who sends a message is neither the predecessor nor the successor.
    UnknownSender(u8),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the bytes end within a frame"),
            Self::UnknownType(t) => write!(f, "frame type {t} is unknown"),
            Self::UnknownCommand(c) => write!(f, "relay command {c} is unknown"),
            Self::Length(n) => write!(f, "{n} bytes of data do not fit a cell"),
            Self::TooLong(n) => write!(
                f,
                "a message of {n} bytes is too long; allowed are {}",
                Message::MAX_BODY
            ),
            Self::UnknownSender(s) => write!(f, "sender {s} of a message is unknown"),
        }
    }
}

impl std::error::Error for DecodeError {}
