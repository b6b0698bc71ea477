//! What can go wrong with a result folder.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file of a result folder could not be written or read; each names the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, such as "read".
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The file does not exist.
    Missing {
        /// The file.
        path: PathBuf,
        /// What it would hold and who writes it.
        expected: String,
    },
    /// The file exists but does not hold what it should.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The folder was written in a format that this version does not read.
    Format {
        /// The manifest.
        path: PathBuf,
        /// The format it states.
        found: u32,
        /// The format that this version reads and writes.
        supported: u32,
    },
    /// A value cannot be written.
    Value {
        /// The file.
        path: PathBuf,
        /// Which value, and what is allowed.
        reason: String,
    },
}

impl Error {
    /// The file or folder that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Missing { path, .. }
            | Self::Damaged { path, .. }
            | Self::Format { path, .. }
            | Self::Value { path, .. } => path,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }

    /// An error of reading `path`, which should hold `expected`.
    pub(crate) fn reading(path: &Path, expected: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing {
                path: path.to_owned(),
                expected: expected.to_owned(),
            },
            _ => Self::io("read", path)(source),
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Io { action, source, .. } => write!(f, "cannot {action} {path}: {source}"),
            Self::Missing { expected, .. } => {
                write!(f, "{path} does not exist; it should hold {expected}")
            }
            Self::Damaged { reason, .. } => write!(f, "{path} is damaged: {reason}"),
            Self::Format {
                found, supported, ..
            } => write!(
                f,
                "{path}: `format` is {found}, but this version of hopflow reads {supported}"
            ),
            Self::Value { reason, .. } => write!(f, "cannot write {path}: {reason}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
