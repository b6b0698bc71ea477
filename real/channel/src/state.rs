//! How far a channel is, and why it ended.

use std::fmt;

use hopflow_units::Duration;

/// How long the handshake of a channel may take before it gives up.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);

/// Where a channel stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The ends agree on keys; nothing can be sealed yet.
    Handshaking,
    /// The caller knows whom it called, and both ends have keys.
    Open,
    /// The channel is over; what it still has to transmit may be sent, all else is ignored.
    Closed(Error),
}

/// Why a channel is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The neighbour showed another certificate than the expected one.
    WrongFingerprint,
    /// The neighbour did not answer in time.
    TimedOut,
    /// The neighbour closed the channel.
    ClosedByPeer,
    /// This end closed the channel.
    ClosedHere,
    /// The neighbour broke the protocol, or was made to look so; the text says where.
    Protocol(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongFingerprint => f.write_str("the neighbour has another certificate"),
            Self::TimedOut => f.write_str("the neighbour does not answer"),
            Self::ClosedByPeer => f.write_str("closed by the neighbour"),
            Self::ClosedHere => f.write_str("closed"),
            Self::Protocol(what) => write!(f, "the neighbour broke the protocol: {what}"),
        }
    }
}

impl std::error::Error for Error {}
