//! What a user got wrong, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// An error in a file that a user wrote: where it is, what is wrong, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    file: Option<PathBuf>,
    line: Option<usize>,
    key: String,
    problem: String,
}

impl InputError {
    /// An error that belongs to no key.
    pub fn new(problem: impl Into<String>) -> Self {
        Self::at("", problem)
    }

    /// An error at a key such as `relays[2].onion-key`.
    pub fn at(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            key: key.into(),
            problem: problem.into(),
        }
    }

    /// The error with the name of its file, unless it has one already.
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// The error on a line, counted from one.
    pub(crate) fn on_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for InputError {}
