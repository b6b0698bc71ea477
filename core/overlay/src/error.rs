//! What can go wrong through others: broken protocol and bad configuration.

use std::fmt;

use hopflow_wire::{DecodeError, Reason, RelayCommand};

/// A peer broke the protocol; the circuit it concerns is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An acknowledgement names a cell that was never sent, or forward feedback one that was not
    /// acknowledged.
    BeyondSent,
    /// A SENDME or credit releases more than is outstanding.
    BeyondOutstanding,
    /// A SENDME does not prove that what it acknowledges was read.
    Unproven,
    /// A cell belongs to a stream that does not exist.
    UnknownStream,
    /// A cell's content cannot be read.
    Malformed(DecodeError),
    /// The peer keeps sending beyond the queue limit.
    Excess,
    /// The other end of the circuit sent a relay command that the circuit's transport does not take
    /// there, or does not take again.
    Unexpected(RelayCommand),
    /// A neighbour sent a message that the circuit's transport does not take from it.
    UnexpectedMessage,
    /// A neighbour's message cannot be read.
    UnreadableMessage,
    /// The peer does not answer any more.
    Unreachable,
}

impl Violation {
    /// The reason that neighbours learn.
    pub const fn reason(self) -> Reason {
        match self {
            Self::Excess => Reason::Excess,
            Self::Unreachable => Reason::Unreachable,
            _ => Reason::Protocol,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondSent => write!(
                f,
                "feedback names a cell that was never sent or did not arrive"
            ),
            Self::BeyondOutstanding => write!(f, "more was released than is outstanding"),
            Self::Unproven => write!(
                f,
                "a SENDME does not prove that what it acknowledges was read"
            ),
            Self::UnknownStream => write!(f, "a cell belongs to no stream"),
            Self::Malformed(error) => write!(f, "a cell cannot be read: {error}"),
            Self::Excess => write!(f, "the peer sends beyond the queue limit"),
            Self::Unexpected(command) => {
                write!(
                    f,
                    "the transport does not take the relay command {command:?} here"
                )
            }
            Self::UnexpectedMessage => write!(f, "the transport does not take this message"),
            Self::UnreadableMessage => write!(f, "a neighbour's message cannot be read"),
            Self::Unreachable => write!(f, "the peer does not answer"),
        }
    }
}

impl std::error::Error for Violation {}

/// A user's setting that cannot be used: which key, which value, and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The key, dotted where nested.
    pub key: String,
    /// The value as it was given; empty if the key itself is the problem.
    pub value: String,
    /// What is allowed there.
    pub allowed: String,
}

impl ConfigError {
    /// An unusable `value` of `key`.
    pub fn new(key: &str, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// Refuses options that differ from those that a running node has, where its `layer` takes no
    /// others. Options are the same if they are written the same.
    ///
    /// # Errors
    /// If they differ; the key is [`OPTIONS`](Self::OPTIONS).
    pub(crate) fn if_changed(
        layer: &str,
        old: &dyn fmt::Debug,
        new: &dyn fmt::Debug,
    ) -> Result<(), Self> {
        if format!("{old:?}") == format!("{new:?}") {
            return Ok(());
        }
        let problem = format!("`{layer}` takes no other options while nodes run");
        Err(Self::new(Self::OPTIONS, "", problem))
    }

    /// The key that stands for all options of a layer.
    pub const OPTIONS: &str = "options";
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            value,
            allowed,
        } = self;
        if value.is_empty() {
            write!(f, "`{key}`: {allowed}")
        } else {
            write!(f, "`{key}` is {value}; allowed is {allowed}")
        }
    }
}

impl std::error::Error for ConfigError {}
