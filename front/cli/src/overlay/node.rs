//! `hopflow relay` and `hopflow client`.

use std::path::Path;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use hopflow_api::Failure;
use hopflow_daemon::InputError;
use hopflow_daemon::check::{self, Findings};
use hopflow_daemon::config::{ClientConfig, RelayConfig};
use hopflow_daemon::net::{self, Running, StartError, calendar_time};
use nix::sys::signal::{SigSet, Signal};
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

/// What an operator asks a node for by signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    End,
    Reload,
}

/// Reads a node's configuration again.
type Reload<'a> = &'a dyn Fn(&Running) -> Result<(), InputError>;

/// Runs a relay, or checks its configuration.
pub(crate) fn relay(options: &NodeOptions) -> Result<(), Failure> {
    let config = RelayConfig::load(&options.config)?;
    let found = check::relay(&config, calendar_time())?;
    let reload = |running: &Running| running.reload(&RelayConfig::load(&options.config)?);
    run(options, &found, || net::relay(&config), Some(&reload))
}

/// Runs a client, or checks its configuration.
pub(crate) fn client(options: &NodeOptions) -> Result<(), Failure> {
    let config = ClientConfig::load(&options.config)?;
    let found = check::client(&config, calendar_time())?;
    run(options, &found, || net::client(&config), None)
}

fn run(
    options: &NodeOptions,
    found: &Findings,
    start: impl FnOnce() -> Result<Running, StartError>,
    reload: Option<Reload<'_>>,
) -> Result<(), Failure> {
    if options.check {
        return show::print(&report(&options.config, found));
    }
    log_to_stderr(options.log);
    let signals = signals(reload.is_some())?;
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    found.facts.iter().for_each(|fact| info!("{fact}"));
    found.warnings.iter().for_each(|warning| warn!("{warning}"));
    let running = start().map_err(|error| not_started(&error))?;
    info!("running");
    wait(&running, &signals, reload);
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

/// Hears of signals: SIGHUP asks a node that `reloads` for that, any other for the end, and a second
/// one of these ends the process.
fn signals(reloads: bool) -> Result<Receiver<Asked>, Failure> {
    let (caught, signals) = channel();
    let heard: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect();
    // All threads that start from now on leave them to the one that waits for them.
    heard.thread_block().map_err(Failure::defect)?;
    thread::spawn(move || {
        let mut ending = false;
        while let Ok(signal) = heard.wait() {
            let asked = if reloads && signal == Signal::SIGHUP {
                Asked::Reload
            } else {
                Asked::End
            };
            if asked == Asked::End && std::mem::replace(&mut ending, true) {
                process::exit(INTERRUPTED);
            }
            // Nobody listens any more if the node is ending.
            let _ = caught.send(asked);
        }
    });
    Ok(signals)
}

/// Waits for the signal to end, or for a worker to fail; tells now and then how things are.
fn wait(running: &Running, signals: &Receiver<Asked>, reload: Option<Reload<'_>>) {
    let mut glances = 0;
    loop {
        match signals.recv_timeout(GLANCE) {
            Ok(Asked::Reload) => match reload.map(|reload| reload(running)) {
                Some(Err(error)) => warn!("nothing has changed: {error}"),
                _ => info!("limits and directory were read again"),
            },
            Ok(Asked::End) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => glances += 1,
        }
        if running.has_failed() {
            return;
        }
        if glances == SUMMARY {
            glances = 0;
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
