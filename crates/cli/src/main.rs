//! The hopflow command line.

mod args;
mod directory;
mod fail;
mod list;
mod node;
mod progress;
mod report;
mod reproduce;
mod run;
mod show;
mod sweep;
mod testbed;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use fail::Failure;

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        None => run::run(None, &cli.options),
        Some(Command::Run { scenario, options }) => run::run(scenario.as_deref(), &options),
        Some(Command::Compare {
            scenario,
            transports,
            options,
        }) => run::compare(&scenario, &transports, &options),
        Some(Command::Sweep {
            scenario,
            space,
            options,
        }) => sweep::sweep(&scenario, &space, &options),
        Some(Command::Reproduce {
            experiment,
            options,
        }) => reproduce::reproduce(&experiment, &options),
        Some(Command::Testbed(options)) => testbed::testbed(&options),
        Some(Command::Report { folder }) => report::report(&folder),
        Some(Command::Relay(options)) => node::relay(&options),
        Some(Command::Client(options)) => node::client(&options),
        Some(Command::Directory(command)) => directory::directory(command),
        Some(Command::List { what, json }) => list::list(what, json),
        Some(Command::Validate { scenario }) => list::validate(&scenario),
        Some(Command::Schema) => show::print(&hopflow_lab::scenario::schema()),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hopflow", &mut script);
            show::print(&String::from_utf8_lossy(&script))
        }
    }
}
