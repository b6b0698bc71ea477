//! `hopflow relay` and `hopflow client`.

use std::path::Path;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use hopflow_api::Failure;
use hopflow_daemon::check::{self, Findings};
use hopflow_daemon::config::{ClientConfig, RelayConfig};
use hopflow_daemon::net::{self, Running, StartError, calendar_time};
use tracing::{info, warn};
use tracing_subscriber::filter::LevelFilter;

use super::args::{Level, NodeOptions};
use super::failure::not_started;
use crate::show;

/// How often the workers' health is looked at.
const GLANCE: Duration = Duration::from_secs(1);
/// Glances from one summary in the log to the next, ten minutes.
const SUMMARY: u32 = 600;
/// By convention 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// Runs a relay, or checks its configuration.
pub(crate) fn relay(options: &NodeOptions) -> Result<(), Failure> {
    let config = RelayConfig::load(&options.config)?;
    let found = check::relay(&config, calendar_time())?;
    run(options, &found, || net::relay(&config))
}

/// Runs a client, or checks its configuration.
pub(crate) fn client(options: &NodeOptions) -> Result<(), Failure> {
    let config = ClientConfig::load(&options.config)?;
    let found = check::client(&config, calendar_time())?;
    run(options, &found, || net::client(&config))
}

fn run(
    options: &NodeOptions,
    found: &Findings,
    start: impl FnOnce() -> Result<Running, StartError>,
) -> Result<(), Failure> {
    if options.check {
        return show::print(&report(&options.config, found));
    }
    log_to_stderr(options.log);
    let signals = signals()?;
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    found.facts.iter().for_each(|fact| info!("{fact}"));
    found.warnings.iter().for_each(|warning| warn!("{warning}"));
    let running = start().map_err(|error| not_started(&error))?;
    info!("running");
    wait(&running, &signals);
    info!("ending: no new streams, open streams may end; a second signal ends at once");
    running.end().map_err(Failure::defect)?;
    info!("ended");
    Ok(())
}

fn report(config: &Path, found: &Findings) -> String {
    let lines = found.facts.iter().map(|fact| format!("{fact}\n"));
    let warnings = found.warnings.iter();
    let lines = lines.chain(warnings.map(|warning| format!("warning: {warning}\n")));
    lines.collect::<String>() + &format!("{} is valid\n", config.display())
}

fn log_to_stderr(level: Level) {
    let level = match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(level)
        .with_target(false)
        .init();
}

/// Hears of the first signal; the second ends the process.
fn signals() -> Result<Receiver<()>, Failure> {
    let (caught, signals) = channel();
    let mut first = true;
    ctrlc::set_handler(move || {
        if !std::mem::take(&mut first) {
            process::exit(INTERRUPTED);
        }
        // Nobody listens any more if the node is ending by itself.
        let _ = caught.send(());
    })
    .map_err(Failure::defect)?;
    Ok(signals)
}

/// Waits for a signal, or for a worker to fail; tells now and then how things are.
fn wait(running: &Running, signals: &Receiver<()>) {
    let mut glances = 0;
    while signals.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
        if running.has_failed() {
            return;
        }
        glances += 1;
        if glances % SUMMARY == 0 {
            summarise(running);
        }
    }
}

fn summarise(running: &Running) {
    let total = running.total();
    info!(
        links = total.counters.links,
        circuits = total.counters.circuits,
        streams = total.streams,
        handshakes = total.counters.handshakes,
        failed = total.counters.handshakes_failed,
        sent = total.counters.node.cells_sent,
        resent = total.counters.node.cells_resent,
        dropped = total.counters.node.cells_dropped,
        held = %total.held,
        "so far"
    );
}
