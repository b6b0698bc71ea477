//! The hopflow command line, as a library.
//!
//! [`main`] is the whole command line, for the program `hopflow` and for `python -m hopflow`.
//! [`Program`] is the same with controls of other crates. It reads arguments and prints; what the commands do is in `hopflow-api`.

mod args;
mod changes;
mod describe;
mod explain;
mod fail;
mod generate;
mod list;
#[cfg_attr(not(feature = "live"), path = "without_live.rs")]
mod live;
mod numbers;
#[cfg_attr(not(feature = "overlay"), path = "without_overlay.rs")]
mod overlay;
mod program;
mod progress;
mod reproduce;
mod run;
mod show;
mod sweep;

use std::ffi::OsString;

use args::{Cli, Command};
use clap::Parser;
use hopflow_api::{Caller, Failure};
pub use program::Program;

/// Does what the command line says; returns the exit code.
///
/// `arguments` are those behind the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>, caller: &Caller) -> u8 {
    let arguments = std::iter::once("hopflow".into()).chain(arguments);
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell if this cannot be printed.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(fail::BAD_INPUT);
        }
    };
    match dispatch(cli, caller) {
        Ok(()) => 0,
        Err(failure) => fail::report(&failure),
    }
}

fn dispatch(cli: Cli, caller: &Caller) -> Result<(), Failure> {
    match cli.command {
        None => run::run(None, &cli.changes, &cli.options, caller),
        Some(Command::Run {
            scenario,
            changes,
            options,
        }) => run::run(scenario.as_deref(), &changes, &options, caller),
        Some(Command::Compare {
            scenario,
            transports,
            changes,
            options,
        }) => run::compare(&changes.of(&scenario), &transports, &options, caller),
        Some(Command::Sweep {
            scenario,
            space,
            options,
        }) => sweep::sweep(&scenario, &space, &options, caller),
        Some(Command::Reproduce {
            experiment,
            options,
        }) => reproduce::reproduce(&experiment, &options, caller),
        Some(Command::Atlas { folder, out }) => reproduce::atlas(&folder, out.as_deref()),
        Some(Command::Campaign { arguments: _ }) => Err(needs_python("campaign", "campaign")),
        Some(Command::Observe { arguments: _ }) => Err(needs_python("observe", "adversarial")),
        Some(Command::Report { folder }) => show::report(&folder),
        Some(Command::Explain {
            target,
            changes,
            options,
            order,
        }) => explain::explain(&changes.of(&target), &options, &order, caller),
        Some(Command::Live(command)) => command.execute(),
        Some(Command::Overlay(command)) => command.execute(caller),
        Some(Command::List { what, json }) => list::list(what, json),
        Some(Command::Options { transport, json }) => list::options(&transport, json),
        Some(Command::Describe {
            table,
            json,
            markdown,
        }) => describe::describe(table.as_deref(), json, markdown),
        Some(Command::Validate { scenario, changes }) => list::validate(&changes.of(&scenario)),
        Some(Command::Schema) => show::print(&hopflow_lab::scenario::schema()),
        Some(Command::Completions { shell }) => generate::completions(shell),
        Some(Command::Man { folder }) => generate::manual(&folder),
    }
}

/// Why a command is not here: it is the Python package's, with one of its extras.
fn needs_python(command: &str, extra: &str) -> Failure {
    Failure::bad_input(format_args!(
        "{command} needs the Python package: `pip install '.[{extra}]'`, then \
         `python -m hopflow {command}`"
    ))
}
