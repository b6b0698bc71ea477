//! `hopflow live`, where the program is built without it.

use clap::{Args, Subcommand};
use hopflow_api::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show simulations, results or real relays in the browser (build with `--features live`)
    #[command(disable_help_flag = true)]
    Live(Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What the command takes
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "..."
    )]
    _arguments: Vec<String>,
}

impl Command {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let Self::Live(_) = self;
        Err(Failure::bad_input(
            "live: this build leaves out the page and its server; build it with the cargo feature \
             \"live\": cargo install --path front/cli --locked --features live",
        ))
    }
}
