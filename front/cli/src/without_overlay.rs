//! The commands of the real overlay, where the program is built without it.

use clap::{Args, Subcommand};
use hopflow_api::{Caller, Failure};
use hopflow_overlay::HopControl;
use hopflow_transports::{LayerOptions, NameTaken};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a real overlay on this machine (build with `--features overlay`)
    #[command(disable_help_flag = true)]
    Testbed(Arguments),
    /// Run a relay of a real overlay (build with `--features overlay`)
    #[command(disable_help_flag = true)]
    Relay(Arguments),
    /// Run a client of a real overlay (build with `--features overlay`)
    #[command(disable_help_flag = true)]
    Client(Arguments),
    /// Show what running relays and clients do (build with `--features overlay`)
    #[command(disable_help_flag = true)]
    Top(Arguments),
    /// Make, sign and verify the directory of an overlay (build with `--features overlay`)
    #[command(disable_help_flag = true)]
    Directory(Arguments),
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
    pub(crate) fn execute(self, _: &Caller) -> Result<(), Failure> {
        let name = match self {
            Self::Testbed(_) => "testbed",
            Self::Relay(_) => "relay",
            Self::Client(_) => "client",
            Self::Top(_) => "top",
            Self::Directory(_) => "directory",
        };
        Err(Failure::bad_input(format_args!(
            "{name}: this build leaves out the real overlay; build it with the cargo feature \
             \"overlay\": cargo install --path front/cli --locked --features overlay"
        )))
    }
}

/// Makes a control on hops known to real hosts: there are none.
#[expect(
    clippy::extra_unused_type_parameters,
    clippy::unnecessary_wraps,
    reason = "what the build with the real overlay has does more"
)]
pub(crate) fn register_hop<H: HopControl<Config: LayerOptions>>() -> Result<(), NameTaken> {
    Ok(())
}
