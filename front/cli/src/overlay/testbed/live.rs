//! What a testbed does at the moment, in the terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};

use hopflow_testbed::{RelayNow, Snapshot, Watch};
use hopflow_units::{Bytes, Duration};
use indicatif::{ProgressBar, ProgressStyle};

use crate::progress;

/// Time between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(5);

/// Live figures: a bar with a line per relay on a terminal, now and then a line elsewhere.
#[derive(Debug)]
pub(crate) struct Live {
    bar: ProgressBar,
    is_terminal: bool,
    name: String,
    /// When the last line was printed, in nanoseconds since the downloads began.
    printed: AtomicU64,
}

impl Live {
    /// Nothing is shown yet.
    pub(crate) fn new(name: &str) -> Self {
        let style = "{spinner} {bar:32} {percent:>3} %  {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        Self {
            bar: ProgressBar::no_length().with_style(style),
            is_terminal: io::stderr().is_terminal(),
            name: name.to_owned(),
            printed: AtomicU64::new(0),
        }
    }

    /// Takes the figures away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a line beside the figures.
    pub(crate) fn warn(&self, line: &str) {
        self.bar
            .suspend(|| progress::tell(&format!("warning: {line}")));
    }

    fn print_line(&self, snapshot: &Snapshot) {
        let (now, last) = (snapshot.elapsed, self.printed.load(Ordering::Relaxed));
        if now.as_nanos() < last + LINE.as_nanos() {
            return;
        }
        self.printed.store(now.as_nanos(), Ordering::Relaxed);
        let relays: Vec<_> = snapshot.relays.iter().map(relay).collect();
        progress::tell(&format!(
            "{} s: {}; {}",
            now.as_secs_f64().round(),
            progress_of(snapshot),
            relays.join("; ")
        ));
    }
}

impl Watch for Live {
    fn building(&self, ready: u32, of: u32) {
        self.bar.set_length(of.into());
        self.bar.set_position(ready.into());
        let name = &self.name;
        self.bar
            .set_message(format!("{name}: {ready} of {of} circuits"));
    }

    fn show(&self, snapshot: &Snapshot) {
        if !self.is_terminal {
            return self.print_line(snapshot);
        }
        let mut message = format!("{}: {}", self.name, progress_of(snapshot));
        for it in &snapshot.relays {
            write!(message, "\n  {}", relay(it)).expect("a string takes every text");
        }
        self.bar.set_length(snapshot.wanted.get());
        self.bar.set_position(snapshot.received.get());
        self.bar.set_message(message);
    }

    fn interrupted(&self) -> bool {
        progress::interrupted()
    }
}

fn progress_of(snapshot: &Snapshot) -> String {
    if snapshot.wanted.is_zero() {
        return "running".to_owned();
    }
    let megabytes = |bytes: Bytes| bytes.as_f64() / 1e6;
    format!(
        "{:.1} of {:.1} MB, {} downloads complete",
        megabytes(snapshot.received),
        megabytes(snapshot.wanted),
        snapshot.complete
    )
}

fn relay(relay: &RelayNow) -> String {
    let rate = relay.rate.map_or(0.0, |rate| rate.as_f64() / 1e3);
    let window = relay.window.map_or("none".to_owned(), |it| it.to_string());
    format!(
        "{:<6}  {rate:>7.0} kB/s, queue {:>5}, window {window:>5}, circuits {:>3}",
        relay.name, relay.queue, relay.circuits
    )
}
