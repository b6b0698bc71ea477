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
use super::service::{self, Watchdog};
use crate::show;

/// How often the workers' health is looked at, at least.
const GLANCE: Duration = Duration::from_secs(1);
/// How often the service manager is told what the node does.
const STATUS: Duration = Duration::from_secs(10);
/// How often the log is.
const SUMMARY: Duration = Duration::from_secs(600);
/// How soon after a node has drained that is seen, at the latest.
const DRAINED: Duration = Duration::from_millis(20);
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
    service::ready(&status(&running));
    let mut health = Health::of(&running);
    health.wait(&signals, reload);
    info!("ending: no new streams, open streams may end; a second signal ends at once");
    service::stopping();
    running.drain();
    health.wait_for_end();
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

/// Looks after a node that runs.
struct Health<'a> {
    running: &'a Running,
    watchdog: Watchdog,
    glance: Duration,
    /// Time since the service manager and the log were told how things are.
    untold: [Duration; 2],
}

impl<'a> Health<'a> {
    fn of(running: &'a Running) -> Self {
        let watchdog = Watchdog::new();
        Self {
            running,
            glance: GLANCE.min(watchdog.glance()),
            watchdog,
            untold: [Duration::ZERO; 2],
        }
    }

    /// Waits for the signal to end, or for a worker to fail; tells now and then how things are.
    fn wait(&mut self, signals: &Receiver<Asked>, reload: Option<Reload<'_>>) {
        loop {
            match signals.recv_timeout(self.glance) {
                Ok(Asked::Reload) => {
                    service::reloading();
                    let reloaded = reload.map(|reload| reload(self.running));
                    service::ready(&told(reloaded));
                }
                Ok(Asked::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.tell(),
            }
            if self.running.has_failed() {
                return;
            }
            self.watchdog.look(self.running.rounds());
        }
    }

    /// Waits until a node that drains has ended.
    fn wait_for_end(&mut self) {
        while !self.running.has_ended() {
            thread::park_timeout(self.glance.min(DRAINED));
            self.watchdog.look(self.running.rounds());
        }
    }

    /// Tells how things are, if that was long ago.
    fn tell(&mut self) {
        let [status_since, summary_since] = &mut self.untold;
        *status_since += self.glance;
        *summary_since += self.glance;
        if *status_since >= STATUS {
            *status_since = Duration::ZERO;
            service::status(&status(self.running));
        }
        if *summary_since >= SUMMARY {
            *summary_since = Duration::ZERO;
            summarise(self.running);
        }
    }
}

/// Logs what became of a reload, and says it in a line.
fn told(reloaded: Option<Result<(), InputError>>) -> String {
    match reloaded {
        Some(Err(error)) => {
            warn!("nothing has changed: {error}");
            format!("nothing has changed: {error}")
        }
        _ => {
            info!("limits and directory were read again");
            "limits and directory were read again".to_owned()
        }
    }
}

/// What a node does, in a line.
fn status(running: &Running) -> String {
    let total = running.total();
    let counters = &total.counters;
    let standing = running.standing();
    let standing = standing.map_or(String::new(), |standing| format!("; {standing}"));
    format!(
        "links {}, circuits {}, streams {}, memory held {}{standing}",
        counters.links, counters.circuits, total.streams, total.held
    )
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
