//! What may stand on the command line of relays, clients and their directory.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hopflow_daemon::directory::AuthorityId;

/// How a relay or client is run.
#[derive(Debug, Args)]
pub(crate) struct NodeOptions {
    /// The node's configuration
    #[arg(value_name = "CONFIG")]
    pub(crate) config: PathBuf,
    /// Check configuration, keys and directory, print a summary, and send nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// What is logged
    #[arg(
        long,
        value_name = "LEVEL",
        env = "HOPFLOW_LOG",
        default_value = "info"
    )]
    pub(crate) log: Level,
}

/// What is logged; each level includes those before it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Level {
    /// Nothing
    Off,
    /// What keeps the node from working
    Error,
    /// What its operator should look after
    Warn,
    /// What it does
    Info,
    /// Why it does that
    Debug,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DirectoryCommand {
    /// Make an authority's key, or read it, and print what configurations need of it
    Keygen {
        /// The folder of the key, which only its owner may read
        #[arg(value_name = "DIR")]
        keys: PathBuf,
    },
    /// Print a relay's entry, for its directory; its keys are made if they are missing
    Entry(EntryOptions),
    /// Print a signed directory of relays' entries
    Sign(SignOptions),
    /// Verify a directory and print what it says
    Show {
        /// The directory
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The public key of the authority that must have signed it
        #[arg(long, value_name = "KEY")]
        authority: AuthorityId,
    },
}

/// What a relay's entry says beside its configuration.
#[derive(Debug, Args)]
pub(crate) struct EntryOptions {
    /// The relay's configuration
    #[arg(value_name = "CONFIG")]
    pub(crate) config: PathBuf,
    /// The relay's name: up to 32 letters, digits and hyphens
    #[arg(long, value_name = "NAME")]
    pub(crate) nickname: String,
    /// Where others reach the relay, if not where it listens; a second one, of the other family, is for
    /// clients only
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Vec<SocketAddr>,
    /// How often the relay is chosen, in comparison with others
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub(crate) weight: u64,
    /// Let the relay be the first of a path
    #[arg(long)]
    pub(crate) guard: bool,
    /// A name for all relays that the same people run: no two of them are in one path
    #[arg(long, value_name = "NAME")]
    pub(crate) family: Option<String>,
}

/// What a directory says beside its entries.
#[derive(Debug, Args)]
pub(crate) struct SignOptions {
    /// Files of entries, as `hopflow directory entry` prints them
    #[arg(value_name = "ENTRY", required = true)]
    pub(crate) entries: Vec<PathBuf>,
    /// The folder of the authority's key
    #[arg(long, value_name = "DIR")]
    pub(crate) keys: PathBuf,
    /// The network's name: up to 32 letters, digits and hyphens
    #[arg(long, value_name = "NAME")]
    pub(crate) network: String,
    /// The transport of all nodes, as `hopflow list transports` names it
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: String,
    /// An option of the transport; may be given several times
    #[arg(long = "option", value_name = "KEY=VALUE")]
    pub(crate) options: Vec<String>,
    /// Days for which the directory is valid from now on
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=3650)
    )]
    pub(crate) days: u32,
    /// File that is written, or replaced at once, in place of the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
