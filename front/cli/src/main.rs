//! The program `hopflow`.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopflow_cli::Program::new().run()
}
