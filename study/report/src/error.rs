//! Why there is no report.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a report could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The results cannot be read.
    Results(hopflow_results::Error),
    /// The results are complete but hold no run.
    NoRuns {
        /// The result folder.
        path: PathBuf,
    },
    /// A file cannot be written.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, such as "write".
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A page or section that another program wrote has not the form that it should.
    Form {
        /// The file, or what the text is.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }

    pub(crate) fn json(path: &Path, error: &serde_json::Error) -> Self {
        Self::Form {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }
}

impl From<hopflow_results::Error> for Error {
    fn from(error: hopflow_results::Error) -> Self {
        Self::Results(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Results(error) => error.fmt(f),
            Self::NoRuns { path } => write!(
                f,
                "{} holds no finished run; `hopflow run` writes some",
                path.join("manifest.json").display()
            ),
            Self::Io {
                path,
                action,
                source,
            } => {
                write!(f, "cannot {action} {}: {source}", path.display())
            }
            Self::Form { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Results(error) => std::error::Error::source(error),
            Self::Io { source, .. } => Some(source),
            Self::NoRuns { .. } | Self::Form { .. } => None,
        }
    }
}
