//! What may stand on the command line.

mod space;

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use hopflow_api::Order;
use hopflow_lab::scenario::Seeds;
use hopflow_results::Class;

use crate::changes::Changes;
use crate::numbers::positive;
use crate::{live, overlay};

pub(crate) use space::SpaceOptions;

/// Designs, measures and runs transports for onion-routing overlays such as Tor.
///
/// Without a command it runs the scenario `quickstart`, which compares transports in less than a
/// minute, and writes a report.
#[derive(Debug, Parser)]
#[command(name = "hopflow", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// How runs are made.
#[derive(Debug, Args)]
pub(crate) struct OrderOptions {
    /// Folder for the results; by default one below `results`, named after the scenario and its hash
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs of each transport, with the seeds from 1 on; `reproduce` keeps to an experiment's own list of
    /// seeds. By default as the scenario says
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive(Seeds::MOST))]
    seeds: Option<NonZeroU32>,
    /// File of circuits in place of the one that the scenario or experiment names
    #[arg(long, value_name = "FILE")]
    circuits: Option<PathBuf>,
    /// Threads in all, by default one per core; a few large runs take several threads each
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive(NonZeroUsize::MAX))]
    threads: Option<NonZeroUsize>,
}

impl OrderOptions {
    /// What was ordered.
    pub(crate) fn order(&self) -> Order {
        Order {
            out: self.out.clone(),
            seeds: self.seeds,
            circuits: self.circuits.clone(),
            threads: self.threads,
        }
    }
}

/// How runs are made and shown.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) order: OrderOptions,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which downloads are explained.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// Downloads of this transport; by default of each
    #[arg(long, value_name = "LABEL")]
    pub(crate) transport: Option<String>,
    /// Downloads of these users, bulk or web; by default web, if there are any
    #[arg(long, value_parser = class)]
    pub(crate) class: Option<Class>,
    /// Downloads of this circuit, of any class
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) circuit: Option<u32>,
    /// How many downloads of each transport, the slowest first
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        allow_negative_numbers = true,
        value_parser = positive(NonZeroU16::MAX)
    )]
    pub(crate) slowest: NonZeroU16,
    /// Print findings and downloads as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn class(text: &str) -> Result<Class, String> {
    text.parse().map_err(|_| "allowed are bulk, web".to_owned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario, show how the transports compare, and write a report
    ///
    /// Finished runs are kept: after an interruption, the same command makes the missing runs.
    Run {
        /// A file, or the name of a built-in scenario [default: quickstart]
        scenario: Option<String>,
        #[command(flatten)]
        changes: Changes,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Compare transports over the networks and users of a scenario
    ///
    /// All transports run on the same sampled networks. Differences are to the first transport,
    /// network by network, with 95 % confidence intervals.
    #[command(override_usage = "hopflow compare [SCENARIO] --transports <A,B,...> [OPTIONS]")]
    Compare {
        /// A file, or the name of a built-in scenario
        #[arg(default_value = "quickstart")]
        scenario: String,
        /// Two or more transports, as `hopflow list transports` names them
        #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
        transports: Vec<String>,
        #[command(flatten)]
        changes: Changes,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Sweep the design space of transports over a scenario, and show the trade-offs
    ///
    /// Runs all valid combinations of the axes below and says why the others are excluded. Finished
    /// runs are kept, as with `run`. `python -m hopflow sweep SCENARIO --vary KEY=VALUES` varies any
    /// key of a scenario instead; see `python -m hopflow campaign --help`.
    Sweep {
        /// A file, or the name of a built-in scenario; its own transports are not run
        #[arg(default_value = hopflow_lab::sweep::SCENARIO)]
        scenario: String,
        #[command(flatten)]
        space: SpaceOptions,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Reproduce a figure or table of a paper, and compare the values
    ///
    /// Writes the values and the paper's to values.csv, and a report with a verdict on each. `all`
    /// makes every experiment whose data are there, and an atlas of them; finished runs are kept.
    Reproduce {
        /// The experiment, as `hopflow list experiments` names it, or `all`
        experiment: String,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Write one page that shows what all experiments found, and a page for each
    ///
    /// The page needs no network. `hopflow reproduce all` writes it, too.
    Atlas {
        /// A folder that `hopflow reproduce all` wrote, or one of records
        #[arg(value_name = "DIR", default_value = hopflow_api::RESULTS)]
        folder: PathBuf,
        /// The folder for the pages [default: the same]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Vary parameters of a scenario over many networks, here or on a cluster (Python)
    ///
    /// Runs until every difference is known as precisely as asked. Needs the Python package; see
    /// `python -m hopflow campaign --help`.
    #[command(disable_help_flag = true)]
    Campaign {
        /// What `python -m hopflow campaign` takes
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "..."
        )]
        arguments: Vec<String>,
    },
    /// Measure what an observer of links learns from a scenario's traffic (Python)
    ///
    /// Trains adversaries on traces of the simulated links: what is fetched, which entry and exit
    /// belong together, who shares a bottleneck. Needs the Python package; see
    /// `python -m hopflow observe --help`.
    #[command(disable_help_flag = true)]
    Observe {
        /// What `python -m hopflow observe` takes
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "..."
        )]
        arguments: Vec<String>,
    },
    /// Write the report of a result folder again
    Report {
        /// A folder that `hopflow run` or `hopflow reproduce` wrote
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Say where the time of downloads went: how long, in which place, and why
    ///
    /// Takes results whose scenario records a breakdown, or a scenario, which it runs with one. A
    /// download's time is followed along its last byte; its parts add up to the nanosecond.
    Explain {
        /// A result folder, a scenario's file, or the name of a built-in scenario
        #[arg(value_name = "DIR|SCENARIO")]
        target: String,
        #[command(flatten)]
        changes: Changes,
        #[command(flatten)]
        options: ExplainOptions,
        #[command(flatten)]
        order: OrderOptions,
    },
    #[command(flatten)]
    Live(live::Command),
    #[command(flatten)]
    Overlay(overlay::Command),
    /// List transports, scenarios or experiments
    List {
        /// What to list
        what: Listing,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the options of a transport with its defaults, as comments that a scenario can take
    Options {
        /// The name of a transport, as `hopflow list transports` prints them
        transport: String,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Say what the tables of results hold: columns, types, units
    Describe {
        /// One table; by default all
        table: Option<String>,
        /// Print the dictionary as JSON
        #[arg(long, conflicts_with = "markdown")]
        json: bool,
        /// Print the dictionary as Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Check a scenario without running it
    Validate {
        /// A file, or the name of a built-in scenario
        scenario: String,
        #[command(flatten)]
        changes: Changes,
    },
    /// Print the JSON Schema of scenarios, for editors
    Schema,
    /// Print a script that completes commands in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into a folder, one for each command
    Man {
        /// The folder, which is made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// What can be listed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listing {
    /// The transports that scenarios may name
    Transports,
    /// The built-in scenarios
    Scenarios,
    /// The figures and tables that can be reproduced
    Experiments,
}
