//! The commands of the real overlay.

mod args;
mod directory;
mod failure;
mod node;
mod service;
mod testbed;
mod top;
mod transport_options;

use clap::Subcommand;
use hopflow_api::{Caller, Failure};
use hopflow_onion::OnionPayload;
use hopflow_overlay::HopControl;
use hopflow_transports::{LayerOptions, NameTaken};

use args::{DirectoryCommand, NodeOptions};
use testbed::TestbedOptions;
use top::TopOptions;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a real overlay on this machine, download through it, and report what was measured
    ///
    /// Directory, three relays, client and web server run in one process on the loopback device;
    /// access links are emulated. With `--compare` the simulator makes the same downloads.
    Testbed(Box<TestbedOptions>),
    /// Run a relay of a real overlay
    ///
    /// SIGINT or SIGTERM shuts it down: it accepts nothing new and lets streams end for a while. A second
    /// signal ends it at once. SIGHUP lets it read its limits and its directory again.
    Relay(NodeOptions),
    /// Run a client of a real overlay, to which applications connect by SOCKS 5
    ///
    /// SIGINT, SIGTERM or SIGHUP shuts it down: it takes nothing new and lets streams end for a while. A
    /// second signal ends it at once.
    Client(NodeOptions),
    /// Show what running relays and clients do, again and again
    ///
    /// Reads the metrics of nodes that serve them (the key `metrics` of their configurations): rates, links,
    /// circuits, queues, memory, what was refused or evicted at a limit, and what the transport measures.
    /// On a terminal `q` quits; elsewhere it prints a block of text, or with `--json` a line, for each look.
    Top(TopOptions),
    /// Make, sign and verify the directory of an overlay
    #[command(subcommand)]
    Directory(DirectoryCommand),
}

impl Command {
    pub(crate) fn execute(self, caller: &Caller) -> Result<(), Failure> {
        match self {
            Self::Testbed(options) => testbed::testbed(&options, caller),
            Self::Relay(options) => node::relay(&options),
            Self::Client(options) => node::client(&options),
            Self::Top(options) => top::top(&options),
            Self::Directory(command) => directory::directory(command),
        }
    }
}

/// Makes a control on hops known to real hosts.
pub(crate) fn register_hop<H: HopControl<Config: LayerOptions>>() -> Result<(), NameTaken> {
    hopflow_transports::register_hop::<H, OnionPayload>()
}
