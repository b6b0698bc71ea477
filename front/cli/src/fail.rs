//! Failing: one message, and an exit code that means something.

use anstyle::{AnsiColor, Style};
use hopflow_api::{Failure, Kind};

use crate::progress::tell;

/// A run or a node failed by a defect.
const DEFECT: u8 = 1;
/// What the user gave cannot be used; as clap's own errors.
pub(crate) const BAD_INPUT: u8 = 2;
/// By convention 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Prints the message; returns the exit code.
pub(crate) fn report(failure: &Failure) -> u8 {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    tell(&format!("{red}error:{red:#} {}", failure.message()));
    match failure.kind() {
        Kind::Defect => DEFECT,
        Kind::BadInput | Kind::MissingData => BAD_INPUT,
        Kind::Interrupted => INTERRUPTED,
    }
}
