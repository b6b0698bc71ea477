//! Failing: one message, and an exit code that means something.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use hopflow_daemon::net::StartError;
use hopflow_lab::run;
use hopflow_lab::scenario::InputError;

/// Why the command ends early.
#[derive(Debug)]
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// A run or a node failed by a defect.
    pub const DEFECT: u8 = 1;
    /// What the user gave cannot be used; as clap's own errors.
    pub const BAD_INPUT: u8 = 2;
    /// By convention 128 + SIGINT.
    pub const INTERRUPTED: u8 = 130;

    /// What the user gave cannot be used.
    pub fn bad_input(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            code: Self::BAD_INPUT,
        }
    }

    /// Something went wrong that is not the user's doing.
    pub(crate) fn defect(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            code: Self::DEFECT,
        }
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

    /// The exit code of the command line: [`DEFECT`](Self::DEFECT),
    /// [`BAD_INPUT`](Self::BAD_INPUT) or [`INTERRUPTED`](Self::INTERRUPTED).
    pub const fn code(&self) -> u8 {
        self.code
    }

    /// Prints the message; returns the exit code.
    pub(crate) fn report(&self) -> u8 {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        anstream::eprintln!("{red}error:{red:#} {}", self.message);
        self.code
    }
}

impl From<run::Error> for Failure {
    fn from(error: run::Error) -> Self {
        let code = match &error {
            run::Error::Failed(_) => Self::DEFECT,
            run::Error::Interrupted { .. } => Self::INTERRUPTED,
            _ => Self::BAD_INPUT,
        };
        Self {
            message: error.to_string(),
            code,
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::bad_input(error)
    }
}

impl From<hopflow_daemon::InputError> for Failure {
    fn from(error: hopflow_daemon::InputError) -> Self {
        Self::bad_input(error)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Input(error) => error.into(),
            StartError::Socket { .. } => Self::bad_input(error),
            StartError::System(_) => Self::defect(error),
        }
    }
}

impl From<hopflow_testbed::Error> for Failure {
    fn from(error: hopflow_testbed::Error) -> Self {
        let code = match &error {
            hopflow_testbed::Error::Interrupted => Self::INTERRUPTED,
            _ => Self::DEFECT,
        };
        Self {
            message: error.to_string(),
            code,
        }
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
