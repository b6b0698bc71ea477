//! What can be wrong with a file of relays or paths.

use std::fmt;
use std::io;

/// Why relays or paths could not be read; names the file and, where one is at fault, the line.
#[derive(Debug)]
pub struct PathsError {
    file: String,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    /// The operating system refused, or the compressed data are damaged.
    Read(io::Error),
    /// The line, counted from 1, does not say what it should.
    Line { number: usize, reason: String },
    /// The file as a whole does not say what it should.
    Content(String),
}

impl PathsError {
    /// The name of the file that the error is about.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line at fault, counted from 1, where there is one.
    pub fn line(&self) -> Option<usize> {
        match self.problem {
            Problem::Line { number, .. } => Some(number),
            Problem::Read(_) | Problem::Content(_) => None,
        }
    }

    pub(crate) fn read(file: &str, source: io::Error) -> Self {
        Self {
            file: file.to_owned(),
            problem: Problem::Read(source),
        }
    }

    pub(crate) fn at_line(file: &str, number: usize, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            problem: Problem::Line {
                number,
                reason: reason.into(),
            },
        }
    }

    pub(crate) fn content(file: &str, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            problem: Problem::Content(reason.into()),
        }
    }
}

impl fmt::Display for PathsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        match &self.problem {
            Problem::Read(source) => write!(f, "cannot read {file}: {source}"),
            Problem::Line { number, reason } => write!(f, "{file}, line {number}: {reason}"),
            Problem::Content(reason) => write!(f, "{file}: {reason}"),
        }
    }
}

impl std::error::Error for PathsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Read(source) => Some(source),
            Problem::Line { .. } | Problem::Content(_) => None,
        }
    }
}
