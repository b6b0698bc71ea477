//! What is wrong with a model.

use std::fmt;

/// Why a model cannot be used: the file, what is wrong in it, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    file: String,
    problem: String,
}

impl ModelError {
    pub(crate) fn new(file: &str, problem: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}

impl std::error::Error for ModelError {}
