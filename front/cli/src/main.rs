//! The program `hopflow`.

use std::env;
use std::process::ExitCode;

use hopflow_api::Caller;

fn main() -> ExitCode {
    let program = env::current_exe().unwrap_or_default();
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let caller = Caller::of_arguments("hopflow", &arguments, program);
    ExitCode::from(hopflow_cli::main(arguments, &caller))
}
