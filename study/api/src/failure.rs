//! Failing: one message, and whose doing it is.

use std::fmt::Display;

use hopflow_lab::run;
use hopflow_lab::scenario::InputError;

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    message: String,
    kind: Kind,
}

/// Whose doing a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run or a node failed by a defect.
    Defect,
    /// What the user gave cannot be used.
    BadInput,
    /// A file with data that a scenario names is not there.
    MissingData,
    /// The user interrupted.
    Interrupted,
}

impl Failure {
    /// A failure of some kind.
    pub fn new(kind: Kind, message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            kind,
        }
    }

    /// What the user gave cannot be used.
    pub fn bad_input(message: impl Display) -> Self {
        Self::new(Kind::BadInput, message)
    }

    /// Something went wrong that is not the user's doing.
    pub fn defect(message: impl Display) -> Self {
        Self::new(Kind::Defect, message)
    }

    /// The same failure, with a hint behind its message.
    pub(crate) fn with_hint(mut self, hint: impl Display) -> Self {
        self.message = format!("{}\n{hint}", self.message);
        self
    }

    /// What went wrong, and what is allowed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whose doing it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }
}

impl From<run::Error> for Failure {
    fn from(error: run::Error) -> Self {
        let kind = match &error {
            run::Error::Failed(_) => Kind::Defect,
            run::Error::Interrupted { .. } => Kind::Interrupted,
            run::Error::Input(error) => of_input(error),
            _ => Kind::BadInput,
        };
        Self::new(kind, error)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::new(of_input(&error), error)
    }
}

const fn of_input(error: &InputError) -> Kind {
    if error.is_of_missing_file() {
        Kind::MissingData
    } else {
        Kind::BadInput
    }
}

#[cfg(feature = "testbed")]
impl From<hopflow_testbed::Error> for Failure {
    fn from(error: hopflow_testbed::Error) -> Self {
        let kind = match &error {
            hopflow_testbed::Error::Interrupted => Kind::Interrupted,
            _ => Kind::Defect,
        };
        Self::new(kind, error)
    }
}

impl From<hopflow_report::Error> for Failure {
    fn from(error: hopflow_report::Error) -> Self {
        Self::bad_input(error)
    }
}

impl From<hopflow_results::Error> for Failure {
    fn from(error: hopflow_results::Error) -> Self {
        Self::bad_input(error)
    }
}
