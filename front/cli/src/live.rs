//! `hopflow live`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::{Args, Subcommand};
use hopflow_api::{Failure, Order};
use hopflow_lab::builtin;
use hopflow_live::{Pace, Recording, Server, Simulation, Stream, Target, Watch};

use crate::changes::Changes;
use crate::{progress, show};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a simulation in progress, results, or real relays in the browser
    ///
    /// Serves a page at an address of this machine until it is interrupted. Nothing can be changed
    /// through it.
    Live(LiveOptions),
}

impl Command {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let Self::Live(options) = self;
        live(&options)
    }
}

/// What is shown, and where.
#[derive(Debug, Args)]
pub(crate) struct LiveOptions {
    /// A scenario's file, the name of a built-in scenario, or a result folder [default: quickstart]
    #[arg(value_name = "SCENARIO|DIR")]
    target: Option<String>,
    /// Relays and clients whose metrics are shown: addresses, with or without names before them
    #[arg(
        long,
        value_name = "[NAME=]ADDRESS,...",
        value_delimiter = ',',
        conflicts_with_all = ["target", "speed", "seed", "transports", "set"]
    )]
    metrics: Vec<Target>,
    /// Where the page is served; with port 0 at any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8734", value_parser = address)]
    listen: SocketAddr,
    /// Simulated seconds in a second, from 0.001 to 1000, or max [default: 1]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    speed: Option<Pace>,
    /// The seed of the network; by default the first of the scenario or of the results
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Transports in place of the scenario's, as `hopflow list transports` names them
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    transports: Vec<String>,
    #[command(flatten)]
    changes: Changes,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "allowed is an address with a port, such as 127.0.0.1:8734".to_owned())
}

/// Serves the page until the user interrupts.
fn live(options: &LiveOptions) -> Result<(), Failure> {
    progress::heed_interrupts();
    if !options.metrics.is_empty() {
        let watch = Watch::new(options.metrics.clone());
        let watch =
            watch.map_err(|error| Failure::bad_input(format_args!("--metrics: {error}")))?;
        let stream = watch.stream();
        let server = serve(options, &stream)?;
        watch.run(&stream, &progress::interrupted);
        server.end();
        return Ok(());
    }
    let target = options.target.as_deref();
    let target = target.unwrap_or(builtin::scenarios()[0].name);
    if Path::new(target).is_dir() {
        return results(Path::new(target), options);
    }
    let simulation = simulation(target, options)?;
    let stream = simulation.stream();
    let server = serve(options, &stream)?;
    simulation.run(&stream, &progress::interrupted);
    progress::wait_for_interrupt();
    server.end();
    Ok(())
}

fn results(folder: &Path, options: &LiveOptions) -> Result<(), Failure> {
    for (given, option) in [
        (options.speed.is_some(), "--speed"),
        (!options.transports.is_empty(), "--transports"),
        (!options.changes.is_empty(), "--set"),
    ] {
        if given {
            return Err(hopflow_api::needs_scenario(option, folder));
        }
    }
    let stream = Recording::load(folder, options.seed)?.stream();
    let server = serve(options, &stream)?;
    progress::wait_for_interrupt();
    server.end();
    Ok(())
}

fn simulation(target: &str, options: &LiveOptions) -> Result<Simulation, Failure> {
    let (source, order) = (options.changes.of(target), Order::default());
    if options.seed.is_some() {
        source.refuse_changes("seeds", "--seed")?;
    }
    let scenario = if options.transports.is_empty() {
        source.load(&order)?.0
    } else {
        hopflow_api::check_presets(&options.transports)?;
        let mut scenario = hopflow_api::load_to_compare(&source, &order)?;
        scenario.compare(options.transports.iter().map(String::as_str));
        scenario
    };
    let pace = options.speed.unwrap_or(Pace::REAL_TIME);
    Ok(Simulation::new(scenario, options.seed, pace)?)
}

/// Starts the server and says where the page is.
fn serve(options: &LiveOptions, stream: &Arc<Stream>) -> Result<Server, Failure> {
    let listen = options.listen;
    let server = Server::start(listen, Arc::clone(stream)).map_err(|error| {
        Failure::bad_input(format_args!(
            "--listen: {listen}: {error}; allowed is an address of this machine with a port that is \
             free, such as 127.0.0.1:0"
        ))
    })?;
    if !listen.ip().is_loopback() {
        let yellow = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
        progress::tell(&format!(
            "{yellow}warning:{yellow:#} --listen {listen}: everybody who reaches this address sees \
             the page, without a password and without encryption; metrics of a relay leak \
             information about its users"
        ));
    }
    let address = server.address();
    show::print(&format!("http://{address}/\nCtrl-C ends it\n"))?;
    Ok(server)
}
